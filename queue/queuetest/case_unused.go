package queuetest

import (
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// known says whether the queue knows a resource.
func (w *world) known(name spillway.ResourceName) bool {
	w.Helper()
	got, err := w.q.Stats(w.Context(), w.now, queue.Query{AllResources: true})
	w.must(err)
	_, known := got.Resources[name]
	return known
}

// leave ends a group.
func (w *world) leave(g queue.Group) {
	w.Helper()
	g.Version++
	g.Gone = true
	w.put(g)
}

// When resources are forgotten.
var unusedCases = []testCase{
	{name: "unused/forgotten-with-its-settings", run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Rate: perSecond(1), Paused: true})
		w.wait(queue.KeepUnused - time.Second)
		equal(w, "known", w.known("res"), true)
		w.wait(time.Second)
		equal(w, "known", w.known("res"), false)
		w.put(w.group("g", 10)) // nobody told the settings
		equal(w, "leases", len(w.some(5)), 5)
	}},
	{name: "unused/kept-so-long-after-its-last-group", run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Concurrency: 1})
		g := w.group("g", 10)
		w.put(g)
		w.wait(3 * queue.KeepUnused)
		l := w.one()
		w.leave(g)
		w.wait(3 * queue.KeepUnused) // the lease is still out
		w.done(l)
		w.wait(queue.KeepUnused - time.Second)
		w.put(w.group("h", 10))
		equal(w, "leases", len(w.some(5)), 1)
		w.wait(3 * queue.KeepUnused)
		equal(w, "known while a group uses it", w.known("res"), true)
	}},
	{name: "unused/told-again-is-kept-anew", run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Concurrency: 1})
		w.wait(queue.KeepUnused - time.Second)
		w.resource(queue.Resource{Name: "res", Concurrency: 2})
		w.wait(queue.KeepUnused - time.Second)
		w.put(w.group("g", 10))
		equal(w, "leases", len(w.some(5)), 2)
	}},
	{name: "unused/kept-while-its-rate-remembers", run: func(w *world) {
		hourly := queue.Resource{Name: "res", Rate: flow.Rate{N: 1, Per: time.Hour}}
		w.resource(hourly)
		g := w.group("g", 1)
		w.put(g)
		w.done(w.one())
		w.leave(g)
		w.wait(time.Hour - time.Second)
		w.resource(hourly)
		w.put(w.group("h", 1))
		equal(w, "wait", w.none(), time.Second)
	}},
	{name: "unused/a-parent-is-kept-for-its-children", run: func(w *world) {
		w.configure(queue.Settings{Resources: []queue.Resource{{Name: "par", Rate: perSecond(10)}, {Name: "res", Parent: "par"}}})
		g := w.group("g", 1000)
		w.put(g)
		w.wait(3 * queue.KeepUnused)
		within(w, "leases in one instant", int64(len(w.some(20))), 1, 3)
		w.leave(g)
		for _, l := range w.some(1) {
			w.Fatalf("%s is granted of a group that is gone", l.ID)
		}
		w.wait(3 * queue.KeepUnused)
		equal(w, "known", w.known("par"), true) // the lease is still out
		for _, l := range w.reclaim() {
			w.done(l)
		}
		w.wait(queue.KeepUnused)
		equal(w, "known", w.known("res"), false)
		w.wait(queue.KeepUnused)
		equal(w, "known", w.known("par"), false)
	}},
	{name: "unused/a-new-index-keeps-what-starts-spent", options: Options{Epoch: start}, run: func(w *world) {
		hourly := queue.Resource{Name: "res", Rate: flow.Rate{N: 1, Per: time.Hour}}
		w.resource(hourly)
		w.wait(30 * time.Minute)
		w.resource(hourly)
		w.put(w.group("g", 1))
		equal(w, "wait", w.none(), 30*time.Minute)
	}},
}
