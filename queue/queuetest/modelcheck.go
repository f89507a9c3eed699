package queuetest

import (
	"context"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// checkLease checks a new lease against the state that the queue was told.
func (m *model) checkLease(c queue.Claim, l *modelLease) {
	m.Helper()
	g := l.group
	if g == nil {
		m.fail("lease %s is of an unknown group", l.ID)
	}
	r, a := m.resource(g.set.Resource), m.action(g.set.Action)
	n := l.Jobs.Len()
	last := l.Jobs[len(l.Jobs)-1].To
	switch {
	case g.set.Paused || g.set.Gone || m.tenant(g.set.Tenant).Paused || r.set.Paused:
		m.fail("lease %s is of %s, which is paused or gone", l.ID, g.set.ID)
	case g.set.NotBefore.After(m.now):
		m.fail("lease %s comes before the group's time", l.ID)
	case !g.set.Expires.IsZero() && !g.set.Expires.After(m.now):
		m.fail("lease %s comes after the group has expired", l.ID)
	case n == 0 || last > g.set.Total || spillway.ChunkOf(l.Jobs[0].From) != spillway.ChunkOf(last-1):
		m.fail("lease %s holds %v of %d jobs", l.ID, l.Jobs, g.set.Total)
	case n > max(1, a.Batch) || c.MaxJobs > 0 && n > c.MaxJobs:
		m.fail("lease %s holds %d jobs", l.ID, n)
	case !contains(c.Actions, g.set.Action) || c.Tenant != "" && c.Tenant != g.set.Tenant:
		m.fail("lease %s was not asked for", l.ID)
	case l.Tenant != g.set.Tenant || l.Action != g.set.Action || l.Resource != g.set.Resource || l.Version != g.set.Version:
		m.fail("lease %s is labelled %+v", l.ID, l.Lease)
	case l.Instance != c.Instance || !l.Deadline.Equal(l.deadline):
		m.fail("lease %s is of %s until %v", l.ID, l.Instance, l.Deadline)
	case l.Probe != r.set.Broken || l.Probe && n != 1:
		m.fail("lease %s holds %d jobs with probe=%t", l.ID, n, l.Probe)
	case l.Probe && m.now.Sub(r.probed) < time.Second:
		m.fail("lease %s probes %v after the last probe", l.ID, m.now.Sub(r.probed))
	}
	if l.Probe {
		r.probed = m.now
		m.did.probes++
	}
	for _, x := range g.held {
		if overlap(x.Jobs, l.Jobs) {
			m.fail("jobs %v are in the leases %s and %s", x.Jobs.Intersect(l.Jobs), x.ID, l.ID)
		}
	}
}

func contains[T comparable](all []T, x T) bool {
	for _, y := range all {
		if x == y {
			return true
		}
	}
	return false
}

// checkBounds checks concurrency and rates right after a grant.
func (m *model) checkBounds(l *modelLease) {
	m.Helper()
	g := l.group
	r, a := m.resource(l.Resource), m.action(l.Action)
	ofGroup, ofAction, ofResource := inFlight(g.held), m.ofAction[l.Action], m.ofResource[l.Resource]
	over := func(n, bound int64) bool { return bound > 0 && n > bound }
	if over(ofGroup, g.set.Concurrency) || over(ofAction, a.Concurrency) || over(ofResource, r.set.Concurrency) {
		m.fail("%d of the group, %d of the action and %d of the resource are in flight", ofGroup, ofAction, ofResource)
	}
	if rate := r.set.Rate; rate.N > 0 {
		from := m.now.Add(-rate.Per)
		if r.set.Window {
			from = m.now.Truncate(rate.Per).Add(-1)
		}
		m.checkRate("the resource", spent(r.grants, from), rate.N)
	}
	if rate := g.set.Rate; rate.N > 0 {
		m.checkRate("the group", spent(g.grants, m.now.Add(-rate.Per)), rate.N)
	}
	if p := m.resource(r.set.Parent); p != nil {
		m.checkParent(p)
	}
}

// inFlight is the number of jobs in leases.
func inFlight(leases []*modelLease) (n int64) {
	for _, l := range leases {
		n += l.Jobs.Len()
	}
	return n
}

// overlap says that two sets of jobs have one in common.
func overlap(a, b spillway.Spans) bool {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].To <= b[0].From:
			a = a[1:]
		case b[0].To <= a[0].From:
			b = b[1:]
		default:
			return true
		}
	}
	return false
}

// spent is the cost granted after a time.
func spent(grants []*modelGrant, after time.Time) (n int64) {
	for k := len(grants) - 1; k >= 0 && grants[k].at.After(after); k-- {
		n += grants[k].cost
	}
	return n
}

func (m *model) checkRate(whose string, n, bound int64) {
	m.Helper()
	if n > bound {
		m.fail("%s was granted %d in a period of at most %d", whose, n, bound)
	}
}

// checkParent checks that children stay within the parent's rate and a block
// for each of them.
func (m *model) checkParent(p *modelResource) {
	m.Helper()
	rate := p.set.Rate
	bound, n := rate.N, spent(p.grants, m.now.Add(-rate.Per))
	for _, r := range m.resources {
		if r.set.Parent == p.set.Name {
			bound += max(3, rate.N/10)
			n += spent(r.grants, m.now.Add(-rate.Per))
		}
	}
	m.checkRate("the parent", n, bound)
}

func (m *model) stats(id spillway.GroupID) queue.GroupStats {
	got, err := m.q.Stats(context.Background(), m.now, queue.Query{Groups: []spillway.GroupID{id}})
	m.must(err)
	return got.Groups[id]
}

// check checks that every job has a place, and every group a bounded state.
func (m *model) check() {
	m.Helper()
	got, err := m.q.Stats(context.Background(), m.now, queue.Query{AllGroups: true, AllResources: true})
	m.must(err)
	for _, g := range m.groups {
		s, known := got.Groups[g.set.ID]
		switch held := g.held; {
		case known != (!g.set.Gone || len(held) > 0):
			m.fail("group %s: known is %t", g.set.ID, known)
		case s.Leases != len(held):
			m.fail("group %s has %d leases and should have %d", g.set.ID, s.Leases, len(held))
		case !g.set.Gone:
			m.checkPlaces(g, s, held)
		}
	}
	for name, s := range got.Resources {
		if s.InFlight != m.ofResource[name] {
			m.fail("%s has %d jobs in flight, not %d", name, s.InFlight, m.ofResource[name])
		}
	}
}

// checkPlaces checks that each job is final, fresh, in a lease, or counted
// among those that wait or are parked.
func (m *model) checkPlaces(g *modelGroup, s queue.GroupStats, held []*modelLease) {
	m.Helper()
	if s.Entries > queue.MaxEntries+int(s.Waiting) {
		m.fail("group %s has %d entries", g.set.ID, s.Entries)
	}
	homeless := s.Next - int64(len(g.final))
	for i := range g.final {
		if i >= s.Next { // handed out before a wipe, or by a late feed
			homeless++
		}
	}
	for _, l := range held {
		for i := range l.Jobs.All {
			if !g.final[i] && i < s.Next {
				homeless--
			}
		}
	}
	if homeless > s.Waiting+s.Parked {
		m.fail("group %s: %d jobs below %d are neither final nor out, %d wait and %d are parked",
			g.set.ID, homeless, s.Next, s.Waiting, s.Parked)
	}
}

// drain lifts every restriction and runs all that is left. What is lost never
// completes.
func (m *model) drain() {
	m.do("drain")
	m.lift()
	c := queue.Claim{Instance: "i3", Actions: []spillway.ActionName{"a", "b", "c"}, Visibility: 20 * time.Second}
	for range 5000 {
		m.reclaim()
		m.promote()
		for len(m.fed) > 0 {
			m.give(m.fed[0])
			m.fed = m.fed[1:]
		}
		got := m.ask(c, 20)
		for _, l := range m.workers {
			m.settle(l, m.complete(l))
		}
		m.workers, m.lost = nil, nil
		if m.finished() {
			return
		}
		if len(got.Leases) == 0 {
			m.now = m.now.Add(time.Second)
		} else {
			m.now = m.now.Add(50 * time.Millisecond)
		}
	}
	for _, g := range m.groups {
		if !g.done() {
			m.fail("group %s never completes: %d of %d; %+v", g.set.ID, len(g.final), g.set.Total, m.stats(g.set.ID))
		}
	}
}

// lift seals, resumes and unbounds everything.
func (m *model) lift() {
	for _, r := range m.resources {
		r.set.Paused, r.set.Broken, r.set.Concurrency, r.set.Rate.N = false, false, 0, 50*r.set.Rate.N
	}
	for _, t := range m.tenants {
		t.Paused = false
	}
	for _, a := range m.actions {
		a.Concurrency, a.Batch = 0, 1000
	}
	m.configure()
	for _, g := range m.groups {
		if !g.set.Gone {
			g.set.Version++
			g.set.Paused, g.set.Sealed, g.set.Concurrency, g.set.Rate = false, true, 0, flow.Rate{}
			m.put(g)
		}
	}
}

// complete records all jobs of a lease as done.
func (m *model) complete(l *modelLease) queue.Settlement {
	var jobs []int64
	for i := range l.Jobs.All {
		jobs = append(jobs, i)
	}
	return queue.Settlement{Ref: l.Ref, Finished: l.group.finish(jobs)}
}

// finished says that every group that has not ended is complete.
func (m *model) finished() bool {
	for _, g := range m.groups {
		if !g.done() {
			return false
		}
	}
	return true
}
