package memqueue

import (
	"slices"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// maxViews is how many shapes of claims are kept ready. Each instance claims in
// one or two shapes; one beyond costs a pass over the resources with work.
const maxViews = 64

// view is one shape of Claim, with the resources that have something for it by
// the time of what they grant next.
type view struct {
	instance    string
	names       []spillway.ActionName
	actions     []*action
	tenant      spillway.TenantID
	maxJobs     int64
	perResource int

	sets  []set // one per action
	dirty []*seat
}

// set is the seats whose next grant is of one action. While the action is full
// the whole set is passed over.
type set struct {
	due  heap[*seat, byLoad]
	wait heap[*seat, byTime]
}

// seat is a resource's place in a view.
type seat struct {
	view     *view
	resource *resource
	lanes    []*lane // of the view's actions

	set    int // index in view.sets
	pick   pick
	seenAt flow.Time // when pick was made
	dirty  bool
	gone   bool

	inDue, inWait int32
}

// byLoad: fewest running leases per weight first, then the longest unserved.
type byLoad struct{}

func (byLoad) place(s *seat) *int32 { return &s.inDue }

// byTime: the earliest next grant first.
type byTime struct{}

func (byTime) place(s *seat) *int32 { return &s.inWait }

// mark asks for the seat to be looked at again.
func (s *seat) mark() {
	if !s.dirty {
		s.dirty = true
		s.view.dirty = append(s.view.dirty, s)
	}
}

// view returns the view of a claim's shape, built if it is new.
func (q *Queue) view(c queue.Claim) *view {
	for i, v := range q.views {
		if v.fits(c) {
			copy(q.views[1:i+1], q.views[:i])
			q.views[0] = v
			return v
		}
	}
	if len(q.views) >= maxViews {
		q.evict(q.views[len(q.views)-1])
	}
	v := &view{
		instance: c.Instance, names: slices.Clone(c.Actions), tenant: c.Tenant,
		maxJobs: c.MaxJobs, perResource: c.PerResource,
		sets: make([]set, len(c.Actions)),
	}
	for _, name := range c.Actions {
		v.actions = append(v.actions, q.action(name))
	}
	q.views = slices.Insert(q.views, 0, v)
	for _, r := range q.resources {
		for _, l := range r.lanes {
			v.show(l)
		}
	}
	return v
}

func (v *view) fits(c queue.Claim) bool {
	return v.instance == c.Instance && v.tenant == c.Tenant && v.maxJobs == c.MaxJobs &&
		v.perResource == c.PerResource && slices.Equal(v.names, c.Actions)
}

func (q *Queue) evict(v *view) {
	q.views = slices.DeleteFunc(q.views, func(x *view) bool { return x == v })
	for _, r := range q.resources {
		r.seats = slices.DeleteFunc(r.seats, func(s *seat) bool { return s.view == v })
	}
	for _, a := range v.actions {
		q.dropAction(a)
	}
}

// claimed says that a view names the action.
func (q *Queue) claimed(a *action) bool {
	for _, v := range q.views {
		if slices.Contains(v.actions, a) {
			return true
		}
	}
	return false
}

// show gives a lane's resource a seat in the view if the view claims its action.
func (v *view) show(l *lane) {
	if !slices.Contains(v.actions, l.action) {
		return
	}
	i := slices.IndexFunc(l.resource.seats, func(s *seat) bool { return s.view == v })
	if i < 0 {
		i = len(l.resource.seats)
		l.resource.seats = append(l.resource.seats, &seat{view: v, resource: l.resource})
	}
	s := l.resource.seats[i]
	s.lanes = append(s.lanes, l)
	s.mark()
}

// drop takes a seat out of the view.
func (v *view) drop(s *seat) {
	v.sets[s.set].due.remove(s)
	v.sets[s.set].wait.remove(s)
	s.gone = true
}

// refresh looks again at every seat that has changed or whose time has come.
func (v *view) refresh(q *Queue) {
	for i := 0; i < len(v.dirty); i++ {
		s := v.dirty[i]
		s.dirty = false
		v.look(q, s)
	}
	clear(v.dirty)
	v.dirty = v.dirty[:0]
	for i := range v.sets {
		if v.actions[i].full() {
			continue
		}
		for s := v.sets[i].wait.top(); s != nil && s.pick.at <= q.now; s = v.sets[i].wait.top() {
			v.look(q, s)
		}
	}
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
	v.sets[s.set].due.remove(s)
	v.sets[s.set].wait.remove(s)
	r := s.resource
	running := r.holders[v.instance]
	if r.stopped() || r.full() || v.perResource > 0 && running >= v.perResource {
		return
	}
	s.pick = q.pick(r, s.lanes, demand{tenant: v.tenant, maxJobs: v.maxJobs})
	s.seenAt = q.now
	if s.pick.at == flow.Never {
		return
	}
	s.set = slices.Index(v.actions, s.pick.lane.action)
	set := &v.sets[s.set]
	if s.pick.group == nil || s.pick.at > q.now {
		set.wait.set(s, float64(s.pick.at), r.served)
		return
	}
	set.due.set(s, float64(running)/r.weight(), r.served)
}

// next is the seat to grant from now, or nil.
func (v *view) next(q *Queue) *seat {
	v.refresh(q)
	for {
		var best *seat
		var least key
		for i := range v.sets {
			due := &v.sets[i].due
			if due.len() > 0 && !v.actions[i].full() && (best == nil || due.next().less(least)) {
				best, least = due.top(), due.next()
			}
		}
		// A pick stays right while nothing but time and the parent moves.
		if best == nil || best.seenAt == q.now && best.resource.parent == nil {
			return best
		}
		v.look(q, best)
		if best.inDue > 0 && best.seenAt == q.now {
			return best
		}
	}
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
