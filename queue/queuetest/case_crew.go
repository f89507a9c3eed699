package queuetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// crew is an instance with a number of workers on one resource.
type crew struct {
	*world
	workers int
	took    func(l queue.Lease) time.Duration // how long a lease runs
	out     []running
	ended   map[spillway.TenantID]int // leases that have ended
}

type running struct {
	queue.Lease
	until time.Time
}

func newCrew(w *world, workers int, took func(l queue.Lease) time.Duration) *crew {
	return &crew{world: w, workers: workers, took: took, ended: map[spillway.TenantID]int{}}
}

// hang runs for ever.
func hang(queue.Lease) time.Duration { return time.Hour }

// work settles what has run and claims for every free worker.
func (c *crew) work() {
	c.Helper()
	c.out = slices.DeleteFunc(c.out, func(r running) bool {
		if r.until.After(c.now) {
			return false
		}
		c.done(r.Lease)
		c.ended[r.Tenant]++
		return true
	})
	if len(c.out) == c.workers {
		return
	}
	ask := c.ask(c.workers - len(c.out))
	ask.PerResource, ask.Visibility = c.workers, time.Hour
	for _, l := range c.claim(ask).Leases {
		c.out = append(c.out, running{l, c.now.Add(c.took(l))})
	}
}

// run works for a while.
func (c *crew) run(d time.Duration) {
	c.Helper()
	for end := c.now.Add(d); c.now.Before(end); c.wait(100 * time.Millisecond) {
		c.work()
	}
}

// of is the workers that a tenant has now.
func (c *crew) of(t spillway.TenantID) (n int) {
	for _, r := range c.out {
		if r.Tenant == t {
			n++
		}
	}
	return n
}

// slowAndQuick is how long the leases of two tenants run.
func slowAndQuick(l queue.Lease) time.Duration {
	if l.Tenant == "slow" {
		return 20 * time.Second
	}
	return 300 * time.Millisecond
}

// How a resource's tenants share the workers of an instance.
var crewCases = []testCase{
	{name: "crew/a-quick-tenant-beside-a-slow-one", run: func(w *world) {
		c := newCrew(w, 16, slowAndQuick)
		w.put(groupOf(w, "slow", "s", 1_000_000), groupOf(w, "quick", "q", 1_000_000))
		c.run(100 * time.Second)
		equal(w, "workers of the slow one", c.of("slow"), 8)
		within(w, "leases of the slow one", int64(c.ended["slow"]), 30, 40)
		within(w, "leases of the quick one", int64(c.ended["quick"]), 8*300, 8*334)
	}},
	{name: "crew/also-where-the-quick-one-comes-and-goes", run: func(w *world) {
		c := newCrew(w, 16, slowAndQuick)
		w.put(groupOf(w, "slow", "s", 1_000_000))
		for i := range 40 { // five seconds each
			w.put(groupOf(w, "quick", fmt.Sprint("q", i), 20))
			c.run(5 * time.Second)
		}
		c.run(20 * time.Second)
		equal(w, "leases of the quick one", c.ended["quick"], 800)
		within(w, "leases of the slow one", int64(c.ended["slow"]), 100, 160)
	}},
	{name: "crew/across-actions", run: func(w *world) {
		w.actions = []spillway.ActionName{"act", "other"}
		c := newCrew(w, 16, slowAndQuick)
		other := groupOf(w, "slow", "o", 1_000_000)
		other.Action = "other"
		w.put(groupOf(w, "slow", "s", 1_000_000), other, groupOf(w, "quick", "q", 1_000_000))
		c.run(30 * time.Second)
		equal(w, "workers of the slow one", c.of("slow"), 8)
	}},
	{name: "crew/by-weight", run: func(w *world) {
		w.tenant(queue.Tenant{ID: "heavy", Weight: 3})
		c := newCrew(w, 16, hang)
		w.put(groupOf(w, "heavy", "h", 100), groupOf(w, "light", "l", 100))
		c.work()
		equal(w, "workers of the heavy one", c.of("heavy"), 12)
		equal(w, "workers of the light one", c.of("light"), 4)
	}},
	{name: "crew/at-least-one-each", run: func(w *world) {
		w.tenant(queue.Tenant{ID: "heavy", Weight: 100})
		c := newCrew(w, 4, hang)
		w.put(groupOf(w, "heavy", "h", 100), groupOf(w, "a", "a", 100), groupOf(w, "b", "b", 100))
		c.work()
		equal(w, "workers of the heavy one", c.of("heavy"), 2)
		equal(w, "workers of the others", c.of("a")+c.of("b"), 2)
	}},
	{name: "crew/more-tenants-than-workers", run: func(w *world) {
		c := newCrew(w, 16, hang)
		for i := range 50 {
			w.put(groupOf(w, fmt.Sprint("t", i), fmt.Sprint("g", i), 100))
		}
		c.work()
		for _, r := range c.out {
			equal(w, "workers of "+string(r.Tenant), c.of(r.Tenant), 1)
		}
		equal(w, "workers", len(c.out), 16)
	}},
	{name: "crew/what-does-not-divide-is-used", run: func(w *world) {
		c := newCrew(w, 16, hang)
		for _, id := range []string{"a", "b", "c"} {
			w.put(groupOf(w, id, id, 100))
		}
		c.work()
		equal(w, "workers", len(c.out), 16)
		for _, id := range []spillway.TenantID{"a", "b", "c"} {
			within(w, "workers of "+string(id), int64(c.of(id)), 5, 6)
		}
	}},
	{name: "crew/alone-uses-all", run: func(w *world) {
		c := newCrew(w, 16, hang)
		w.put(groupOf(w, "a", "a", 100), groupOf(w, "idle", "i", 0))
		c.work()
		equal(w, "workers", c.of("a"), 16)
	}},
	{name: "crew/what-others-do-not-want-is-shared", run: func(w *world) {
		w.tenant(queue.Tenant{ID: "b", Weight: 2})
		c := newCrew(w, 16, hang)
		for i := range 4 { // each has one lease out, and no more
			w.put(groupOf(w, fmt.Sprint("small", i), fmt.Sprint("s", i), 1))
		}
		w.put(groupOf(w, "a", "a", 100), groupOf(w, "b", "b", 100))
		c.work()
		equal(w, "workers of a", c.of("a"), 4)
		equal(w, "workers of b", c.of("b"), 8)
	}},
	{name: "crew/a-newcomer-gets-the-next-that-is-free", run: func(w *world) {
		c := newCrew(w, 4, hang)
		w.put(groupOf(w, "old", "o", 100))
		c.work()
		equal(w, "workers of the old one", c.of("old"), 4)
		w.put(groupOf(w, "new", "n", 100))
		for i, want := range []int{1, 2, 2} {
			k := slices.IndexFunc(c.out, func(r running) bool { return r.Tenant == "old" })
			c.out[k].until = w.now
			c.work()
			equal(w, fmt.Sprint("workers of the new one after ", i+1), c.of("new"), want)
		}
	}},
	{name: "crew/a-changed-weight-counts-at-once", run: func(w *world) {
		c := newCrew(w, 4, hang)
		w.put(groupOf(w, "a", "a", 100), groupOf(w, "b", "b", 100))
		c.work()
		w.tenant(queue.Tenant{ID: "a", Weight: 3})
		k := slices.IndexFunc(c.out, func(r running) bool { return r.Tenant == "b" })
		c.out[k].until = w.now
		c.work()
		equal(w, "workers of a", c.of("a"), 3)
	}},
	{name: "crew/instances-count-apart", run: func(w *world) {
		w.put(groupOf(w, "a", "a", 100), groupOf(w, "b", "b", 100))
		for _, instance := range []string{"i1", "i2"} {
			ask := w.ask(10)
			ask.Instance, ask.PerResource = instance, 10
			of := map[spillway.TenantID]int{}
			for _, l := range w.claim(ask).Leases {
				of[l.Tenant]++
			}
			equal(w, "a at "+instance, of["a"], 5)
			equal(w, "b at "+instance, of["b"], 5)
		}
	}},
	{name: "crew/of-one-tenant-is-not-shared", run: func(w *world) {
		w.put(groupOf(w, "a", "a", 100), groupOf(w, "b", "b", 100))
		ask := w.ask(10)
		ask.PerResource, ask.Tenant = 10, "a"
		equal(w, "leases", len(w.claim(ask).Leases), 10)
	}},
	{name: "crew/a-rate-is-shared-evenly-while-workers-are-free", run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Rate: perSecond(20)})
		c := newCrew(w, 40, func(l queue.Lease) time.Duration {
			if l.Tenant == "slow" {
				return 2500 * time.Millisecond // it needs 25 workers
			}
			return 100 * time.Millisecond
		})
		w.put(groupOf(w, "slow", "s", 1_000_000), groupOf(w, "quick", "q", 1_000_000))
		c.run(30 * time.Second)
		within(w, "leases of the slow one", int64(c.ended["slow"]), 255, 300)
		within(w, "leases of the quick one", int64(c.ended["quick"]), 280, 305)
	}},
	{name: "crew/a-rate-does-not-give-all-workers-to-one", run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Rate: perSecond(20)})
		c := newCrew(w, 16, slowAndQuick)
		w.put(groupOf(w, "slow", "s", 1_000_000), groupOf(w, "quick", "q", 1_000_000))
		c.run(100 * time.Second)
		within(w, "workers of the slow one", int64(c.of("slow")), 8, 12)
		within(w, "leases of the quick one", int64(c.ended["quick"]), 1000, 2000)
	}},
}
