package bulk

import (
	"context"
	"sync"
	"time"

	"github.com/spillway/spillway"
)

// A resource's breaker opens when the resource itself cannot be reached, or
// when for breakerWindow every delivery on it failed as a whole, in every group
// that has work in hand there, and in at least breakerGroups: one broken group
// is no sign of a broken resource. While it is open the queue grants one probe
// a second, no attempt is used, and the first delivery that does not fail as a
// whole closes it.
const (
	breakerWindow     = 10 * time.Second
	breakerGroups     = 2
	breakerDeliveries = 10
	// breakerMemory is how many failing groups are told apart.
	breakerMemory = 1000
)

// breaker is what was seen of one resource lately.
type breaker struct {
	opened bool
	cause  string
	// The run of whole failures that goes on now.
	since  time.Time
	failed int
	groups map[spillway.GroupID]bool
}

// breakers is the breakers of the resources that had failures lately.
type breakers struct {
	mu     sync.Mutex
	byName map[spillway.ResourceName]*breaker
}

func (b *breakers) open(name spillway.ResourceName) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := b.byName[name]
	return x != nil && x.opened
}

func (b *breakers) cause(name spillway.ResourceName) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x := b.byName[name]; x != nil {
		return x.cause
	}
	return ""
}

// note takes in how a delivery went, and answers whether the breaker moved.
// inHand lists the groups with work in hand on the resource.
func (b *breakers) note(name spillway.ResourceName, group spillway.GroupID, now time.Time, whole, down bool, cause string, inHand func() []spillway.GroupID) (moved bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := b.byName[name]
	if !whole {
		delete(b.byName, name)
		return x != nil && x.opened
	}
	if x == nil {
		x = &breaker{since: now, groups: map[spillway.GroupID]bool{}}
		b.byName[name] = x
	}
	x.failed++
	if len(x.groups) < breakerMemory {
		x.groups[group] = true
	}
	if x.opened || !down && !x.standing(now, inHand) {
		return false
	}
	x.opened, x.cause = true, cause
	return true
}

// standing reports whether the failures are the resource's, by all signs.
func (x *breaker) standing(now time.Time, inHand func() []spillway.GroupID) bool {
	if now.Sub(x.since) < breakerWindow || x.failed < breakerDeliveries || len(x.groups) < breakerGroups {
		return false
	}
	for _, id := range inHand() {
		if !x.groups[id] {
			return false
		}
	}
	return true
}

// observe tells the resource's breaker how a delivery went.
func (e *Engine) observe(d *delivery, err error) {
	f := asFailure(err)
	down := f != nil && f.Down && d.whole
	cause := ""
	if f != nil {
		cause = f.Reason
	}
	e.metrics.delivered.Add(int64(len(d.batch.Jobs)))
	name := d.lease.Resource
	inHand := func() []spillway.GroupID { return e.leases.groupsOn(name) }
	if !e.breakers.note(name, d.lease.Group, time.Now(), d.whole, down, cause, inHand) {
		return
	}
	if e.breakers.open(name) {
		e.log.Warn("a resource is down; it is probed once a second", "resource", name, "cause", cause)
	} else {
		e.log.Info("a resource works again", "resource", name)
	}
	ctx := context.Background()
	if err := e.configure(ctx, name); err != nil {
		e.log.Warn("the queue does not answer; the resource's state is told again later", "resource", name, "err", err)
	}
	if r, err := e.Resource(ctx, name); err == nil {
		e.events.publish(Event{Type: "resource", Resource: r, At: time.Now()})
	}
}
