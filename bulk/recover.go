package bulk

import (
	"context"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// indexPage is how many groups are read from the ledger at a time.
const indexPage = 1000

// recover rebuilds the index from the ledger. No lease is out: the queue is
// this process's own and new.
func (e *Engine) recover(ctx context.Context) error {
	start, n := time.Now(), 0
	err := e.unfinished(ctx, true, func(page []ledger.Indexed) error {
		groups := make([]queue.Group, len(page))
		for i, x := range page {
			groups[i] = e.restated(x)
		}
		n += len(page)
		return e.put(ctx, groups...)
	})
	if err == nil && n > 0 {
		e.log.Info("the index is rebuilt from the ledger", "groups", n, "took", time.Since(start).Round(time.Millisecond))
	}
	if err == nil {
		err = e.sweep(ctx)
	}
	return err
}

// unfinished pages through the unfinished groups of the ledger.
func (e *Engine) unfinished(ctx context.Context, adopt bool, do func([]ledger.Indexed) error) error {
	var after spillway.GroupID
	for {
		page, err := e.ledger.Index(ctx, time.Now(), ledger.IndexQuery{After: after, Limit: indexPage, Adopt: adopt})
		if err != nil {
			return err
		}
		if len(page) > 0 {
			if err := do(page); err != nil {
				return err
			}
			after = page[len(page)-1].Group.ID
		}
		if len(page) < indexPage {
			return nil
		}
	}
}

// restated is a group as the ledger knows it, to overrule what the queue knows.
func (e *Engine) restated(x ledger.Indexed) queue.Group {
	q := e.indexed(x.Group)
	q.Restate = true
	q.Next, q.Parked, q.ParkedDue = x.Next, x.Waiting, x.WaitingDue
	return q
}

// restate tells the queue anew what the ledger holds of a group: it lost a
// lease, and if it lost everything, its settings too.
func (e *Engine) restate(ctx context.Context, id spillway.GroupID) error {
	if err := e.tellAll(ctx); err != nil {
		return err
	}
	page, err := e.ledger.Index(ctx, time.Now(), ledger.IndexQuery{IDs: []spillway.GroupID{id}})
	if err != nil || len(page) == 0 {
		return err
	}
	return e.put(ctx, e.restated(page[0]))
}

// reconcileEvery is how often the index is compared with the ledger.
const reconcileEvery = time.Minute

// reconcileLoop compares unfinished groups in the ledger with the index, and
// mends what differs: no staleness of the queue lasts longer than this.
func (e *Engine) reconcileLoop(ctx context.Context) error {
	return every(ctx, reconcileEvery, nil, func() {
		err := e.tellAll(ctx)
		if err == nil {
			err = e.unfinished(ctx, false, func(page []ledger.Indexed) error { return e.reconcile(ctx, page) })
		}
		if err != nil {
			e.warn(ctx, "the index could not be compared with the ledger; it will be again", err)
		}
	})
}

func (e *Engine) reconcile(ctx context.Context, page []ledger.Indexed) error {
	ids := make([]spillway.GroupID, len(page))
	for i, x := range page {
		ids[i] = x.Group.ID
	}
	stats, err := e.queue.Stats(ctx, time.Now(), queue.Query{Groups: ids})
	if err != nil {
		return err
	}
	for _, x := range page {
		s, known := stats.Groups[x.Group.ID]
		switch {
		case x.Group.State == spillway.Cancelled:
			continue // the sweep finishes it
		case !known, s.Version < x.Group.Version:
			e.log.Warn("a group was missing in the index, or old there", "group", x.Group.ID)
		case x.Group.Counts.Final() < x.Group.Total && s.Next >= x.Group.Total && s.InFlight+s.Waiting+s.Parked == 0:
			// Everything was handed out, nothing is out, and yet jobs have no
			// outcome: they are adopted as work to be delivered again. The page
			// may be older than the index; only a newer look tells.
			g, err := e.find(ctx, x.Group.ID)
			if err != nil {
				return err
			}
			if g.Version != s.Version || g.Counts.Final() >= g.Total {
				continue
			}
			e.log.Warn("jobs were missing in the index", "group", x.Group.ID)
			adopted, err := e.ledger.Index(ctx, time.Now(), ledger.IndexQuery{IDs: []spillway.GroupID{x.Group.ID}, Adopt: true})
			if err != nil {
				return err
			}
			if len(adopted) == 1 {
				x = adopted[0]
			}
		default:
			continue
		}
		if err := e.put(ctx, e.restated(x)); err != nil {
			return err
		}
	}
	return nil
}
