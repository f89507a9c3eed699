package memqueue

import (
	"context"
	"time"

	"github.com/spillway/spillway/queue"
)

// Configure implements queue.Queue. A changed rate costs little; what changes
// who may run at all looks at every group that it concerns.
func (q *Queue) Configure(_ context.Context, now time.Time, s queue.Settings) error {
	if err := q.enter(now); err != nil {
		return err
	}
	defer q.mu.Unlock()
	for _, x := range s.Tenants {
		q.setTenant(x)
	}
	for _, x := range s.Actions {
		q.setAction(x)
	}
	for _, x := range s.Resources {
		q.setResource(x)
	}
	return nil
}

func (q *Queue) setTenant(x queue.Tenant) {
	t := q.tenant(x.ID)
	t.configured = true
	was := t.set
	t.set = x
	if was == x || t.shares == 0 {
		return
	}
	for _, r := range q.resources {
		if s := r.shares[x.ID]; s != nil {
			s.recount()
			r.mark()
		}
	}
	if was.Paused != x.Paused {
		q.replace(func(g *group) bool { return g.share().tenant == t })
	}
}

func (q *Queue) setAction(x queue.Action) {
	a := q.action(x.Name)
	a.configured = true
	was, order := a.set, a.order()
	if was == x {
		return
	}
	ofAction := func(g *group) bool { return g.line.lane.action == a }
	a.set = x
	if a.order() != order {
		a.set = was
		q.unplace(ofAction)
		a.set = x
		q.replace(ofAction)
	}
	for _, r := range q.resources {
		if r.hasLane(a) {
			r.mark()
		}
	}
}

func (r *resource) hasLane(a *action) bool {
	for _, l := range r.lanes {
		if l.action == a {
			return true
		}
	}
	return false
}

func (q *Queue) setResource(x queue.Resource) {
	r := q.resource(x.Name)
	r.configured = true
	was := r.set
	r.set = x
	q.setParent(r, x)
	r.limit.change(x.Rate, x.Window, q.now, q.spentBefore(x.Rate), q.epoch)
	q.dropResource(r)
	if was.Broken != x.Broken || was.MaxParked != x.MaxParked {
		q.replace(func(g *group) bool { return g.resource() == r })
	}
	r.mark()
	if r.children > 0 {
		for _, child := range q.resources {
			if child.parent == r {
				child.mark()
			}
		}
	}
}

func (q *Queue) setParent(r *resource, x queue.Resource) {
	var parent *resource
	if x.Parent != "" && x.Parent != x.Name {
		parent = q.resource(x.Parent)
	}
	if parent == r.parent {
		return
	}
	if old := r.parent; old != nil {
		old.children--
		r.parent, r.block = nil, block{}
		q.dropResource(old)
	}
	if r.parent = parent; parent != nil {
		parent.children++
		q.unused.remove(parent)
	}
}

// replace places again the groups that a change of settings concerns.
func (q *Queue) replace(concerned func(*group) bool) {
	for _, g := range q.groups {
		if concerned(g) {
			q.place(g)
		}
	}
}

// unplace takes groups out of every order before the order changes.
func (q *Queue) unplace(concerned func(*group) bool) {
	for _, g := range q.groups {
		if concerned(g) {
			g.line.setReady(g, false)
			g.share().setActive(g, false)
			g.key = 0
		}
	}
}
