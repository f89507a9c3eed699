package bulk

import (
	"context"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// settler records outcomes: to the ledger first, then to the queue. One
// goroutine gathers what waits while the last transaction commits, so that
// many workers share one.
type settler struct {
	requests chan *settleRequest
	stopped  chan struct{} // closed when nothing is settled any more
}

// Bounds of one transaction.
const (
	settleRequests = 512
	settleBytes    = 8 << 20
)

// settleRequest is outcomes of one lease, and its end if there is one.
type settleRequest struct {
	d          *delivery
	settlement ledger.Settlement
	end        bool
	recorded   bool
	done       chan struct{} // closed when recorded, or given up
}

func (s *settler) init() {
	s.requests = make(chan *settleRequest, 256)
	s.stopped = make(chan struct{})
}

// merge records outcomes while the lease goes on.
func (s *settler) merge(ctx context.Context, d *delivery, outcomes []ledger.Outcome) {
	s.send(ctx, d, outcomes, false)
}

// end records what is left of a delivery, and ends its lease.
func (s *settler) end(ctx context.Context, d *delivery) (recorded bool) {
	d.mu.Lock()
	fresh := d.mu.fresh
	d.mu.fresh = nil
	d.mu.closed = true
	d.mu.Unlock()
	return s.send(ctx, d, append(d.outcomes(fresh), d.restOutcomes()...), true)
}

// send hands outcomes to the settler and waits; false if they were not recorded
// in time.
func (s *settler) send(ctx context.Context, d *delivery, outcomes []ledger.Outcome, end bool) bool {
	r := &settleRequest{
		d: d, end: end, done: make(chan struct{}),
		settlement: ledger.Settlement{Group: d.lease.Group, Chunk: spillway.ChunkOf(d.lease.Jobs[0].From), Outcomes: outcomes},
	}
	select {
	case s.requests <- r:
	case <-s.stopped:
		return false
	case <-ctx.Done():
		return false
	}
	select {
	case <-r.done:
	case <-s.stopped:
	case <-ctx.Done():
	}
	select {
	case <-r.done:
		return r.recorded
	default:
		return false
	}
}

// run settles until ctx ends, and then what was asked for already.
func (s *settler) run(ctx context.Context, e *Engine) error {
	defer close(s.stopped)
	for {
		select {
		case r := <-s.requests:
			e.settle(ctx, s.gather(r))
		case <-ctx.Done():
			for {
				select {
				case r := <-s.requests:
					e.settle(ctx, s.gather(r))
				default:
					return nil
				}
			}
		}
	}
}

// gather adds what waits to a first request, within the bounds.
func (s *settler) gather(first *settleRequest) []*settleRequest {
	batch := []*settleRequest{first}
	bytes := first.bytes()
	for len(batch) < settleRequests && bytes < settleBytes {
		select {
		case r := <-s.requests:
			batch = append(batch, r)
			bytes += r.bytes()
		default:
			return batch
		}
	}
	return batch
}

func (r *settleRequest) bytes() int {
	n := 0
	for _, o := range r.settlement.Outcomes {
		n += len(o.Value) + len(o.Reason) + 16*len(o.Jobs)
	}
	return n
}

// settle records a batch in the ledger, and then ends its leases.
func (e *Engine) settle(ctx context.Context, batch []*settleRequest) {
	start := time.Now()
	defer func() {
		for _, r := range batch {
			close(r.done)
		}
		e.metrics.settle.observe(time.Since(start))
	}()
	recorded := e.record(ctx, batch)
	var ends []queue.Settlement
	var ended []*delivery
	for _, r := range recorded {
		if r.end {
			ends, ended = append(ends, r.d.settlement()), append(ended, r.d)
		}
	}
	if len(ends) == 0 {
		return
	}
	held, err := e.settleQueue(ctx, ends)
	if err != nil {
		e.log.Warn("the queue does not answer; the outcomes are safe and the leases will expire", "leases", len(ends), "err", err)
	}
	for i, ok := range held {
		// The ledger took the word of a lease that was lost, or did not take all
		// of one that is held because a lost one had come first: the queue has to
		// learn what waits there.
		if lost := !ok && len(ended[i].retries) > 0; lost || len(ended[i].run.Minus(ended[i].heard)) > 0 {
			e.watch.restate(ends[i].Group)
		}
		if e.watch.ending(ends[i].Group) {
			e.watch.check(ends[i].Group) // this may have been its last lease
		}
	}
	e.bell.ring()
	poke(e.feed)
}

// settleQueue ends leases, trying for about a second; after that they expire.
func (e *Engine) settleQueue(ctx context.Context, ends []queue.Settlement) (held []bool, err error) {
	for wait := 20 * time.Millisecond; ; wait *= 2 {
		held, err = e.queue.Settle(context.WithoutCancel(ctx), time.Now(), ends)
		if err == nil || !repeatable(err) || wait > 500*time.Millisecond || !sleep(ctx, wait) {
			return held, err
		}
	}
}

// record merges a batch into the ledger, and answers what was recorded. A
// batch that fails for another reason than the store's state is taken apart,
// so that one damaged row does not hold up the rest.
func (e *Engine) record(ctx context.Context, batch []*settleRequest) []*settleRequest {
	var merged []ledger.Merged
	settlements := make([]ledger.Settlement, len(batch))
	for i, r := range batch {
		settlements[i] = r.settlement
	}
	err := e.untilWritten(ctx, func() (err error) {
		merged, err = e.ledger.Settle(context.WithoutCancel(ctx), time.Now(), settlements)
		return err
	})
	switch {
	case err == nil:
		for i, r := range batch {
			e.merged(r, merged[i])
		}
		return batch
	case len(batch) == 1:
		if !repeatable(err) {
			e.log.Error("outcomes could not be recorded; their lease will expire and its jobs be delivered again", "group", batch[0].settlement.Group, "err", err)
		}
		return nil
	case repeatable(err):
		return nil
	}
	var recorded []*settleRequest
	for _, r := range batch {
		recorded = append(recorded, e.record(ctx, []*settleRequest{r})...)
	}
	return recorded
}

// merged takes in what the ledger newly added.
func (e *Engine) merged(r *settleRequest, m ledger.Merged) {
	d := r.d
	r.recorded = true
	d.finished += m.Finished.Len()
	d.heard = d.heard.Union(m.Finished).Union(m.Planned)
	for _, o := range r.settlement.Outcomes {
		if o.Status.Final() || o.Status == spillway.InDoubt {
			continue
		}
		planned := o.Jobs.Intersect(m.Planned)
		if len(planned) == 0 {
			continue
		}
		d.retries = append(d.retries, queue.Retry{
			Jobs: planned, NotBefore: o.Plan.NotBefore, Single: o.Plan.Lost >= singleFrom, Failed: o.Status == spillway.Retry,
		})
		if o.Status == spillway.Retry {
			e.metrics.retried.Add(planned.Len())
		} else {
			e.metrics.throttled.Add(planned.Len())
		}
	}
	e.metrics.succeeded.Add(m.Succeeded)
	e.metrics.failed.Add(m.Failed)
	e.metrics.skipped.Add(m.Skipped)
	e.metrics.inDoubt.Add(m.InDoubt)
	e.countFinal(d.meta, m.Failed, m.Finished.Len())
	e.events.group(d.lease.Group)
	if m.Ready {
		e.watch.check(d.lease.Group)
	}
}

// settlement is the end of the delivery's lease.
func (d *delivery) settlement() queue.Settlement {
	s := queue.Settlement{Ref: d.lease.Ref, Finished: d.finished, Refund: d.refund, Retries: d.retries, Whole: d.whole}
	if d.unrun {
		for _, r := range d.retries {
			s.Return = s.Return.Union(r.Jobs)
		}
		s.Retries = nil
	}
	return s
}

// countFinal keeps a group's running counts, and pauses it when too many of
// its jobs have failed.
func (e *Engine) countFinal(m *meta, failed, final int64) {
	m = e.current(m)
	if final == 0 || !m.maxFail.set {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.failed += failed
	m.mu.final += final
	if !m.mu.pausing && m.maxFail.passed(m.mu.failed, m.mu.final) {
		m.mu.pausing = true
		e.watch.pause(m.id)
	}
}
