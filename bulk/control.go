package bulk

import (
	"context"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/ledger"
)

// Pause keeps a group's jobs from being handed out: none is after it returns.
// Leases that are out settle, and uploads go on.
func (e *Engine) Pause(ctx context.Context, id spillway.GroupID, reason string) (*Group, error) {
	return e.change(ctx, ledger.Change{Group: id, Kind: ledger.Pause, Reason: clip(reason)})
}

// Resume ends a pause; max_failures counts anew.
func (e *Engine) Resume(ctx context.Context, id spillway.GroupID) (*Group, error) {
	g, err := e.change(ctx, ledger.Change{Group: id, Kind: ledger.Resume})
	if err == nil {
		e.watch.check(id)
	}
	return g, err
}

// Bounds are a group's own bounds that may change while it lives; nil fields
// stay.
type Bounds struct {
	Rate        *flow.Rate
	MaxFailures *string
	Concurrency *int64
}

// Adjust changes a group's own bounds; they hold when it returns. A changed
// rate counts what was granted before, a changed max_failures what failed since
// the last resume.
func (e *Engine) Adjust(ctx context.Context, id spillway.GroupID, b Bounds) (*Group, error) {
	var to ledger.Bounds
	if b.Rate != nil {
		rate := b.Rate.String()
		to.Rate = &rate
	}
	if b.MaxFailures != nil {
		if err := CheckMaxFailures(*b.MaxFailures); err != nil {
			return nil, spillway.Errorf(spillway.CodeInvalid, "max_failures: %w", err)
		}
		to.MaxFailures = b.MaxFailures
	}
	if b.Concurrency != nil && *b.Concurrency < 0 {
		return nil, spillway.Errorf(spillway.CodeInvalid, "concurrency %d is below 0", *b.Concurrency)
	}
	to.Concurrency = b.Concurrency
	return e.change(ctx, ledger.Change{Group: id, Kind: ledger.Adjust, Bounds: to})
}

// Cancel ends a group: what has no outcome yet is cancelled. Leases that are
// out may still settle; the callback is sent when none is left.
func (e *Engine) Cancel(ctx context.Context, id spillway.GroupID) (*Group, error) {
	e.watch.cancelled(id, true)
	g, err := e.change(ctx, ledger.Change{Group: id, Kind: ledger.Cancel})
	if err != nil {
		e.watch.cancelled(id, false)
	} else {
		e.watch.check(id)
	}
	return g, err
}

// Retry reopens a group for its failed jobs, their attempts from 1. Rows that
// were bad from the start stay failed; without any other, nothing changes.
func (e *Engine) Retry(ctx context.Context, id spillway.GroupID) (*Group, error) {
	if err := e.hasPayload(ctx, id); err != nil {
		return nil, err
	}
	return e.change(ctx, ledger.Change{Group: id, Kind: ledger.RetryFailed})
}

// Resolve settles what is in doubt, one job or all, as OK, Failed or Retry.
func (e *Engine) Resolve(ctx context.Context, id spillway.GroupID, index *int64, as spillway.Status) (*Group, error) {
	if as != spillway.OK && as != spillway.Failed && as != spillway.Retry {
		return nil, spillway.Errorf(spillway.CodeInvalid, "resolve as succeeded, failed or retry")
	}
	if as == spillway.Retry {
		if err := e.hasPayload(ctx, id); err != nil {
			return nil, err
		}
	}
	g, err := e.change(ctx, ledger.Change{Group: id, Kind: ledger.Resolve, Index: index, As: as})
	if err == nil {
		e.watch.check(id)
	}
	return g, err
}

// hasPayload refuses to run jobs again whose rows retention has deleted.
func (e *Engine) hasPayload(ctx context.Context, id spillway.GroupID) error {
	g, err := e.find(ctx, id)
	if err == nil && g.Total > 0 && g.Bytes == 0 {
		err = spillway.Errorf(spillway.CodeState, "the rows of group %q are deleted already, by retention: submit them again", id)
	}
	return err
}

// change applies a change to the ledger and tells the queue, so that it holds
// when the call returns.
func (e *Engine) change(ctx context.Context, c ledger.Change) (*Group, error) {
	g, err := e.ledger.Change(ctx, time.Now(), c)
	if err != nil {
		return nil, err
	}
	if c.Kind != ledger.Seal {
		e.renew(g) // the counts of max_failures begin anew
	}
	q := e.indexed(g)
	if c.Kind == ledger.RetryFailed || (c.Kind == ledger.Resolve && c.As == spillway.Retry) {
		// What is to run again waits in the ledger: the queue learns how much.
		page, err := e.ledger.Index(ctx, time.Now(), ledger.IndexQuery{IDs: []spillway.GroupID{g.ID}})
		if err != nil {
			return nil, err
		}
		for _, x := range page {
			q = e.restated(x)
		}
	}
	if err := e.put(ctx, q); err != nil {
		return nil, err
	}
	e.events.group(g.ID)
	return e.view(ctx, g)
}
