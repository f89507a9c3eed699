package memqueue

import (
	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// resource is a resource with everything that decides what it grants next.
type resource struct {
	set        queue.Resource
	configured bool
	children   int // resources whose parent this is
	parent     *resource
	limit      limit
	block      block // of the parent's tokens

	fair    flow.Fair
	shares  map[spillway.TenantID]*share
	idle    heap[*share, byDebt] // without groups, not yet forgotten
	tenants int                  // active
	weights float64              // of the active tenants

	lanes  []*lane
	seats  []*seat
	groups int

	running int64 // jobs in leases
	leases  int
	holders map[string]int // leases by instance
	search  []*line        // room for a crew's search
	waiting int64          // jobs in retry entries
	granted int64          // cost, ever
	served  int64          // when it was last granted from, by count

	nextProbe flow.Time

	inUnused int32
}

// lane is the groups of one action on one resource.
type lane struct {
	resource *resource
	action   *action
	lines    heap[*line, byTurn]  // with ready groups
	timers   heap[*group, byWake] // become ready by themselves
	sound    heap[*group, byRest] // ready, last delivery not failed whole; while broken
}

// action is an action's settings and the jobs of it in flight.
type action struct {
	set        queue.Action
	configured bool
	running    int64
	lanes      int
	// mixed are the resources on which it meets other actions.
	mixed map[*resource]struct{}
}

func (a *action) full() bool { return a.set.Concurrency > 0 && a.running >= a.set.Concurrency }

func (a *action) order() int {
	if a.set.Order == queue.Even {
		return even
	}
	return shortest
}

func (a *action) batch() int64 {
	n := max(1, min(a.set.Batch, spillway.ChunkSize))
	if a.set.Concurrency > 0 {
		n = min(n, a.set.Concurrency)
	}
	return n
}

func (r *resource) full() bool {
	return r.set.Concurrency > 0 && r.running >= r.set.Concurrency
}

// stopped says that the resource grants nothing until its settings change.
func (r *resource) stopped() bool {
	return r.set.Paused || r.parent != nil && r.parent.set.Paused
}

func (r *resource) weight() float64 {
	if r.set.Weight > 0 {
		return r.set.Weight
	}
	return 1
}

func (r *resource) maxParked() int64 {
	if r.set.MaxParked > 0 {
		return r.set.MaxParked
	}
	return queue.MaxParked
}

// mark makes every view look at the resource again.
func (r *resource) mark() {
	for _, s := range r.seats {
		s.mark()
	}
}

// resource returns a resource, made if needed.
func (q *Queue) resource(name spillway.ResourceName) *resource {
	r := q.resources[name]
	if r == nil {
		r = &resource{
			set:     queue.Resource{Name: name},
			served:  q.count(),
			shares:  map[spillway.TenantID]*share{},
			holders: map[string]int{},
		}
		q.resources[name] = r
	}
	return r
}

// dropResource forgets a resource that nothing refers to: at once, or, if its
// settings were told, once they would have to be told again and its limiter
// remembers nothing.
func (q *Queue) dropResource(r *resource) {
	if r.groups > 0 || r.children > 0 {
		return
	}
	if !r.configured {
		q.removeResource(r)
		return
	}
	from := q.now
	if !q.fresh {
		from = max(from, q.epoch) // a new limiter would start spent
	}
	keep := max(queue.KeepUnused, r.limit.rate.Per)
	q.unused.set(r, float64(from.Add(keep)), r.served)
}

// removeResource takes an unused resource out of everything.
func (q *Queue) removeResource(r *resource) {
	q.unused.remove(r)
	for _, s := range r.seats {
		s.view.drop(s)
	}
	for _, l := range r.lanes {
		delete(l.action.mixed, r)
		l.action.lanes--
		q.dropAction(l.action)
	}
	delete(q.resources, r.set.Name)
	if p := r.parent; p != nil {
		p.children--
		q.dropResource(p)
	}
}

// byEnd orders unused resources by when they are forgotten.
type byEnd struct{}

func (byEnd) place(r *resource) *int32 { return &r.inUnused }

func (q *Queue) action(name spillway.ActionName) *action {
	a := q.actions[name]
	if a == nil {
		a = &action{set: queue.Action{Name: name}, mixed: map[*resource]struct{}{}}
		q.actions[name] = a
	}
	return a
}

func (q *Queue) dropAction(a *action) {
	if a.lanes == 0 && !a.configured && !q.claimed(a) {
		delete(q.actions, a.set.Name)
	}
}

// lane returns an action's lane on a resource, made if needed and shown to the
// views that claim the action.
func (q *Queue) lane(r *resource, a *action) *lane {
	for _, l := range r.lanes {
		if l.action == a {
			return l
		}
	}
	l := &lane{resource: r, action: a}
	a.lanes++
	r.lanes = append(r.lanes, l)
	if len(r.lanes) > 1 {
		for _, x := range r.lanes {
			x.action.mixed[r] = struct{}{}
		}
	}
	for _, v := range q.views {
		v.show(l)
	}
	return l
}

// run counts jobs that start (or, negative, end). Where the action meets others
// on a resource, what is picked depends on whether the action is full.
func (a *action) run(jobs int64) {
	was := a.full()
	a.running += jobs
	if a.full() != was {
		a.remark()
	}
}

func (a *action) remark() {
	for r := range a.mixed {
		r.mark()
	}
}

// hold counts a lease that starts (or, negative, ends) on an instance.
func (r *resource) hold(instance string, leases int) {
	if r.holders[instance] += leases; r.holders[instance] == 0 {
		delete(r.holders, instance)
	}
}
