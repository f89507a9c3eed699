package bulk

import (
	"context"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// Intervals of the dispatcher of due work. Both are bounds on staleness only:
// claims promote what is due by themselves, and most changes poke.
const (
	dueEvery     = time.Second
	reclaimEvery = time.Second
	// duePage is how many groups are fed at a time.
	duePage = 64
)

// dueLoop feeds parked work back when it is due, and ends expired groups.
func (e *Engine) dueLoop(ctx context.Context) error {
	return every(ctx, dueEvery, e.feed, func() {
		due, err := e.queue.Promote(ctx, time.Now(), duePage)
		if err != nil {
			e.warn(ctx, "the queue does not answer", err)
			return
		}
		for _, d := range due {
			if d.Expired {
				err = e.expire(ctx, d.Group)
			} else {
				err = e.feedParked(ctx, d)
			}
			if err != nil {
				e.warn(ctx, "due work could not be fed back; trying again", err, "group", d.Group)
			}
		}
		if len(due) > 0 {
			e.bell.ring()
		}
		if len(due) == duePage {
			poke(e.feed)
		}
	})
}

func (e *Engine) warn(ctx context.Context, what string, err error, args ...any) {
	if ctx.Err() == nil {
		e.log.Warn(what, append(args, "err", err)...)
	}
}

// feedParked hands a group's parked work that is due soon back to the queue.
func (e *Engine) feedParked(ctx context.Context, d queue.Due) error {
	now := time.Now()
	room := max(d.Room, 1)
	due, left, leftDue, err := e.ledger.Waiting(ctx, d.Group, now.Add(queue.MaxEntryWait/2), room)
	if err != nil {
		return err
	}
	f := queue.Feed{Group: d.Group, Version: d.Version, Round: d.Round, Parked: left, ParkedDue: leftDue}
	for _, w := range due {
		f.Entries = append(f.Entries, queue.Retry{Jobs: w.Jobs, NotBefore: w.NotBefore, Single: w.Lost >= singleFrom, Failed: w.Failed})
	}
	return e.queue.Feed(ctx, now, []queue.Feed{f})
}

// expire ends the jobs that an expired group has left, as skipped. What is in a
// worker's hands is left to its own outcome.
func (e *Engine) expire(ctx context.Context, id spillway.GroupID) error {
	out, err := e.inHand(ctx, id)
	if err != nil {
		return err
	}
	g, err := e.find(ctx, id)
	if err != nil {
		return err
	}
	m := e.remember(g)
	for chunk := g.Counts.Checkpoint / spillway.ChunkSize; chunk*spillway.ChunkSize < g.Total; {
		var batch []ledger.Settlement
		for ; len(batch) < 64 && chunk*spillway.ChunkSize < g.Total; chunk++ {
			jobs := spillway.One(chunk*spillway.ChunkSize, min((chunk+1)*spillway.ChunkSize, g.Total)).Minus(out)
			batch = append(batch, ledger.Settlement{Group: id, Chunk: chunk, Outcomes: []ledger.Outcome{
				{Jobs: jobs, Status: spillway.Skipped, Reason: "expired"},
			}})
		}
		merged, err := e.ledger.Settle(ctx, time.Now(), batch)
		if err != nil {
			return err
		}
		for _, x := range merged {
			e.metrics.skipped.Add(x.Skipped)
			e.countFinal(m, 0, x.Finished.Len())
		}
	}
	// The queue hands out nothing of it and asks again for what is left, so
	// there is nothing to tell it before the group has ended.
	e.watch.check(id)
	return nil
}

// inHand is the jobs of a group that are in leases of this engine.
func (e *Engine) inHand(ctx context.Context, id spillway.GroupID) (spillway.Spans, error) {
	mine := e.leases.of(id)
	if len(mine) == 0 {
		return nil, nil
	}
	ask := make([]queue.Extension, len(mine))
	for i, l := range mine {
		ask[i].Ref = l.Ref
	}
	held, err := e.queue.Extend(ctx, time.Now(), ask)
	if err != nil {
		return nil, err
	}
	var out spillway.Spans
	for i, l := range mine {
		if held[i] {
			out = out.Union(l.Jobs)
		}
	}
	return out, nil
}

// reindex tells the queue what the ledger says of a group, or that it is gone.
func (e *Engine) reindex(ctx context.Context, id spillway.GroupID) {
	g, err := e.find(ctx, id)
	switch {
	case err == nil:
		err = e.put(ctx, e.indexed(g))
	case spillway.CodeOf(err) == spillway.CodeNotFound:
		err = e.queue.Put(ctx, time.Now(), []queue.Group{{ID: id, Version: 1 << 62, Gone: true}})
	}
	if err != nil {
		e.warn(ctx, "a group could not be indexed; the reconciler will", err, "group", id)
	}
}
