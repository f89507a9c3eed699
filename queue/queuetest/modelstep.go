package queuetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// step does one random thing and checks what must hold after it.
func (m *model) step() {
	if len(m.groups) == 0 {
		m.submit()
	}
	switch n := m.rng.IntN(100); {
	case n < 6:
		m.submit()
	case n < 13:
		m.change()
	case n < 15:
		m.stale()
	case n < 19:
		m.reconfigure()
	case n < 45:
		m.claim()
	case n < 48:
		m.claimAgain()
	case n < 51:
		m.extend()
	case n < 73:
		m.settleOne()
	case n < 77:
		m.reclaim()
	case n < 80:
		m.promote()
	case n < 84:
		m.feed()
	case n < 85:
		m.die()
	case n < 86 && m.chance(30):
		m.wipe()
	default:
		m.pass()
	}
	m.check()
}

// pass lets time pass.
func (m *model) pass() {
	m.now = m.now.Add(m.upTo(one(m, 10*time.Millisecond, 200*time.Millisecond, 2*time.Second, 15*time.Second)))
}

// claim asks for work in a random shape, and loses the answer now and then.
func (m *model) claim() {
	c := queue.Claim{Instance: one(m, "i1", "i2"), Visibility: 20 * time.Second}
	for _, a := range m.actions {
		if m.chance(75) {
			c.Actions = append(c.Actions, a.Name)
		}
	}
	if len(c.Actions) == 0 {
		c.Actions = append(c.Actions, "a")
	}
	if m.chance(10) {
		c.Tenant = one(m, m.tenants...).ID
	}
	c.MaxJobs = one(m, int64(0), 0, 3)
	c.PerResource = one(m, 0, 0, 2, 6)
	m.ask(c, one(m, 1, 1, 4, 20))
	if m.chance(60) {
		m.wakeUp(c)
	}
}

// ask claims n leases of a shape and takes in the answer.
func (m *model) ask(c queue.Claim, n int) queue.Claimed {
	m.Helper()
	c.Leases = nil
	for range n {
		m.ids++
		c.Leases = append(c.Leases, spillway.LeaseID(fmt.Sprintf("l%d", m.ids)))
	}
	got := m.call(c)
	lost := m.chance(10)
	for _, l := range got.Leases {
		x := m.granted(c, l)
		if !lost {
			m.workers = append(m.workers, x)
		}
	}
	if lost && len(got.Leases) > 0 {
		m.do("... and the answer is lost")
		m.lost = append(m.lost, c)
	}
	if len(got.Leases) < n && !got.Next.IsZero() && !got.Next.After(m.now) {
		m.fail("%d of %d leases are granted, and the next claim is to come %v from now", len(got.Leases), n, got.Next.Sub(m.now))
	}
	return got
}

func (m *model) call(c queue.Claim) queue.Claimed {
	got, err := m.q.Claim(context.Background(), m.now, c)
	m.must(err)
	m.do("claim %d by %s of %v tenant=%q maxJobs=%d perResource=%d: next %s", len(c.Leases), c.Instance, c.Actions, c.Tenant,
		c.MaxJobs, c.PerResource, m.since(got.Next))
	for _, l := range got.Leases {
		m.do("    %s #%d %s %v", l.ID, l.Token, l.Group, l.Jobs)
	}
	return got
}

// claimAgain repeats a claim whose answer was lost.
func (m *model) claimAgain() {
	if len(m.lost) == 0 {
		return
	}
	c := m.lost[0]
	m.lost = m.lost[1:]
	for _, l := range m.call(c).Leases {
		x := m.held[l.ID]
		switch {
		case x == nil:
			x = m.granted(c, l)
		case x.taken:
			m.fail("lease %s was reclaimed and is answered to its old id", l.ID)
		case l.Token != x.Token || l.Group != x.Group || !slices.Equal(l.Jobs, x.Jobs):
			m.fail("lease %s is answered as #%d %v and was granted as #%d %v", l.ID, l.Token, l.Jobs, x.Token, x.Jobs)
		}
		if !slices.Contains(m.workers, x) {
			m.workers = append(m.workers, x)
		}
	}
}

// wakeUp claims what is left, and then checks that nothing can be had before
// the time that the queue names, and that the queue is not asked in vain twice.
func (m *model) wakeUp(c queue.Claim) {
	var got queue.Claimed
	for range 60 {
		if got = m.ask(c, 5); len(got.Leases) < 5 {
			break
		}
	}
	for range 3 {
		if len(got.Leases) == 5 {
			return
		}
		next := got.Next
		if next.IsZero() {
			next = m.now.Add(m.upTo(30*time.Second) + 2)
		}
		early := m.upTo(next.Sub(m.now))
		if next.Sub(m.now) > time.Minute || early <= 0 {
			return
		}
		m.now = m.now.Add(early)
		if got := m.ask(c, 1); len(got.Leases) > 0 {
			m.fail("%s is granted %v before the queue said", got.Leases[0].ID, next.Sub(m.now))
		}
		m.did.early++
		if got.Next.IsZero() {
			return
		}
		m.now = next
		got = m.ask(c, 5)
	}
}

// die ends an instance: nothing that it works on is settled any more.
func (m *model) die() {
	name := one(m, "i1", "i2")
	m.do("%s dies", name)
	m.workers = slices.DeleteFunc(m.workers, func(l *modelLease) bool { return l.Instance == name })
	m.lost = nil
}

// wipe loses the queue and all that ran, and rebuilds it from the ledger.
func (m *model) wipe() {
	m.do("the queue is wiped")
	m.did.wiped++
	m.q = m.open(m.T, Options{Epoch: m.now})
	m.configure()
	for _, r := range m.resources {
		r.probed = time.Time{}
	}
	for _, l := range m.held {
		m.unhold(l)
	}
	m.workers, m.lost, m.fed = nil, nil, nil
	for _, g := range m.groups {
		g.rebuild(m.now)
		if !g.set.Gone {
			m.put(g)
		}
	}
}

// rebuild restates a group from the ledger: what is not final below the highest
// recorded job is parked.
func (g *modelGroup) rebuild(now time.Time) {
	g.before = nil
	g.set.Next, g.set.Parked = 0, 0
	for i := range g.final {
		g.set.Next = max(g.set.Next, i+1)
	}
	for i := range g.retry {
		g.set.Next = max(g.set.Next, i+1)
	}
	g.set.Finished = int64(len(g.final))
	for i := range g.set.Next {
		if g.final[i] {
			continue
		}
		if _, known := g.retry[i]; !known {
			g.retry[i] = modelRetry{notBefore: now}
		}
		g.set.Parked++
	}
	g.set.ParkedDue = now
}
