package memqueue

import (
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// Options of a queue.
type Options struct {
	// Epoch is when this index began: limiters without state start as if their
	// whole rate had been spent then. The zero time is long ago: they start
	// unspent.
	Epoch time.Time
	// Fresh says that the ledger was empty, so that nothing can have been spent.
	Fresh bool
}

// Queue is the embedded driver. It is safe for concurrent use.
type Queue struct {
	mu    sync.Mutex
	epoch flow.Time
	fresh bool

	// All below is guarded by mu.
	now       flow.Time // the latest seen
	closed    bool
	token     int64 // of the latest lease
	counted   int64 // numbers given out by count
	groups    map[spillway.GroupID]*group
	resources map[spillway.ResourceName]*resource
	actions   map[spillway.ActionName]*action
	tenants   map[spillway.TenantID]*tenant
	leases    map[spillway.LeaseID]*lease
	deadlines heap[*lease, byDeadline]
	needs     heap[*group, byNeed]
	unused    heap[*resource, byEnd]
	views     []*view // the latest used first
}

var _ queue.Queue = (*Queue)(nil)

// New returns an empty queue.
func New(o Options) *Queue {
	return &Queue{
		epoch:     at(o.Epoch, 0),
		fresh:     o.Fresh || o.Epoch.IsZero(),
		groups:    map[spillway.GroupID]*group{},
		resources: map[spillway.ResourceName]*resource{},
		actions:   map[spillway.ActionName]*action{},
		tenants:   map[spillway.TenantID]*tenant{},
		leases:    map[spillway.LeaseID]*lease{},
	}
}

// Close implements queue.Queue. What is called later answers CodeUnavailable.
func (q *Queue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	return nil
}

// enter takes the lock, moves time on, and forgets what has been unused for long.
func (q *Queue) enter(now time.Time) error {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return spillway.Errorf(spillway.CodeUnavailable, "the queue is closed")
	}
	q.now = max(q.now, flow.At(now))
	for q.unused.len() > 0 && q.unused.next().first <= float64(q.now) {
		q.removeResource(q.unused.top())
	}
	return nil
}

// count gives out numbers in the order of arrival.
func (q *Queue) count() int64 {
	q.counted++
	return q.counted
}

// at converts a time whose zero value means none.
func at(t time.Time, none flow.Time) flow.Time {
	if t.IsZero() {
		return none
	}
	return flow.At(t)
}

// when converts back: Never is the zero time.
func when(t flow.Time) time.Time {
	if t == flow.Never {
		return time.Time{}
	}
	return t.Time()
}

// spentBefore says that a limiter without state starts spent: something may
// have been granted in the last period, before this index began.
func (q *Queue) spentBefore(rate flow.Rate) bool {
	return !q.fresh && !unlimited(rate) && q.now < q.epoch.Add(rate.Per)
}

// place puts a group where it belongs after any change: ready, waiting for a
// time, or waiting for a change.
func (q *Queue) place(g *group) {
	g.skipHeld()
	lane, s := g.line.lane, g.share()
	at := g.readyAt(q.now)
	ready := at <= q.now
	g.line.setReady(g, ready)
	if !ready && at < flow.Never {
		g.wakeAt = at
		lane.timers.set(g, float64(at), g.seq)
	} else {
		lane.timers.remove(g)
	}
	if ready && !g.whole && lane.resource.set.Broken {
		lane.sound.set(g, float64(len(g.leases)), g.seq)
	} else {
		lane.sound.remove(g)
	}
	waits := g.own != nil && at == g.own.until && at < flow.Never
	s.setActive(g, ready || waits || len(g.leases) > 0)
	q.placeNeed(g)
	lane.resource.mark()
}
