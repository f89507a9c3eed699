package bulk

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// reducersAtOnce is how many groups are reduced at once, so that a huge one
// holds up neither other completions nor all other reductions.
const reducersAtOnce = 2

// toReduce asks to reduce and complete a group.
func (w *watcher) toReduce(id spillway.GroupID) {
	w.mu.Lock()
	w.mu.reduce[id] = true
	w.mu.Unlock()
	poke(w.reducing)
}

// nextToReduce takes one of the groups that are to be reduced.
func (w *watcher) nextToReduce() (spillway.GroupID, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.mu.reduce {
		delete(w.mu.reduce, id)
		if len(w.mu.reduce) > 0 {
			poke(w.reducing)
		}
		return id, true
	}
	return "", false
}

// reduceLoop reduces groups whose jobs are all final, and completes them.
func (e *Engine) reduceLoop(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.watch.reducing:
		}
		for ctx.Err() == nil {
			id, some := e.watch.nextToReduce()
			if !some {
				break
			}
			e.each(ctx, []spillway.GroupID{id}, e.reduceGroup, e.watch.check, "a group's completion failed; trying again")
		}
	}
}

func (e *Engine) reduceGroup(ctx context.Context, id spillway.GroupID) error {
	g, err := e.find(ctx, id)
	if err != nil {
		return err
	}
	result, err := e.reduce(ctx, g)
	if err != nil {
		return err
	}
	return e.finish(ctx, id, result)
}

// reduce combines the values of a group's jobs: Map over each chunk's, then
// Reduce over the parts, a bounded number at a time. A reducer that panics
// gives a result that says so, and the group ends all the same.
func (e *Engine) reduce(ctx context.Context, g ledger.Group) (result json.RawMessage, err error) {
	a := e.actions.get(g.Action)
	if a == nil || a.Reducer == nil {
		return nil, nil
	}
	defer func() {
		if r := recover(); r != nil {
			e.log.Error("a reducer panicked", "action", g.Action, "group", g.ID, "panic", r, "stack", string(debug.Stack()))
			result, err = failedResult(fmt.Errorf("it panicked: %v", r)), nil
		}
	}()
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
