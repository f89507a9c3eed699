package memqueue

import (
	"context"
	"time"

	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// Put implements queue.Queue.
func (q *Queue) Put(_ context.Context, now time.Time, groups []queue.Group) error {
	if err := q.enter(now); err != nil {
		return err
	}
	defer q.mu.Unlock()
	for i := range groups {
		q.put(&groups[i])
	}
	return nil
}

func (q *Queue) put(x *queue.Group) {
	g := q.groups[x.ID]
	switch {
	case g == nil && x.Gone, g != nil && x.Version < g.version:
		return
	case g == nil:
		g = q.add(x)
		g.restate(x)
	case x.Gone:
		q.finish(g, x.Version)
		return
	case g.gone || x.Restate:
		g.gone = false
		g.restate(x)
	}
	q.update(g, x)
	q.place(g)
}

// add makes a group that is new to the queue.
func (q *Queue) add(x *queue.Group) *group {
	r := q.resource(x.Resource)
	lane := q.lane(r, q.action(x.Action))
	s := q.share(r, x.Tenant)
	l := s.lineOf(lane)
	if l == nil {
		l = &line{lane: lane, share: s}
		s.lines = append(s.lines, l)
	}
	s.groups++
	r.groups++
	q.unused.remove(r)
	g := &group{id: x.ID, seq: q.count(), line: l, submitted: flow.At(x.Submitted)}
	q.groups[x.ID] = g
	return g
}

// update sets what every Put carries.
func (q *Queue) update(g *group, x *queue.Group) {
	if g.feeding != nil && x.Version > g.version {
		g.feeding.until = 0
	}
	g.version = x.Version
	g.total = max(g.total, x.Total)
	g.sealed = g.sealed || x.Sealed
	g.priority = x.Priority
	g.concurrency = x.Concurrency
	g.notBefore = at(x.NotBefore, 0)
	g.expires = at(x.Expires, flow.Never)
	g.cost = max(g.cost, x.MaxCost, 1)
	g.paused = x.Paused
	q.setOwnRate(g, x.Rate)
}

// setOwnRate gives the group a rate of its own, or another, or none. What it
// was granted before there was one counts as granted now.
func (q *Queue) setOwnRate(g *group, rate flow.Rate) {
	switch {
	case unlimited(rate):
		g.own = nil
	case g.own == nil:
		g.own = &ownRate{rate: rate}
		switch {
		case g.issued > 0 && len(g.leases)+int(g.finished) > 0:
			seed(&g.own.limiter, rate, q.now, min(rate.N, g.issued*g.cost))
		case q.spentBefore(rate) && g.submitted < q.epoch:
			g.own.limiter.StartSpent(rate, q.epoch)
		}
	case g.own.rate != rate:
		g.own.rate, g.own.until = rate, 0
	}
}

// restate sets how far the ledger says that the group has come. Work that this
// queue parked itself may be newer than what the ledger was asked for: too much
// counted corrects itself with the next feed, too little would be lost.
func (g *group) restate(x *queue.Group) {
	g.next = max(0, x.Next)
	g.issued = max(g.issued, g.next)
	g.finished = x.Finished
	if x.Parked > 0 {
		due := at(x.ParkedDue, 0)
		if g.parked.jobs > 0 {
			due = min(due, g.parked.due)
		}
		g.parked = backlog{jobs: max(g.parked.jobs, x.Parked), due: due}
	}
	if g.feeding != nil {
		g.feeding.close()
	}
}

// finish ends a group: nothing of it is granted any more.
func (q *Queue) finish(g *group, version int64) {
	g.version = version
	g.gone = true
	g.dropEntries()
	g.parked = backlog{}
	q.release(g)
}
