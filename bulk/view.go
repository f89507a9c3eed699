package bulk

import (
	"context"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// Group reads one group.
func (e *Engine) Group(ctx context.Context, id spillway.GroupID) (*Group, error) {
	g, err := e.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return e.view(ctx, g)
}

// Groups lists groups, newest first. next is the cursor of the following page,
// "" at the end.
func (e *Engine) Groups(ctx context.Context, f Filter) (groups []*Group, next string, err error) {
	q := ledger.Filter{Tenant: f.Tenant, Cursor: f.Cursor, Limit: f.Limit, Newest: true}
	if f.State != "" {
		q.States = []spillway.State{f.State}
	}
	if f.Key != "" {
		q.Key = &f.Key
	}
	found, next, err := e.ledger.Find(ctx, q)
	if err != nil {
		return nil, "", err
	}
	groups, err = e.views(ctx, found)
	return groups, next, err
}

func (e *Engine) view(ctx context.Context, g ledger.Group) (*Group, error) {
	all, err := e.views(ctx, []ledger.Group{g})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// views adds to what the ledger says of groups what the queue knows.
func (e *Engine) views(ctx context.Context, groups []ledger.Group) ([]*Group, error) {
	ids := make([]spillway.GroupID, len(groups))
	for i, g := range groups {
		ids[i] = g.ID
	}
	stats, err := e.queue.Stats(ctx, time.Now(), queue.Query{Groups: ids})
	if err != nil {
		return nil, err
	}
	out := make([]*Group, len(groups))
	for i, g := range groups {
		out[i] = groupView(g, stats.Groups[g.ID])
	}
	return out, nil
}

// groupView is the group object. Final counts and what is in retry are of one
// ledger snapshot; in flight is the queue's word, capped at what is unfinished
// there; a job in flight counts only there; pending is the remainder.
func groupView(g ledger.Group, s queue.GroupStats) *Group {
	v := &Group{
		ID: g.ID, Tenant: g.Tenant, Action: g.Action, Resource: g.Resource, Key: g.Key,
		State: g.State, PausedBy: g.PausedBy, Sealed: g.Sealed, Total: g.Total,
		Succeeded: g.Counts.Succeeded, Failed: g.Counts.Failed, Skipped: g.Counts.Skipped, InDoubt: g.Counts.InDoubt,
		Checkpoint: g.Counts.Checkpoint, Result: g.Result, CreatedAt: g.Created.UTC(),
		StartedAt: moment(g.Started), FinishedAt: moment(g.Finished),
		Rate: g.Spec.Rate, Concurrency: g.Spec.Concurrency, Priority: g.Spec.Priority.Seconds(),
		NotBefore: moment(g.Spec.NotBefore), Expires: moment(g.Spec.Expires),
		Delivery: g.Spec.Delivery, MaxFailures: g.Spec.MaxFailures, Labels: g.Spec.Labels,
	}
	if g.Spec.Callback != "" {
		v.Callback = &Callback{URL: g.Spec.Callback, State: g.CallbackState, Attempts: g.CallbackAttempts}
	}
	open := g.Total - g.Counts.Final()
	v.InFlight = min(s.InFlight, open)
	left := open - v.InFlight
	if g.State == spillway.Cancelled {
		v.Cancelled = left
		return v
	}
	v.Retrying = min(max(g.Counts.Retrying-s.Redelivered, 0), left)
	v.Pending = left - v.Retrying
	return v
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
