package memqueue

import (
	"slices"

	"github.com/spillway/spillway/flow"
)

// seat is a resource's place in a view.
type seat struct {
	view     *view
	resource *resource
	lanes    []*lane // of the view's actions

	set    int // index in view.sets
	gate   *gate
	pick   pick
	seenAt flow.Time // when pick was made
	dirty  bool
	gone   bool

	inDue, inWait, inGate int32
}

// set is the seats whose next grant is of one action. While the action is full
// the whole set is passed over.
type set struct {
	due   heap[*seat, byLoad]
	wait  heap[*seat, byTime]
	gates map[*resource]*gate // by parent
}

// gate is the seats that wait for blocks of one parent. Only the first of them
// stands among the due or the waiting: the next block is its.
type gate struct {
	parent *resource
	seats  heap[*seat, byRank]
	first  *seat
}

// The orders of seats.
type (
	byLoad struct{} // fewest running leases per weight, then the longest unserved
	byRank struct{} // the same, within a gate
	byTime struct{} // the earliest next grant
)

func (byLoad) place(s *seat) *int32 { return &s.inDue }
func (byRank) place(s *seat) *int32 { return &s.inGate }
func (byTime) place(s *seat) *int32 { return &s.inWait }

// load is the running leases of the view's instance per weight.
func (s *seat) load() float64 {
	return float64(s.resource.holders[s.view.instance]) / s.resource.weight()
}

// mark asks for the seat to be looked at again.
func (s *seat) mark() {
	if !s.dirty {
		s.dirty = true
		s.view.dirty = append(s.view.dirty, s)
	}
}

// drop takes a seat out of the view for good.
func (v *view) drop(s *seat) {
	v.leave(s)
	s.gone = true
	if v.gone++; v.gone > 64 && v.gone > len(v.dirty)/2 {
		v.dirty = slices.DeleteFunc(v.dirty, func(s *seat) bool { return s.gone })
		v.gone = 0
	}
}

// leave takes a seat out of every order.
func (v *view) leave(s *seat) {
	set := &v.sets[s.set]
	set.due.remove(s)
	set.wait.remove(s)
	g := s.gate
	if g == nil {
		return
	}
	s.gate = nil
	g.seats.remove(s)
	if g.first == s {
		g.first = g.seats.top()
		set.stand(g.first)
	}
	if g.first == nil {
		delete(set.gates, g.parent)
	}
}

// stand puts a seat among the waiting by the time that it knows, which may have
// come: then it is looked at again.
func (t *set) stand(s *seat) {
	if s != nil {
		t.wait.set(s, float64(s.pick.at), s.resource.served)
	}
}

// enter puts a seat where its pick belongs.
func (v *view) enter(s *seat, now flow.Time) {
	set := &v.sets[s.set]
	if s.pick.gated && !set.first(s) {
		return
	}
	if s.pick.group == nil || s.pick.at > now {
		set.stand(s)
		return
	}
	set.due.set(s, s.load(), s.resource.served)
}

// first puts a seat in its parent's gate and says whether it is the first there.
func (t *set) first(s *seat) bool {
	g := t.gates[s.resource.parent]
	if g == nil {
		if t.gates == nil {
			t.gates = map[*resource]*gate{}
		}
		g = &gate{parent: s.resource.parent}
		t.gates[g.parent] = g
	}
	s.gate = g
	g.seats.set(s, s.load(), s.resource.served)
	if g.seats.top() != s {
		return false
	}
	if g.first != nil {
		t.due.remove(g.first)
		t.wait.remove(g.first)
	}
	g.first = s
	return true
}

// look finds out what a seat grants next, and when.
func (v *view) look(q *Queue, s *seat) {
	if s.gone {
		return
	}
	// Looking moves groups, which marks their seats; this one needs no mark.
	was := s.dirty
	s.dirty = true
	defer func() { s.dirty = was }()
	v.leave(s)
	r := s.resource
	if r.stopped() || r.full() || v.perResource > 0 && r.holders[v.instance] >= v.perResource {
		return
	}
	s.pick = q.pick(r, s.lanes, demand{
		tenant: v.tenant, maxJobs: v.maxJobs, workers: v.perResource, instance: v.instance,
	})
	s.seenAt = q.now
	if s.pick.at == flow.Never {
		return
	}
	s.set = slices.Index(v.actions, s.pick.lane.action)
	v.enter(s, q.now)
}

// refresh looks again at every seat that has changed or whose time has come.
func (v *view) refresh(q *Queue) {
	for i := 0; i < len(v.dirty); i++ {
		s := v.dirty[i]
		s.dirty = false
		v.look(q, s)
	}
	clear(v.dirty)
	v.dirty, v.gone = v.dirty[:0], 0
	for i := range v.sets {
		if v.actions[i].full() {
			continue
		}
		wait := &v.sets[i].wait
		for s := wait.top(); s != nil && s.pick.at <= q.now; s = wait.top() {
			v.look(q, s)
		}
	}
}

// next is the seat to grant from now, or nil.
func (v *view) next(q *Queue) *seat {
	for {
		v.refresh(q)
		best := v.best()
		// A pick stays right while nothing but time and the parent moves.
		if best == nil || best.seenAt == q.now && best.resource.parent == nil {
			return best
		}
		v.look(q, best)
		if best.inDue > 0 && best == v.best() {
			return best
		}
	}
}

// best is the due seat with the least load.
func (v *view) best() *seat {
	var best *seat
	var least key
	for i := range v.sets {
		due := &v.sets[i].due
		if due.len() > 0 && !v.actions[i].full() && (best == nil || due.next().less(least)) {
			best, least = due.top(), due.next()
		}
	}
	return best
}

// wake is when a seat that waits now can grant, or Never.
func (v *view) wake() flow.Time {
	at := flow.Never
	for i := range v.sets {
		if s := v.sets[i].wait.top(); s != nil && !v.actions[i].full() {
			at = min(at, s.pick.at)
		}
	}
	return at
}
