package bulk

import (
	"context"
	"encoding/json"
	"errors"
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
	}
	wake chan struct{}
}

// sweepEvery is how often the watcher looks for groups whose end nobody
// noticed: after a crash between the last outcome and the completion.
const sweepEvery = 15 * time.Second

func (w *watcher) init() {
	w.mu.checks, w.mu.pauses = map[spillway.GroupID]bool{}, map[spillway.GroupID]bool{}
	w.wake = make(chan struct{}, 1)
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

func (w *watcher) take() (checks, pauses []spillway.GroupID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.mu.checks {
		checks = append(checks, id)
	}
	for id := range w.mu.pauses {
		pauses = append(pauses, id)
	}
	clear(w.mu.checks)
	clear(w.mu.pauses)
	return checks, pauses
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
		checks, pauses := e.watch.take()
		for _, id := range pauses {
			if _, err := e.Pause(ctx, id, pausedByFailures); err != nil && !errors.Is(err, spillway.CodeState) {
				e.warn(ctx, "a group over its max_failures could not be paused; trying again", err, "group", id)
				e.again(ctx, func() { e.watch.pause(id) })
			}
		}
		for _, id := range checks {
			if err := e.complete(ctx, id); err != nil {
				e.warn(ctx, "a group's completion failed; trying again", err, "group", id)
				e.again(ctx, func() { e.watch.check(id) })
			}
		}
	}
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
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case g.State == spillway.Cancelled && g.Finished.IsZero():
		out, err := e.inFlight(ctx, id)
		if err != nil || out > 0 {
			return err // its leases settle, or are reclaimed, and check again
		}
	case g.State != spillway.Running || g.Counts.Final() < g.Total:
		return nil
	}
	result, err := e.reduce(ctx, g)
	if err != nil {
		return err
	}
	ended, err := e.ledger.Complete(ctx, time.Now(), []ledger.Completion{{Group: id, Result: result}})
	if err != nil {
		return err
	}
	for _, g := range ended {
		if err := e.put(ctx, e.indexed(g)); err != nil {
			e.warn(ctx, "an ended group could not be taken out of the index; the reconciler will", err, "group", id)
		}
		e.forget(id)
		e.events.group(id)
		poke(e.callback)
	}
	return nil
}

// inFlight is the number of a group's jobs in leases.
func (e *Engine) inFlight(ctx context.Context, id spillway.GroupID) (int64, error) {
	s, err := e.queue.Stats(ctx, time.Now(), queue.Query{Groups: []spillway.GroupID{id}})
	return s.Groups[id].InFlight, err
}

// reduce combines the values of a group's jobs: Map over each chunk's, then
// Reduce over the parts, a bounded number at a time.
func (e *Engine) reduce(ctx context.Context, g ledger.Group) (json.RawMessage, error) {
	a := e.actions.get(g.Action)
	if a == nil || a.Reducer == nil {
		return nil, nil
	}
	var parts []json.RawMessage
	fold := func() error {
		part, err := a.Reducer.Reduce(parts)
		parts = append(parts[:0], part)
		return err
	}
	for from := int64(0); ; {
		jobs, next, err := e.ledger.Read(ctx, ledger.JobQuery{
			Group: g.ID, Statuses: []spillway.Status{spillway.OK}, Values: true, From: from, Limit: spillway.ChunkSize,
		})
		if err != nil {
			return nil, err
		}
		values := make([]JobValue, len(jobs))
		for i, j := range jobs {
			values[i] = JobValue{Index: j.Index, Value: j.Value}
		}
		part, err := a.Reducer.Map(values)
		if err != nil {
			return failedResult(err), nil
		}
		parts = append(parts, part)
		if len(parts) == 64 {
			if err := fold(); err != nil {
				return failedResult(err), nil
			}
		}
		if from = next; next == 0 {
			break
		}
	}
	if err := fold(); err != nil {
		return failedResult(err), nil
	}
	return parts[0], nil
}

// failedResult is the result of a group whose reducer failed: the group ends
// all the same.
func failedResult(err error) json.RawMessage {
	out, _ := json.Marshal(map[string]string{"error": "the reducer failed: " + err.Error()})
	return out
}
