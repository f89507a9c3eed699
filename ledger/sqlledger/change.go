package sqlledger

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// Change applies a change of state; see ledger.Groups.
func (l *Ledger) Change(ctx context.Context, now time.Time, c ledger.Change) (out ledger.Group, err error) {
	if err := checkChange(&c); err != nil {
		return out, err
	}
	err = l.write(ctx, &request{apply: func(b *batch) error {
		g, err := b.mustGroup(c.Group)
		if err != nil {
			return err
		}
		if err := b.alter(now, g, &c); err != nil {
			return err
		}
		out, err = b.describe(g)
		return abort(err)
	}})
	if err != nil {
		return ledger.Group{}, err
	}
	return out, nil
}

func checkChange(c *ledger.Change) error {
	switch c.Kind {
	case ledger.Seal, ledger.Pause, ledger.Resume, ledger.Cancel, ledger.RetryFailed, ledger.Adjust:
		return nil
	case ledger.Resolve:
		switch c.As {
		case spillway.OK, spillway.Failed, spillway.Retry:
			return nil
		}
		return spillway.Errorf(spillway.CodeInvalid, "a job in doubt is resolved as ok, failed or retry, not %v", c.As)
	}
	return spillway.Errorf(spillway.CodeInvalid, "unknown change %q", c.Kind)
}

func (b *batch) alter(now time.Time, g *group, c *ledger.Change) error {
	switch c.Kind {
	case ledger.Seal:
		return g.seal()
	case ledger.Pause:
		return g.pause(c.Reason)
	case ledger.Resume:
		return g.resume()
	case ledger.Cancel:
		return g.cancel()
	case ledger.RetryFailed:
		return b.retryFailed(now, g)
	case ledger.Adjust:
		return b.adjust(g, c.Bounds)
	}
	return b.resolve(now, g, c)
}

func (g *group) seal() error {
	switch {
	case g.Sealed:
		return nil
	case g.State == spillway.Cancelled:
		return errState(g.ID, g.State, "sealed")
	}
	g.Sealed = true
	if g.State == spillway.Receiving {
		g.State = spillway.Running
	}
	g.changed()
	return nil
}

func (g *group) pause(reason string) error {
	switch {
	case g.State == spillway.Paused:
		return nil
	case g.State.Ended():
		return errState(g.ID, g.State, "paused")
	}
	g.State, g.PausedBy = spillway.Paused, clip(reason)
	g.changed()
	return nil
}

func (g *group) resume() error {
	switch {
	case g.State.Runs():
		return nil
	case g.State.Ended():
		return errState(g.ID, g.State, "resumed")
	}
	g.State, g.PausedBy = g.runningState(), ""
	g.rebase()
	g.changed()
	return nil
}

func (g *group) cancel() error {
	switch g.State {
	case spillway.Cancelled:
		return nil
	case spillway.Completed:
		return errState(g.ID, g.State, "cancelled")
	}
	g.State, g.PausedBy = spillway.Cancelled, ""
	g.changed()
	return nil
}

func (b *batch) adjust(g *group, to ledger.Bounds) error {
	if g.State.Ended() {
		return errState(g.ID, g.State, "adjusted")
	}
	spec := g.Spec
	if to.Rate != nil {
		spec.Rate = *to.Rate
	}
	if to.MaxFailures != nil {
		spec.MaxFailures = *to.MaxFailures
	}
	if to.Concurrency != nil {
		spec.Concurrency = *to.Concurrency
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	g.Spec = spec
	g.changed()
	_, err = b.s.exec(updateSpec, g.seq, string(text))
	return err
}

// reopen lets a completed group run again.
func (b *batch) reopen(g *group) {
	if g.State == spillway.Completed {
		g.State, g.Finished, g.Result = spillway.Running, time.Time{}, nil
	}
	g.hint, g.epoch = 0, b.l.epochs.Add(1)
	g.rebase()
	g.changed()
}
