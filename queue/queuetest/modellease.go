package queuetest

import (
	"context"
	"slices"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// modelLease is a lease that the queue must be holding.
type modelLease struct {
	queue.Lease
	group    *modelGroup
	deadline time.Time
	taken    bool // reclaimed
	refunded bool
	attempts map[int64]int // of its jobs when they were verified
	grant    *modelGrant   // on the resource
	own      *modelGrant   // on the group's own rate
}

// granted takes in a new lease, after checking that it may be.
func (m *model) granted(c queue.Claim, l queue.Lease) *modelLease {
	m.Helper()
	g := m.group(l.Group)
	x := &modelLease{Lease: l, group: g, deadline: m.now.Add(c.Visibility), attempts: map[int64]int{}}
	m.checkLease(c, x)
	for i := range l.Jobs.All {
		x.attempts[i] = g.retry[i].attempt
	}
	cost := g.costOf(l.Jobs)
	x.grant, x.own = &modelGrant{l.Granted, cost}, &modelGrant{m.now, cost}
	r := m.resource(l.Resource)
	r.grants = append(r.grants, x.grant)
	g.grants = append(g.grants, x.own)
	m.hold(x)
	m.did.leases++
	m.did.jobs += int(l.Jobs.Len())
	m.checkBounds(x)
	return x
}

// hold and unhold count a lease among those that the queue holds.
func (m *model) hold(l *modelLease) {
	m.held[l.ID] = l
	l.group.held = append(l.group.held, l)
	m.ofAction[l.Action] += l.Jobs.Len()
	m.ofResource[l.Resource] += l.Jobs.Len()
}

func (m *model) unhold(l *modelLease) {
	delete(m.held, l.ID)
	l.group.held = slices.DeleteFunc(l.group.held, func(x *modelLease) bool { return x.ID == l.ID })
	m.ofAction[l.Action] -= l.Jobs.Len()
	m.ofResource[l.Resource] -= l.Jobs.Len()
}

// extend gives more time, and gives back what was charged above the true cost.
func (m *model) extend() {
	if len(m.workers) == 0 {
		return
	}
	l := one(m, m.workers...)
	x := queue.Extension{Ref: l.Ref, Until: m.now.Add(m.upTo(20 * time.Second))}
	if m.chance(50) {
		x.Refund = max(0, l.Charged-l.group.costOf(l.Jobs))
		l.refunded = true
	}
	times := one(m, 1, 1, 2) // the second because the answer was lost
	for range times {
		got, err := m.q.Extend(context.Background(), m.now, []queue.Extension{x})
		m.must(err)
		m.do("extend %s #%d until %s refund %d: %t", l.ID, l.Token, m.since(x.Until), x.Refund, got[0])
		m.checkHeld(l, got[0])
		if got[0] {
			l.deadline = x.Until
		}
	}
}

// current says that a caller's lease is still the one that the queue holds.
func (m *model) current(l *modelLease) bool { return m.held[l.ID] == l && !l.taken }

func (m *model) checkHeld(l *modelLease, held bool) {
	m.Helper()
	if held != m.current(l) {
		m.fail("lease %s #%d: held is answered %t", l.ID, l.Token, held)
	}
}

// settleOne ends some caller's lease, whether or not it is still held.
func (m *model) settleOne() {
	if len(m.workers) == 0 {
		return
	}
	k := m.rng.IntN(len(m.workers))
	l := m.workers[k]
	m.workers = slices.Delete(m.workers, k, k+1)
	s := m.run(l)
	switch {
	case m.chance(6):
		m.do("the caller dies before it settles %s", l.ID)
	case m.chance(10):
		m.settle(l, s)
		m.do("... and the answer is lost")
		m.settle(l, s)
	default:
		m.settle(l, s)
	}
}

// run runs what is left to run of a lease and records the outcomes.
func (m *model) run(l *modelLease) queue.Settlement {
	g := l.group
	s := queue.Settlement{Ref: l.Ref, Whole: m.chance(20)}
	if g.set.Gone || g.set.Paused {
		s.Return = l.Jobs
		return s
	}
	fate := one(m, 0, 0, 0, 1, 2, 3, 4) // all well, all back, all again, mixed
	notBefore := m.now.Add(one(m, 0, m.upTo(3*time.Second), m.upTo(2*time.Minute)))
	single := m.chance(15)
	var finals, again, back []int64
	for i := range l.Jobs.All {
		switch f := m.rng.IntN(6); {
		case g.final[i]:
		case fate == 1 || fate >= 3 && f == 0:
			back = append(back, i)
		case fate == 2 || fate >= 3 && f == 1:
			again = append(again, i)
		default:
			finals = append(finals, i)
		}
	}
	s.Return = spillway.Of(back...)
	if !l.refunded && len(back) == 0 {
		s.Refund = max(0, l.Charged-g.costOf(l.Jobs))
	}
	s.Finished = g.finish(finals)
	again = g.again(l, again, modelRetry{notBefore: notBefore, single: single})
	if len(again) > 0 {
		s.Retries = []queue.Retry{{Jobs: spillway.Of(again...), NotBefore: notBefore, Single: single}}
	}
	return s
}

// finish records final outcomes; the first wins.
func (g *modelGroup) finish(jobs []int64) (newly int64) {
	for _, i := range jobs {
		if !g.final[i] {
			g.final[i] = true
			newly++
		}
		delete(g.retry, i)
	}
	return newly
}

// again records retries, each only by the latest attempt, and returns the jobs
// that are to be delivered again.
func (g *modelGroup) again(l *modelLease, jobs []int64, r modelRetry) []int64 {
	out := jobs[:0]
	for _, i := range jobs {
		if g.final[i] {
			continue
		}
		if have := g.retry[i]; have.attempt == l.attempts[i] {
			g.retry[i] = modelRetry{attempt: have.attempt + 1, notBefore: r.notBefore, single: r.single}
		}
		out = append(out, i)
	}
	return out
}

// settle ends a lease in the queue.
func (m *model) settle(l *modelLease, s queue.Settlement) {
	m.Helper()
	before := m.stats(l.Group)
	got, err := m.q.Settle(context.Background(), m.now, []queue.Settlement{s})
	m.must(err)
	m.do("settle %s #%d finished=%d return=%v retries=%v whole=%t: %t", l.ID, s.Token, s.Finished, s.Return, s.Retries, s.Whole, got[0])
	held := m.held[l.ID] != nil && m.held[l.ID].Token == s.Token
	if got[0] != held {
		m.fail("lease %s #%d: held is answered %t", l.ID, s.Token, got[0])
	}
	if !held {
		if after := m.stats(l.Group); after != before {
			m.fail("a stale settlement changed the group from %+v to %+v", before, after)
		}
		return
	}
	m.unhold(l)
	cost := l.group.costOf(s.Return)
	l.grant.cost -= cost
	l.own.cost -= cost
}

// reclaim takes over leases whose callers are gone or late.
func (m *model) reclaim() {
	got, err := m.q.Reclaim(context.Background(), m.now, one(m, 1, 100))
	m.must(err)
	for _, l := range got {
		m.do("reclaim %s #%d", l.ID, l.Token)
		x := m.held[l.ID]
		switch {
		case x == nil:
			m.fail("lease %s is reclaimed and was not held", l.ID)
		case x.deadline.After(m.now):
			m.fail("lease %s is reclaimed %v before its deadline", l.ID, x.deadline.Sub(m.now))
		case l.Token <= x.Token:
			m.fail("lease %s keeps its token #%d when reclaimed", l.ID, l.Token)
		case !slices.Equal(l.Jobs, x.Jobs):
			m.fail("lease %s is reclaimed with %v and held %v", l.ID, l.Jobs, x.Jobs)
		}
		m.did.reclaimed++
		y := *x
		y.Token, y.taken, y.deadline = l.Token, true, m.now.Add(queue.ReclaimWait)
		m.unhold(x)
		m.hold(&y)
		if m.chance(85) {
			m.settleReclaimed(&y)
		}
	}
}

// settleReclaimed makes every job without a final outcome a retry.
func (m *model) settleReclaimed(l *modelLease) {
	s := queue.Settlement{Ref: l.Ref}
	var again []int64
	for i := range l.Jobs.All {
		again = append(again, i)
	}
	again = l.group.again(l, again, modelRetry{notBefore: m.now})
	if len(again) > 0 {
		s.Retries = []queue.Retry{{Jobs: spillway.Of(again...), NotBefore: m.now, Single: m.chance(30)}}
	}
	m.settle(l, s)
}
