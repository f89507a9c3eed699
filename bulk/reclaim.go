package bulk

import (
	"context"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// What happens to jobs whose deliveries die with their worker: from the second
// death on each is delivered singly, to find the one that kills; after the
// fifth it fails.
const (
	singleFrom = 2
	lostLimit  = 5
)

// reclaimLoop settles leases whose deadline has passed.
func (e *Engine) reclaimLoop(ctx context.Context) error {
	return every(ctx, reclaimEvery, nil, func() {
		expired, err := e.queue.Reclaim(ctx, time.Now(), 256)
		if err != nil {
			e.warn(ctx, "the queue does not answer", err)
		}
		for _, l := range expired {
			e.metrics.reclaimed.Add(1)
			if err := e.reclaim(ctx, l); err != nil {
				e.warn(ctx, "an expired lease could not be settled; trying again", err, "group", l.Group)
			}
		}
	})
}

// reclaim gives the jobs of a dead delivery their next one: each job without
// an outcome is retried with the next attempt, or becomes in doubt.
func (e *Engine) reclaim(ctx context.Context, l queue.Lease) error {
	m, err := e.meta(ctx, l.Group)
	if err != nil {
		e.giveBack(ctx, l, err)
		return nil
	}
	a := e.actions.get(l.Action)
	if a == nil {
		a = &action{name: l.Action, Action: Action{}.withDefaults(string(l.Action))}
	}
	once := m.spec.Delivery == spillway.AtMostOnce
	verdicts, err := e.ledger.Verify(ctx, time.Now(), []ledger.Check{{Group: l.Group, Jobs: l.Jobs, Intend: once}})
	if err != nil {
		return err
	}
	v := verdicts[0]
	if !v.State.Runs() {
		e.giveBack(ctx, l, &stateError{state: v.State})
		return nil
	}
	d := newDelivery(e, l, m, a, v)
	d.mu.closed = true
	e.settler.send(ctx, d, d.lostOutcomes(once, v), true)
	e.log.Info("a lease expired; its jobs are delivered again", "group", l.Group, "jobs", l.Jobs.Len())
	return nil
}

// lostOutcomes is what becomes of the jobs of a dead delivery. At most once,
// those whose intent is only ours now were never handed out and may go again.
func (d *delivery) lostOutcomes(once bool, v ledger.Verdict) []ledger.Outcome {
	var out []ledger.Outcome
	now := time.Now()
	if once {
		if jobs := d.lease.Jobs.Minus(v.Run).Minus(v.Final); len(jobs) > 0 {
			out = append(out, ledger.Outcome{Jobs: jobs, Status: spillway.InDoubt, Reason: "the worker was lost"})
		}
	}
	for _, p := range d.byPlan(v.Run) {
		if p.NotBefore.After(d.lease.Granted) {
			// Its worker did settle: the ledger knows, and the queue did not hear.
			d.retries = append(d.retries, queue.Retry{Jobs: p.Jobs, NotBefore: p.NotBefore, Single: p.Lost >= singleFrom})
			d.heard = d.heard.Union(p.Jobs)
			continue
		}
		o := ledger.Outcome{Jobs: p.Jobs, Status: spillway.Retry, Reason: "the worker was lost", Plan: p}
		o.Plan.NotBefore = now
		if !once {
			o.Plan.Attempt++
			o.Plan.Lost++
			if o.Plan.Lost >= lostLimit || p.Attempt >= d.action.Attempts {
				o.Status, o.Reason = spillway.Failed, string(spillway.CodeWorkerLost)
			}
		}
		out = append(out, o)
	}
	return out
}
