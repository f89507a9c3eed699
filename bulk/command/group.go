package command

import (
	"sync"
	"syscall"
	"time"
)

// group is the process group of one running command.
type group struct {
	id    int
	grace time.Duration
	mu    struct {
		sync.Mutex
		ended bool
		kill  *time.Timer
	}
}

// terminate asks the group to end, and makes it end after the grace.
func (g *group) terminate() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.ended || g.mu.kill != nil {
		return
	}
	_ = syscall.Kill(-g.id, syscall.SIGTERM)
	g.mu.kill = time.AfterFunc(g.grace, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !g.mu.ended {
			_ = syscall.Kill(-g.id, syscall.SIGKILL)
		}
	})
}

// end kills what is left of the group. Its leader must have exited and not
// have been reaped: so the number is still this group's.
func (g *group) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.ended = true
	if g.mu.kill != nil {
		g.mu.kill.Stop()
	}
	_ = syscall.Kill(-g.id, syscall.SIGKILL)
}
