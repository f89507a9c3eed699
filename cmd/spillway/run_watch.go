package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
)

// watch shows the group's progress until it ends or pauses, the engine stops,
// or the ledger has taken no writes for too long. The engine has stopped when
// it returns. uploaded becomes nil when it has answered.
func (r *runner) watch(ctx context.Context, e *end, uploaded *chan error, engine chan error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var m meter
	m.rate(r.began, r.doneAt)
	var health stall
	for {
		select {
		case e.engine = <-engine:
			return
		case err := <-*uploaded:
			*uploaded = nil
			r.uploadEnded(e, err)
		case n := <-r.stops.said:
			r.stopping(n)
		case <-tick.C:
		}
		g, err := r.engine.Group(ctx, r.group.ID)
		if err == nil {
			r.group = g
			r.rep.show(m.moment(time.Now(), g, r.reasons.top(3)))
		}
		if e.stuck == nil {
			e.stuck = health.stuck(time.Now(), r.group.Final(), r.engine.Ready(), err)
		}
		if e.stuck != nil || r.over(e) {
			r.stops.end()
		}
	}
}

// uploadEnded keeps why the file could not be read to its end, and says so at
// once: the rows before go on.
func (r *runner) uploadEnded(e *end, err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	e.upload = err
	r.rep.note(event{Type: "upload_failed", Group: r.group.ID, Message: fmt.Sprintf("%s: %v; the rows before go on", r.in.name, err)})
}

// over reports whether there is nothing left to wait for.
func (r *runner) over(e *end) bool {
	g := r.group
	return g.State.Ended() || g.State == spillway.Paused || refused(e.upload) || (e.upload != nil && g.Final() == g.Total)
}

// stall notices a run that does not go on because the ledger takes no writes.
// On a full disk small writes may pass while large ones fail, so an error
// counts until it has been away for a while.
type stall struct {
	err   error
	seen  time.Time // when err was last there
	since time.Time // of this error, or of the last progress under it
	final int64
}

// calmAfter is how long an error must be away to be forgotten.
const calmAfter = 10 * time.Second

func (s *stall) stuck(now time.Time, final int64, ready, read error) error {
	switch err := errors.Join(ready, read); {
	case err != nil:
		if s.err == nil {
			s.since = now
		}
		s.err, s.seen = err, now
	case now.Sub(s.seen) > calmAfter:
		s.err = nil
	}
	if final != s.final {
		s.final, s.since = final, now
	}
	if s.err == nil || now.Sub(s.since) < stuckAfter {
		return nil
	}
	return s.err
}

// stopping says that a signal came.
func (r *runner) stopping(n int) {
	text := "stopping at once: the batches in hand may run again"
	if r.group.Delivery == spillway.AtMostOnce {
		text = "stopping at once: the rows of the batches in hand end in doubt"
	}
	if n == 1 {
		text = "stopping"
		if n := r.engine.Busy(); n > 0 {
			text = fmt.Sprintf("stopping: waiting for the batches in hand (%d), at most %v; press Ctrl-C again to stop at once", n, r.cmd.Drain)
		}
	}
	r.rep.note(event{Type: "stopping", Group: r.group.ID, Message: text})
}

// tallied is a handler whose errors are counted by reason.
func (r *runner) tallied(h bulk.Handler) bulk.Handler {
	return func(ctx context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
		var reported atomic.Int64
		counted := *b
		counted.Report = func(out ...spillway.Outcome) {
			reported.Add(int64(len(out)))
			r.reasons.outcomes(out)
			b.Report(out...)
		}
		out, err := h(ctx, &counted)
		r.reasons.outcomes(out)
		if rest := int64(len(b.Jobs)-len(out)) - reported.Load(); err != nil && rest > 0 {
			r.reasons.add(err.Error(), rest)
		}
		return out, err
	}
}
