package memqueue

import (
	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// lease is a lease that is out, with what it took.
type lease struct {
	queue.Lease
	group    *group
	stamp    flow.Time // of the resource's tokens
	ownStamp flow.Time // of the group's own
	deadline flow.Time
	single   bool // from a single entry
	failed   bool // of jobs whose delivery before failed
	taken    bool // reclaimed: it no longer runs at its instance

	left    int64 // tokens of the resource not given back
	ownLeft int64 // tokens of the group's own rate not given back
	refund  int64 // what extensions have given back
	cost    int64 // per job, as charged

	inDeadlines int32
}

// byDeadline: the next to expire first.
type byDeadline struct{}

func (byDeadline) place(l *lease) *int32 { return &l.inDeadlines }

// answer is the lease as callers see it.
func (l *lease) answer() queue.Lease {
	out := l.Lease
	out.Deadline = l.deadline.Time()
	return out
}

// lease returns the lease that a reference proves to be held, or nil.
func (q *Queue) lease(ref queue.Ref) *lease {
	l := q.leases[ref.ID]
	if l == nil || l.Token != ref.Token || l.Group != ref.Group {
		return nil
	}
	return l
}

// grant hands out what was picked: tokens, jobs and the turn are taken in one
// step.
func (q *Queue) grant(p pick, id spillway.LeaseID, c queue.Claim) *lease {
	g := p.group
	r, a := g.resource(), g.line.lane.action
	n := p.jobs
	if a.set.Concurrency > 0 {
		n = min(n, a.set.Concurrency-a.running)
	}
	tokens, own := g.tokens(n)
	r.spendParent(q.now, n*g.cost, g.cost)
	stamp, ownStamp := r.limit.spend(q.now, tokens), q.now
	if g.own != nil {
		ownStamp = take(&g.own.limiter, g.own.rate, q.now, own)
	}
	q.token++
	l := &lease{
		group: g, stamp: stamp, ownStamp: ownStamp, deadline: q.now.Add(c.Visibility),
		left: tokens, ownLeft: own, cost: g.cost,
		Lease: queue.Lease{
			Ref:    queue.Ref{ID: id, Token: q.token, Group: g.id, Resource: r.set.Name},
			Tenant: g.share().tenant.set.ID, Action: a.set.Name, Version: g.version,
			Granted: stamp.Time(), Charged: tokens, Instance: c.Instance, Probe: r.set.Broken,
		},
	}
	if p.entry >= 0 {
		l.single, l.failed = g.entries[p.entry].single, g.entries[p.entry].failed
	}
	l.Jobs = g.takeJobs(p.entry, n)
	if r.set.Broken {
		r.nextProbe = q.now.Add(probeEvery)
	}
	g.share().charge(g, tokens)
	q.forget(r)
	q.start(l)
	return l
}

// takeJobs removes jobs from an entry, or from the fresh ones.
func (g *group) takeJobs(entry int, n int64) spillway.Spans {
	if entry >= 0 {
		return g.takeEntry(entry, n)
	}
	jobs := spillway.One(g.next, g.next+n)
	g.next += n
	g.issued = max(g.issued, g.next)
	return jobs
}

// start counts a lease everywhere.
func (q *Queue) start(l *lease) {
	g := l.group
	r, n := g.resource(), l.Jobs.Len()
	q.leases[l.ID] = l
	q.deadlines.set(l, float64(l.deadline), l.Token)
	g.leases = append(g.leases, l)
	g.running += n
	r.running += n
	r.leases++
	r.granted += l.Charged
	r.served = q.count()
	g.share().hold(l.Instance, 1)
	g.line.lane.action.run(n)
	q.place(g)
}

// end takes a lease out of all counts; the caller places the group again.
func (q *Queue) end(l *lease) {
	g := l.group
	r, n := g.resource(), l.Jobs.Len()
	delete(q.leases, l.ID)
	q.deadlines.remove(l)
	g.dropLease(l)
	r.running -= n
	r.leases--
	if !l.taken {
		g.share().hold(l.Instance, -1)
	}
	g.line.lane.action.run(-n)
}

// giveTokens returns tokens of a lease at the stamp of its grant.
func (q *Queue) giveTokens(l *lease, n int64) {
	n = min(n, l.left)
	if n <= 0 {
		return
	}
	l.left -= n
	g := l.group
	r := g.resource()
	r.limit.refund(l.stamp, n)
	r.granted -= n
	if r.parent != nil {
		r.refundParent(q.now, n)
	}
	if own := min(n, l.ownLeft); own > 0 && g.own != nil {
		l.ownLeft -= own
		g.own.limiter.Refund(g.own.rate, l.ownStamp, own)
		g.own.until = 0
	}
	g.share().uncharge(g, n)
}
