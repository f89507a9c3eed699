package queuetest

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// modelGroup is a group as the ledger has it.
type modelGroup struct {
	set    queue.Group // as last put
	before []queue.Group
	costs  int64 // of the dearest job
	final  map[int64]bool
	retry  map[int64]modelRetry
	grants []*modelGrant
	held   []*modelLease // that the queue must be holding
}

// modelRetry is a job to be delivered again, as recorded.
type modelRetry struct {
	attempt   int
	notBefore time.Time
	single    bool
}

// cost is the true cost of a job.
func (g *modelGroup) cost(i int64) int64 { return 1 + i%g.costs }

func (g *modelGroup) costOf(jobs spillway.Spans) int64 {
	var n int64
	for i := range jobs.All {
		n += g.cost(i)
	}
	return n
}

func (g *modelGroup) done() bool {
	return g.set.Gone || g.set.Sealed && int64(len(g.final)) >= g.set.Total
}

func (m *model) group(id spillway.GroupID) *modelGroup {
	for _, g := range m.groups {
		if g.set.ID == id {
			return g
		}
	}
	return nil
}

// put tells the queue a group's state.
func (m *model) put(g *modelGroup) {
	m.do("put %s v%d %s/%s/%s total=%d sealed=%t paused=%t gone=%t next=%d parked=%d rate=%v conc=%d notBefore=%v expires=%v", g.set.ID, g.set.Version,
		g.set.Tenant, g.set.Resource, g.set.Action, g.set.Total, g.set.Sealed, g.set.Paused, g.set.Gone, g.set.Next, g.set.Parked,
		g.set.Rate, g.set.Concurrency, m.since(g.set.NotBefore), m.since(g.set.Expires))
	m.must(m.q.Put(context.Background(), m.now, []queue.Group{g.set}))
	g.before = append(g.before, g.set)
}

func (m *model) since(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Sub(start).String()
}

// submit makes a new group.
func (m *model) submit() {
	r := m.resources[len(m.resources)-1-m.rng.IntN(3)]
	g := &modelGroup{costs: one(m, int64(1), 1, 3), final: map[int64]bool{}, retry: map[int64]modelRetry{}}
	g.set = queue.Group{
		ID: spillway.GroupID(fmt.Sprintf("g%d", len(m.groups))), Version: 1,
		Tenant: one(m, m.tenants...).ID, Resource: r.set.Name, Action: one(m, m.actions...).Name,
		Total: one(m, int64(1), 10, 150, 2500), Sealed: m.chance(70), Submitted: m.now,
		Priority: one(m, 0, time.Hour, -time.Hour), MaxCost: g.costs,
	}
	if m.chance(20) {
		g.set.Rate = m.rate()
	}
	if m.chance(20) {
		g.set.Concurrency = one(m, int64(1), 20)
	}
	if m.chance(10) {
		g.set.NotBefore = m.now.Add(m.upTo(5 * time.Second))
	}
	if m.chance(5) {
		g.set.Expires = m.now.Add(m.upTo(20 * time.Second))
	}
	m.groups = append(m.groups, g)
	m.configure() // its resource may be forgotten
	m.put(g)
}

// upTo draws a time of whole microseconds below d.
func (m *model) upTo(d time.Duration) time.Duration {
	return time.Duration(m.rng.Int64N(int64(d))).Truncate(time.Microsecond)
}

// change changes a group's state in the ledger, then in the queue.
func (m *model) change() {
	g := one(m, m.groups...)
	if g.set.Gone {
		return
	}
	g.set.Version++
	switch m.rng.IntN(7) {
	case 0, 1:
		g.set.Paused = !g.set.Paused
	case 2:
		g.set.Gone = m.chance(30)
	case 3:
		g.set.Rate = m.rate()
	case 4:
		g.set.Concurrency = one(m, int64(0), 1, 10)
	default:
		if !g.set.Sealed {
			g.set.Total += one(m, int64(1), 100, 1500)
		}
		g.set.Sealed = g.set.Sealed || m.chance(50)
	}
	m.put(g)
}

// stale repeats an older state of a group, as a late caller would.
func (m *model) stale() {
	g := one(m, m.groups...)
	if g.set.Gone || len(g.before) < 2 {
		return
	}
	old := g.before[m.rng.IntN(len(g.before)-1)]
	if old.Version == g.set.Version {
		return
	}
	m.do("put %s late, as v%d", old.ID, old.Version)
	m.must(m.q.Put(context.Background(), m.now, []queue.Group{old}))
}

// reconfigure changes some setting.
func (m *model) reconfigure() {
	r := one(m, m.resources...)
	switch m.rng.IntN(6) {
	case 0:
		r.set.Paused = !r.set.Paused
	case 1:
		r.set.Broken = !r.set.Broken
	case 2:
		if r.set.Rate.N > 0 {
			r.set.Rate.N = one(m, r.set.Rate.N*2, max(3, r.set.Rate.N/2))
		}
	case 3:
		r.set.Concurrency = one(m, int64(0), 1, 30)
	case 4:
		t := one(m, m.tenants...)
		t.Paused = !t.Paused
		t.Weight = one(m, 1.0, 2, 0.25)
	default:
		a := one(m, m.actions...)
		a.Concurrency = one(m, int64(0), 2, 20)
		a.Order = one(m, queue.Shortest, queue.Even)
		a.Batch = one(m, int64(1), 10, 200)
	}
	m.do("configure %+v %+v %+v", r.set, values(m.actions), values(m.tenants))
	m.configure()
}

// values is what pointers point to.
func values[T any](pointers []*T) (out []T) {
	for _, p := range pointers {
		out = append(out, *p)
	}
	return out
}
