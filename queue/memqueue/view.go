package memqueue

import (
	"slices"

	"github.com/spillway/spillway"
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
	gone  int // of the dirty, at most
}

// view returns the view of a claim's shape, built if it is new.
func (q *Queue) view(c queue.Claim) *view {
	c.MaxJobs = q.bound(c)
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

// bound is the claim's MaxJobs, or 0 if no batch is larger, so that claims with
// room for every batch share a view.
func (q *Queue) bound(c queue.Claim) int64 {
	if c.MaxJobs <= 0 {
		return 0
	}
	for _, name := range c.Actions {
		if a := q.actions[name]; a != nil && a.batch() > c.MaxJobs {
			return c.MaxJobs
		}
	}
	return 0
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
