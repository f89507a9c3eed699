package bulk

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// PullRequest asks for a lease of pull actions.
type PullRequest struct {
	Actions []spillway.ActionName
	// Tenant restricts it to one tenant; "" is all.
	Tenant spillway.TenantID
	// Max is the most jobs; 0 is the action's batch.
	Max int
	// Wait is how long to wait for work, at most MaxPullWait.
	Wait time.Duration
}

// MaxPullWait bounds how long a pull may wait.
const MaxPullWait = time.Minute

// maxLease bounds how far ahead a pull worker may move its deadline.
const maxLease = 24 * time.Hour

// Pulled is a lease handed to a pull worker.
type Pulled struct {
	// Lease names the lease to SettleLease and ExtendLease. It is opaque.
	Lease    string
	Deadline time.Time
	Group    spillway.GroupID
	Tenant   spillway.TenantID
	Action   spillway.ActionName
	Resource spillway.ResourceName
	Jobs     []spillway.Job
}

// Lease waits for work of pull actions and hands it out; nil if there was none
// in time. The deadline is the action's timeout ahead.
func (e *Engine) Lease(ctx context.Context, r PullRequest) (*Pulled, error) {
	visibility, err := e.pullable(r)
	if err != nil {
		return nil, err
	}
	if err := e.Ready(); err != nil {
		return nil, err
	}
	end := time.NewTimer(min(max(r.Wait, 0), MaxPullWait))
	defer end.Stop()
	for {
		rung, done := e.bell.wait()
		p, next, err := e.pull(ctx, r, visibility)
		if p != nil && ctx.Err() != nil {
			e.abandon(p)
			p = nil
		}
		if p != nil || err != nil {
			done()
			return p, err
		}
		wait := MaxPullWait
		if !next.IsZero() {
			wait = max(time.Until(next), 0)
		}
		again := time.NewTimer(wait)
		over := false
		select {
		case <-rung:
		case <-again.C:
		case <-end.C:
			over = true
		case <-ctx.Done():
			over = true
		}
		again.Stop()
		done()
		if over {
			return nil, nil
		}
	}
}

// abandon gives back a lease whose worker went away before it was answered.
// What at-most-once delivery intended stays in doubt when the lease expires.
func (e *Engine) abandon(p *Pulled) {
	t, err := e.readTicket(p.Lease, "")
	if err != nil {
		return
	}
	h := e.leases.get(t.ID)
	if h == nil || h.delivery.meta.spec.Delivery == spillway.AtMostOnce || !e.leases.take(h) {
		return
	}
	end := queue.Settlement{Ref: h.lease.Ref, Return: h.delivery.run}
	if _, err := e.queue.Settle(context.Background(), time.Now(), []queue.Settlement{end}); err != nil {
		e.log.Warn("a lease could not be given back; it will expire", "group", t.Group, "err", err)
	}
	e.bell.ring()
}

// pullable checks a request, and answers the visibility of its lease.
func (e *Engine) pullable(r PullRequest) (visibility time.Duration, err error) {
	if len(r.Actions) == 0 {
		return 0, spillway.Errorf(spillway.CodeInvalid, "actions: name the actions to pull, as in [\"tag\"]")
	}
	if r.Max < 0 {
		return 0, spillway.Errorf(spillway.CodeInvalid, "max %d is below 0", r.Max)
	}
	for _, name := range r.Actions {
		a, err := e.action(name)
		if err != nil {
			return 0, err
		}
		if !a.Pull {
			return 0, spillway.Errorf(spillway.CodeInvalid, "action %q has a handler and cannot be pulled: configure it with pull: true", name)
		}
		if visibility == 0 || a.Timeout < visibility {
			visibility = a.Timeout
		}
	}
	return visibility, nil
}

// pull claims one lease and prepares it.
func (e *Engine) pull(ctx context.Context, r PullRequest, visibility time.Duration) (*Pulled, time.Time, error) {
	if err := e.health.ledgerErr(); err != nil {
		return nil, time.Now().Add(time.Second), nil
	}
	instance := e.cfg.Instance + "/pull"
	got, err := e.queue.Claim(ctx, time.Now(), queue.Claim{
		Instance: instance, Leases: e.leases.ids(instance, 1), Actions: r.Actions, Tenant: r.Tenant,
		MaxJobs: int64(r.Max), Visibility: visibility,
	})
	if err != nil || len(got.Leases) == 0 {
		return nil, got.Next, err
	}
	l := got.Leases[0]
	e.metrics.granted.Add(l.Jobs.Len())
	e.leases.add(&held{lease: l})
	d, err := e.prepare(ctx, l)
	switch {
	case err != nil:
		e.leases.remove(l.ID)
		e.notDelivered(ctx, l, d, err)
		return nil, time.Now(), nil
	case len(d.batch.Jobs) == 0:
		e.leases.remove(l.ID)
		e.settler.end(ctx, d)
		return nil, time.Now(), nil
	}
	e.leases.add(&held{lease: l, delivery: d})
	return &Pulled{
		Lease: e.ticket(l, d.run), Deadline: l.Deadline, Group: l.Group, Tenant: l.Tenant,
		Action: l.Action, Resource: l.Resource, Jobs: d.batch.Jobs,
	}, time.Time{}, nil
}

// SettleLease ends a pulled lease with its outcomes. Without any, every job is
// OK; otherwise jobs that are not mentioned are retried. accepted is how many
// jobs' outcomes were recorded. Of a lease that has expired, final outcomes
// are still recorded for jobs that have none; CodeLeaseLost if none was.
func (e *Engine) SettleLease(ctx context.Context, lease string, tenant spillway.TenantID, results []spillway.Outcome) (accepted int64, err error) {
	t, err := e.readTicket(lease, tenant)
	if err != nil {
		return 0, err
	}
	if err := checkResults(t.Jobs, results); err != nil {
		return 0, err
	}
	h := e.leases.get(t.ID)
	if h == nil || h.delivery == nil || !e.stillHeld(ctx, h) {
		return e.settleLate(ctx, t, results)
	}
	d := h.delivery
	if !e.leases.take(h) {
		return e.settleLate(ctx, t, results) // settled twice at once
	}
	d.add(results)
	if len(results) > 0 {
		d.mu.Lock()
		d.mu.rest = &Failure{Status: spillway.Retry, Reason: "the worker settled the lease without a word on this job"}
		d.mu.Unlock()
	}
	e.metrics.delivered.Add(d.run.Len())
	if !e.settler.end(ctx, d) {
		return 0, spillway.Errorf(spillway.CodeUnavailable, "the outcomes could not be recorded now: settle the lease again")
	}
	return int64(len(d.batch.Jobs)), nil
}

// checkResults refuses results that a lease of the jobs cannot take, before any
// is taken.
func checkResults(jobs spillway.Spans, results []spillway.Outcome) error {
	var seen spillway.Spans
	for _, o := range results {
		switch {
		case !jobs.Has(o.Index):
			return spillway.Errorf(spillway.CodeInvalid, "results: job %d is not in the lease", o.Index)
		case seen.Has(o.Index):
			return spillway.Errorf(spillway.CodeInvalid, "results: job %d is there twice", o.Index)
		case o.Status > spillway.Throttled:
			return spillway.Errorf(spillway.CodeInvalid, "results: job %d has a status that is not a worker's to say", o.Index)
		case len(o.Value) > MaxValue:
			return spillway.Errorf(spillway.CodeTooLarge, "results: the value of job %d has %d bytes, the limit is %d", o.Index, len(o.Value), MaxValue)
		case o.Value != nil && !json.Valid(o.Value):
			return spillway.Errorf(spillway.CodeInvalid, "results: the value of job %d is not JSON", o.Index)
		}
		seen = insert(seen, o.Index)
	}
	return nil
}

// stillHeld asks the queue whether a lease is held, and keeps it while it is
// being settled.
func (e *Engine) stillHeld(ctx context.Context, h *held) bool {
	ok, err := e.queue.Extend(ctx, time.Now(), []queue.Extension{{Ref: h.lease.Ref, Until: time.Now().Add(visibility)}})
	return err == nil && ok[0]
}

// settleLate records the final outcomes of a lease that is no longer held.
func (e *Engine) settleLate(ctx context.Context, t ticket, results []spillway.Outcome) (int64, error) {
	e.leases.remove(t.ID)
	s := ledger.Settlement{Group: t.Group, Chunk: spillway.ChunkOf(t.Jobs[0].From)}
	if len(results) == 0 {
		s.Outcomes = []ledger.Outcome{{Jobs: t.Jobs, Status: spillway.OK}}
	}
	for _, o := range results {
		if o.Status.Final() {
			s.Outcomes = append(s.Outcomes, ledger.Outcome{
				Jobs: spillway.One(o.Index, o.Index+1), Status: o.Status, Reason: clip(o.Error), Value: o.Value,
			})
		}
	}
	var merged []ledger.Merged
	err := e.untilWritten(ctx, func() (err error) {
		merged, err = e.ledger.Settle(ctx, time.Now(), []ledger.Settlement{s})
		return err
	})
	if err != nil {
		return 0, err
	}
	if merged[0].Changed == 0 {
		return 0, spillway.Errorf(spillway.CodeLeaseLost, "the lease is no longer held, and its jobs have their outcomes already or are being delivered again")
	}
	e.watch.check(t.Group)
	e.events.group(t.Group)
	return merged[0].Changed, nil
}

// ExtendLease moves a pulled lease's deadline to by from now.
func (e *Engine) ExtendLease(ctx context.Context, lease string, tenant spillway.TenantID, by time.Duration) (time.Time, error) {
	t, err := e.readTicket(lease, tenant)
	if err != nil {
		return time.Time{}, err
	}
	if by <= 0 || by > maxLease {
		return time.Time{}, spillway.Errorf(spillway.CodeInvalid, "by_ms must be from 1 to %d", maxLease.Milliseconds())
	}
	until := time.Now().Add(by)
	if h := e.leases.get(t.ID); h != nil {
		ok, err := e.queue.Extend(ctx, time.Now(), []queue.Extension{{Ref: h.lease.Ref, Until: until}})
		if err != nil {
			return time.Time{}, err
		}
		if ok[0] {
			e.leases.mu.Lock()
			h.lease.Deadline = until
			e.leases.mu.Unlock()
			return until, nil
		}
	}
	return time.Time{}, spillway.Errorf(spillway.CodeLeaseLost, "the lease is no longer held: its jobs are delivered again")
}
