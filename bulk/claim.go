package bulk

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// visibility is how long a lease is held without a sign of life of this
// engine, which extends its leases every third of it.
const visibility = 30 * time.Second

// claimLoop hands work to free workers until ctx ends: one claim asks for all
// of them, and then waits for the time that the queue names, a ring of the
// bell, or a worker that becomes free.
func (e *Engine) claimLoop(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		rung, done := e.bell.wait()
		next := e.claim(ctx)
		wait := time.Hour
		if !next.IsZero() {
			wait = max(time.Until(next), 0)
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-rung:
		case <-e.pool.freed:
		}
		done()
	}
	return nil
}

// claim hands leases to all free workers, and says when to claim again; the
// zero time is when something changes.
func (e *Engine) claim(ctx context.Context) time.Time {
	if e.health.ledgerErr() != nil {
		e.probe(ctx)
		return time.Now().Add(time.Second)
	}
	free := e.pool.free()
	actions := e.actions.handled()
	if free == 0 || len(actions) == 0 {
		return time.Time{}
	}
	start := time.Now()
	// A claim that failed may have been granted: the same ids ask for the same
	// leases. Since only the claimer hands out work, none of them is too many.
	ids := append(e.pool.unanswered, e.leases.ids(e.cfg.Instance, free-len(e.pool.unanswered))...)
	got, err := e.queue.Claim(ctx, start, queue.Claim{
		Instance: e.cfg.Instance, Leases: ids, Actions: actions,
		PerResource: e.cfg.perResource(), Visibility: visibility,
	})
	e.pool.unanswered = nil
	if err != nil {
		e.pool.unanswered = ids
		if ctx.Err() == nil {
			e.log.Warn("the queue does not answer; claiming again in a second", "err", err)
		}
		return time.Now().Add(time.Second)
	}
	e.metrics.claim.observe(time.Since(start))
	for _, l := range got.Leases {
		e.metrics.granted.Add(l.Jobs.Len())
		e.leases.add(&held{lease: l, actionable: true})
		e.pool.give(l)
	}
	return got.Next
}

// pool is the fixed workers of an engine.
type pool struct {
	size  int
	work  chan queue.Lease
	freed chan struct{} // poked when a worker becomes free
	busy  atomic.Int64
	ended chan struct{} // one for each worker that has ended
	// unanswered are the ids of the last claim if it failed; the claimer's alone.
	unanswered []spillway.LeaseID
}

func (p *pool) init(n int) {
	p.size = n
	p.work = make(chan queue.Lease, n)
	p.freed = make(chan struct{}, 1)
	p.ended = make(chan struct{}, n)
}

// free is the number of workers without a lease.
func (p *pool) free() int { return p.size - int(p.busy.Load()) }

// give hands a lease to a free worker; only the claimer calls it, for at most
// free leases, so it never blocks.
func (p *pool) give(l queue.Lease) {
	p.busy.Add(1)
	p.work <- l
}

func (p *pool) start(ctx context.Context, e *Engine) {
	for range p.size {
		go func() {
			defer func() { p.ended <- struct{}{} }()
			for l := range p.work {
				e.deliver(ctx, l)
				p.busy.Add(-1)
				poke(p.freed)
			}
		}()
	}
}

// stop lets the workers end, and waits for them.
func (p *pool) stop() {
	close(p.work)
	for range p.size {
		<-p.ended
	}
}

// leaseIDs makes the ids of an instance's leases: unique, and short.
var leaseSeq atomic.Int64

func (l *leases) ids(instance string, n int) []spillway.LeaseID {
	out := make([]spillway.LeaseID, n)
	for i := range out {
		out[i] = spillway.LeaseID(instance + "." + strconv.FormatInt(leaseSeq.Add(1), 36))
	}
	return out
}
