package memqueue

import (
	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// tenant is a tenant's settings, kept while configured or used.
type tenant struct {
	set        queue.Tenant
	configured bool
	shares     int
}

func (t *tenant) weight() float64 {
	if t.set.Weight > 0 {
		return t.set.Weight
	}
	return 1
}

// share is a tenant's part in one resource.
type share struct {
	resource *resource
	tenant   *tenant
	seq      int64   // by arrival
	v        float64 // virtual time among the resource's tenants
	lines    []*line
	groups   int
	crews    []crewed // its leases by instance

	// A tenant's two lanes, shortest-first and even groups, are served fairly.
	between flow.Fair
	orders  [2]struct {
		v     float64
		lines int // that have ready groups
	}
	even  flow.Fair // among the tenant's even groups
	turns int       // grants to shortest-first groups

	// active counts groups that are ready, in flight or wait for capacity.
	active, activeEven int
	counted            float64 // weight counted in the resource's; 0 is none

	inIdle int32
}

// The index of an order in share.orders.
const (
	shortest = iota
	even
)

// line is a tenant's groups of one action on one resource.
type line struct {
	lane   *lane
	share  *share
	first  heap[*group, byKey]
	oldest heap[*group, byAge] // of shortest-first groups only
	inLane int32
}

func (l *line) order() int { return l.lane.action.order() }

// byTurn orders a lane's lines: the tenant with the least virtual time first.
type byTurn struct{}

func (byTurn) place(l *line) *int32 { return &l.inLane }

// byDebt orders idle shares by when they can be forgotten.
type byDebt struct{}

func (byDebt) place(s *share) *int32 { return &s.inIdle }

// setReady puts a group among those that can be picked, or takes it out.
func (l *line) setReady(g *group, ready bool) {
	if was := g.inFirst > 0; was == ready {
		if ready {
			l.reorder(g)
		}
		return
	}
	if !ready {
		l.leave(g)
		return
	}
	s := l.share
	if l.first.len() == 0 {
		l.open()
	}
	if l.order() == even {
		g.key = s.even.Join(g.key)
	} else {
		g.key = g.score()
		l.oldest.set(g, float64(g.submitted), g.seq)
	}
	l.first.set(g, g.key, g.seq)
}

// open makes the line one that can be picked, joining the fair queues that the
// tenant was not waiting in.
func (l *line) open() {
	s, o := l.share, &l.share.orders[l.order()]
	if s.orders[shortest].lines+s.orders[even].lines == 0 {
		s.v = s.resource.fair.Join(s.v)
	}
	if o.lines == 0 {
		o.v = s.between.Join(o.v)
	}
	o.lines++
	l.lane.lines.set(l, s.v, s.seq)
}

func (l *line) leave(g *group) {
	l.first.remove(g)
	l.oldest.remove(g)
	if l.first.len() == 0 {
		l.share.orders[l.order()].lines--
		l.lane.lines.remove(l)
	}
}

// reorder restores the place of a group whose key may have changed.
func (l *line) reorder(g *group) {
	if l.order() == shortest {
		g.key = g.score()
	}
	l.first.set(g, g.key, g.seq)
}

// moved restores the order of the lanes after the share's v has changed.
func (s *share) moved() {
	for _, l := range s.lines {
		if l.inLane > 0 {
			l.lane.lines.set(l, s.v, s.seq)
		}
	}
}

// charge records that a group of the share was picked and granted cost.
func (s *share) charge(g *group, cost int64) {
	s.v = s.resource.fair.Charge(s.v, cost, s.tenant.weight())
	o := &s.orders[g.line.order()]
	o.v = s.between.Charge(o.v, cost, 1)
	if g.line.order() == even {
		g.key = s.even.Charge(g.key, cost, flow.EvenWeight(g.priority))
	} else {
		s.turns++
	}
	s.moved()
}

// uncharge takes back what a grant was charged too much, but earns no credit
// over those who wait.
func (s *share) uncharge(g *group, cost int64) {
	s.v = lower(s.v, s.resource.fair.V, float64(cost)/s.tenant.weight())
	o := &s.orders[g.line.order()]
	o.v = lower(o.v, s.between.V, float64(cost))
	if g.line.order() == even {
		g.key = lower(g.key, s.even.V, float64(cost)/flow.EvenWeight(g.priority))
	}
	s.moved()
}

// lower is v less d, not below floor unless it was.
func lower(v, floor, d float64) float64 { return max(v-d, min(v, floor)) }

// setActive counts a group among the active ones, or no longer.
func (s *share) setActive(g *group, active bool) {
	if g.active == active {
		return
	}
	g.active = active
	d := 1
	if !active {
		d = -1
	}
	s.active += d
	if g.line.order() == even {
		s.activeEven += d
	}
	s.recount()
}

// recount keeps the resource's sum of active weights.
func (s *share) recount() {
	want := 0.0
	if s.active > 0 && !s.tenant.set.Paused {
		want = s.tenant.weight()
	}
	if want == s.counted {
		return
	}
	r := s.resource
	switch {
	case s.counted == 0:
		r.tenants++
	case want == 0:
		r.tenants--
	}
	r.weights += want - s.counted
	if r.tenants == 0 {
		r.weights = 0
	}
	s.counted = want
}

// lineOf returns the share's line of a lane, or nil.
func (s *share) lineOf(l *lane) *line {
	for _, x := range s.lines {
		if x.lane == l {
			return x
		}
	}
	return nil
}

// share returns a tenant's share of a resource, made if needed.
func (q *Queue) share(r *resource, id spillway.TenantID) *share {
	s := r.shares[id]
	if s == nil {
		s = &share{resource: r, tenant: q.tenant(id), seq: q.count()}
		s.tenant.shares++
		r.shares[id] = s
	}
	r.idle.remove(s)
	return s
}

// retire keeps a share without groups for as long as it owes.
func (q *Queue) retire(s *share) {
	s.resource.idle.set(s, s.v, s.seq)
	q.forget(s.resource)
}

// forget drops the idle shares that virtual time has passed.
func (q *Queue) forget(r *resource) {
	for s := r.idle.top(); s != nil && (r.groups == 0 || r.fair.Forgets(s.v)); s = r.idle.top() {
		q.dropShare(s)
	}
	if r.groups == 0 {
		r.fair = flow.Fair{}
	}
}

// dropShare forgets a share.
func (q *Queue) dropShare(s *share) {
	s.resource.idle.remove(s)
	delete(s.resource.shares, s.tenant.set.ID)
	s.tenant.shares--
	q.dropTenant(s.tenant)
}

func (q *Queue) tenant(id spillway.TenantID) *tenant {
	t := q.tenants[id]
	if t == nil {
		t = &tenant{set: queue.Tenant{ID: id}}
		q.tenants[id] = t
	}
	return t
}

func (q *Queue) dropTenant(t *tenant) {
	if t.shares == 0 && !t.configured {
		delete(q.tenants, t.set.ID)
	}
}
