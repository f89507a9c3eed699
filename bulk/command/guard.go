package command

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/spillway/spillway"
)

//go:embed guard.sh
var guardScript string

// writeWait is how long a line to the guard process may take before it counts
// as stuck and is replaced: its pipe holds some 8,000 lines.
const writeWait = time.Second

// guard starts commands and sees that none outlives this process. It keeps a
// shell in a session of its own, which holds a list of the running process
// groups and kills them once the pipe to it closes: at any death of this
// process, SIGKILL to its whole group included. A guard process that dies is
// replaced.
//
// On Linux the kernel kills the shells themselves, too (Pdeathsig), which
// covers the moment between a start and its line to the guard. That signal is
// bound to the life of the thread that forked; so one goroutine, locked to
// its thread, starts everything. It costs nothing: forks take turns anyway.
type guard struct {
	shell string
	spawn chan func()
	quit  chan struct{}
	work  sync.WaitGroup
	mu    struct {
		sync.Mutex
		live map[int]struct{}
		cmd  *exec.Cmd
		pipe *os.File
	}
}

// guards is the one guard of this process, while any Command is open.
var guards struct {
	sync.Mutex
	shared *guard
	users  int
}

func acquireGuard(shell string) (*guard, error) {
	guards.Lock()
	defer guards.Unlock()
	if guards.shared == nil {
		g, err := newGuard(shell)
		if err != nil {
			return nil, err
		}
		guards.shared = g
	}
	guards.users++
	return guards.shared, nil
}

func releaseGuard() {
	guards.Lock()
	defer guards.Unlock()
	if guards.users--; guards.users == 0 {
		guards.shared.close()
		guards.shared = nil
	}
}

func newGuard(shell string) (*guard, error) {
	g := &guard{shell: shell, spawn: make(chan func()), quit: make(chan struct{})}
	g.mu.live = make(map[int]struct{})
	cmd, err := g.launch()
	if err != nil {
		return nil, fmt.Errorf("cannot start the guard process: %w", err)
	}
	g.work.Go(func() { g.watch(cmd) })
	g.work.Go(g.startAll)
	return g, nil
}

// startAll runs on one thread for as long as there are commands.
func (g *guard) startAll() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for {
		select {
		case start := <-g.spawn:
			start()
		case <-g.quit:
			return
		}
	}
}

// start starts a command, which leads a process group, and lists the group.
func (g *guard) start(cmd *exec.Cmd) error {
	failed := make(chan error, 1)
	select {
	case <-g.quit:
		return spillway.Errorf(spillway.CodeState, "the command is closed")
	case g.spawn <- func() {
		err := cmd.Start()
		if err == nil {
			g.add(cmd.Process.Pid)
		}
		failed <- err
	}:
		return <-failed
	}
}

func (g *guard) add(group int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.live[group] = struct{}{}
	g.writeLocked(fmt.Appendf(nil, "+ %d\n", group))
}

// remove must come before the group's leader is reaped: until then nobody
// else can get its number.
func (g *guard) remove(group int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.mu.live, group)
	g.writeLocked(fmt.Appendf(nil, "- %d\n", group))
}

func (g *guard) writeLocked(line []byte) {
	err := g.mu.pipe.SetWriteDeadline(time.Now().Add(writeWait))
	if err == nil {
		_, err = g.mu.pipe.Write(line)
	}
	if err != nil {
		// Dead or stuck. watch starts another, which gets the whole list.
		_ = g.mu.cmd.Process.Kill()
	}
}

// launch starts a guard process and gives it the list.
func (g *guard) launch() (*exec.Cmd, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := exec.Command(g.shell, "-c", guardScript, "spillway-guard")
	cmd.Stdin, cmd.Dir, cmd.Env = r, "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.pipe != nil {
		g.mu.pipe.Close()
	}
	g.mu.cmd, g.mu.pipe = cmd, w
	var list []byte
	for group := range g.mu.live {
		list = fmt.Appendf(list, "+ %d\n", group)
	}
	if len(list) > 0 {
		g.writeLocked(list)
	}
	return cmd, nil
}

// watch replaces a guard process that ended, at most once a second.
func (g *guard) watch(cmd *exec.Cmd) {
	for {
		began := time.Now()
		if cmd != nil {
			_ = cmd.Wait()
		}
		if !g.pause(time.Second - time.Since(began)) {
			return
		}
		cmd, _ = g.launch() // what keeps it from starting keeps commands from starting
	}
}

// pause waits and reports whether the guard is still wanted.
func (g *guard) pause(d time.Duration) bool {
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	select {
	case <-g.quit:
		return false
	case <-t.C:
	}
	select {
	case <-g.quit:
		return false
	default:
		return true
	}
}

// close ends the guard process. No command runs any more.
func (g *guard) close() {
	close(g.quit)
	g.mu.Lock()
	g.mu.pipe.Close()
	_ = g.mu.cmd.Process.Kill()
	g.mu.Unlock()
	g.work.Wait()
}
