package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// watcher notices what a group's outcomes lead to: its completion, or its
// pause by max_failures.
type watcher struct {
	mu struct {
		sync.Mutex
		checks map[spillway.GroupID]bool // may be complete
		pauses map[spillway.GroupID]bool // passed max_failures
		stale  map[spillway.GroupID]bool // the index may lack work of theirs
		ending map[spillway.GroupID]bool // cancelled, with leases out perhaps
		reduce map[spillway.GroupID]bool // to be reduced and completed
	}
	wake     chan struct{}
	reducing chan struct{} // wakes the reducers
}

// sweepEvery is how often the watcher looks for groups whose end nobody
// noticed: after a crash between the last outcome and the completion.
const sweepEvery = 15 * time.Second

func (w *watcher) init() {
	for _, set := range []*map[spillway.GroupID]bool{&w.mu.checks, &w.mu.pauses, &w.mu.stale, &w.mu.ending, &w.mu.reduce} {
		*set = map[spillway.GroupID]bool{}
	}
	w.wake, w.reducing = make(chan struct{}, 1), make(chan struct{}, 1)
}

// check asks to look whether a group has ended.
func (w *watcher) check(id spillway.GroupID) {
	w.mu.Lock()
	w.mu.checks[id] = true
	w.mu.Unlock()
	poke(w.wake)
}

// pause asks to pause a group for its failures.
func (w *watcher) pause(id spillway.GroupID) {
	w.mu.Lock()
	w.mu.pauses[id] = true
	w.mu.Unlock()
	poke(w.wake)
}

// restate asks to tell the queue what waits in the ledger.
func (w *watcher) restate(id spillway.GroupID) {
	w.mu.Lock()
	w.mu.stale[id] = true
	w.mu.Unlock()
	poke(w.wake)
}

// cancelled notes that a group ends with its last lease, or no longer.
func (w *watcher) cancelled(id spillway.GroupID, so bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if so {
		w.mu.ending[id] = true
	} else {
		delete(w.mu.ending, id)
	}
}

// ending reports whether a group ends with its last lease.
func (w *watcher) ending(id spillway.GroupID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.ending[id]
}

func (w *watcher) take() (checks, pauses, stale []spillway.GroupID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	checks = slices.Collect(maps.Keys(w.mu.checks))
	pauses = slices.Collect(maps.Keys(w.mu.pauses))
	stale = slices.Collect(maps.Keys(w.mu.stale))
	clear(w.mu.checks)
	clear(w.mu.pauses)
	clear(w.mu.stale)
	return checks, pauses, stale
}

// watchLoop ends groups that have nothing left to run.
func (e *Engine) watchLoop(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := e.sweep(ctx); err != nil {
				e.warn(ctx, "the sweep for ended groups failed; it will run again", err)
			}
		case <-e.watch.wake:
		}
		checks, pauses, stale := e.watch.take()
		e.each(ctx, pauses, e.pauseFailing, e.watch.pause, "a group over its max_failures could not be paused; trying again")
		e.each(ctx, stale, e.restate, e.watch.restate, "a group could not be indexed; trying again")
		e.each(ctx, checks, e.complete, e.watch.check, "a group's completion failed; trying again")
	}
}

// each does something to groups, and asks again for those with which it
// failed. A store that does not answer is not asked for the others.
func (e *Engine) each(ctx context.Context, ids []spillway.GroupID, do func(context.Context, spillway.GroupID) error, ask func(spillway.GroupID), failed string) {
	for i, id := range ids {
		err := do(ctx, id)
		if err == nil {
			continue
		}
		e.warn(ctx, failed, err, "group", id)
		rest := ids[i : i+1]
		if repeatable(err) {
			rest = ids[i:]
		}
		e.again(ctx, func() {
			for _, id := range rest {
				ask(id)
			}
		})
		if repeatable(err) {
			return
		}
	}
}

func (e *Engine) pauseFailing(ctx context.Context, id spillway.GroupID) error {
	_, err := e.Pause(ctx, id, pausedByFailures)
	if errors.Is(err, spillway.CodeState) {
		return nil // it has ended
	}
	return err
}

// pausedByFailures is the reason of a pause by max_failures.
const pausedByFailures = "max_failures"

// again repeats a request to the watcher in a second.
func (e *Engine) again(ctx context.Context, ask func()) {
	if ctx.Err() == nil {
		time.AfterFunc(time.Second, ask)
	}
}

// sweep checks every unfinished group whose jobs are all final.
func (e *Engine) sweep(ctx context.Context) error {
	return e.unfinished(ctx, false, func(page []ledger.Indexed) error {
		for _, x := range page {
			if g := x.Group; g.State == spillway.Cancelled || (g.Sealed && g.Counts.Final() >= g.Total) {
				e.watch.check(g.ID)
			}
		}
		return nil
	})
}

// complete ends a group if nothing of it is left to run, exactly once among
// all who try.
func (e *Engine) complete(ctx context.Context, id spillway.GroupID) error {
	g, err := e.find(ctx, id)
	if errors.Is(err, spillway.CodeNotFound) {
		e.forget(id)
		e.watch.cancelled(id, false)
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case g.State.Ended() && !g.Finished.IsZero():
		e.ended(ctx, g) // again, if it was recorded and the answer lost
		return nil
	case g.State == spillway.Cancelled:
		out, err := e.inFlight(ctx, id)
		if err != nil || out > 0 {
			return err // its leases settle, or are reclaimed, and check again
		}
	case g.State != spillway.Running || g.Counts.Final() < g.Total:
		return nil
	}
	if a := e.actions.get(g.Action); a != nil && a.Reducer != nil {
		e.watch.toReduce(id) // which may take long
		return nil
	}
	return e.finish(ctx, id, nil)
}

// finish records a group's end.
func (e *Engine) finish(ctx context.Context, id spillway.GroupID, result json.RawMessage) error {
	ended, err := e.ledger.Complete(ctx, time.Now(), []ledger.Completion{{Group: id, Result: result}})
	if err != nil {
		return err
	}
	for _, g := range ended {
		e.ended(ctx, g)
	}
	return nil
}

// ended takes a group out of the index and tells who waits for it.
func (e *Engine) ended(ctx context.Context, g ledger.Group) {
	if err := e.put(ctx, e.indexed(g)); err != nil {
		e.warn(ctx, "an ended group could not be taken out of the index", err, "group", g.ID)
	}
	e.forget(g.ID)
	e.watch.cancelled(g.ID, false)
	e.events.group(g.ID)
	poke(e.callback)
}

// inFlight is the number of a group's jobs in leases.
func (e *Engine) inFlight(ctx context.Context, id spillway.GroupID) (int64, error) {
	s, err := e.queue.Stats(ctx, time.Now(), queue.Query{Groups: []spillway.GroupID{id}})
	return s.Groups[id].InFlight, err
}
