package ledgertest

import (
	"encoding/json"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// change applies a change of state to the model; code is that of the refusal.
func (g *modelGroup) change(now time.Time, c ledger.Change) (code spillway.Code) {
	switch c.Kind {
	case ledger.Seal:
		return g.to(g.Sealed, g.State != spillway.Cancelled, func() {
			g.Sealed = true
			if g.State == spillway.Receiving {
				g.State = spillway.Running
			}
		})
	case ledger.Pause:
		return g.to(g.State == spillway.Paused, !g.State.Ended(), func() { g.State, g.PausedBy = spillway.Paused, c.Reason })
	case ledger.Resume:
		return g.to(g.State.Runs(), !g.State.Ended(), func() {
			g.State, g.PausedBy = spillway.Receiving, ""
			if g.Sealed {
				g.State = spillway.Running
			}
			g.rebase()
		})
	case ledger.Cancel:
		return g.to(g.State == spillway.Cancelled, g.State != spillway.Completed, func() { g.State, g.PausedBy = spillway.Cancelled, "" })
	case ledger.RetryFailed:
		return g.retryFailed(now)
	}
	return g.resolve(now, c)
}

// to makes a change unless it is so already, or not allowed.
func (g *modelGroup) to(already, allowed bool, f func()) spillway.Code {
	switch {
	case already:
		return ""
	case !allowed:
		return spillway.CodeState
	}
	f()
	g.Version++
	return ""
}

func (g *modelGroup) rebase() {
	c := g.counts()
	g.FailedBase, g.FinalBase = c.Failed, c.Final()
}

func (g *modelGroup) reopen() {
	if g.State == spillway.Completed {
		g.State, g.Finished, g.Result = spillway.Running, time.Time{}, nil
	}
	g.rebase()
}

func (g *modelGroup) retryFailed(now time.Time) spillway.Code {
	var failed []*modelJob
	for i := range g.jobs {
		if j := &g.jobs[i]; j.Done && j.Status == spillway.Failed && !j.bad {
			failed = append(failed, j)
		}
	}
	if g.State == spillway.Cancelled {
		return spillway.CodeState
	}
	return g.to(len(failed) == 0, true, func() {
		for _, j := range failed {
			j.again(now, true)
		}
		g.reopen()
	})
}

func (g *modelGroup) resolve(now time.Time, c ledger.Change) spillway.Code {
	if c.As == spillway.Retry && g.State == spillway.Cancelled {
		return spillway.CodeState
	}
	var doubt []*modelJob
	already := true
	for i := range g.jobs {
		j := &g.jobs[i]
		if c.Index != nil && *c.Index != int64(i) {
			continue
		}
		if j.Done && j.Status == spillway.InDoubt {
			doubt = append(doubt, j)
		} else if c.Index != nil {
			already = j.Done && j.Status == c.As || !j.Done && j.waiting() && c.As == spillway.Retry
		}
	}
	return g.to(len(doubt) == 0 && already, len(doubt) > 0, func() {
		for _, j := range doubt {
			if c.As == spillway.Retry {
				j.again(now, false)
			} else {
				j.Status, j.Reason, j.Value = c.As, c.Reason, json.RawMessage(nil)
			}
		}
		if c.As == spillway.Retry {
			g.reopen()
		}
	})
}

func (g *modelGroup) complete(now time.Time, result json.RawMessage) bool {
	switch {
	case g.ready():
		g.State = spillway.Completed
	case g.State != spillway.Cancelled || !g.Finished.IsZero():
		return false
	}
	g.Finished, g.Result = now, result
	g.Completions++
	g.Version++
	return true
}
