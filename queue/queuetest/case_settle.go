package queuetest

import (
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// What ends a lease, and what no longer does.
var settleCases = []testCase{
	{name: "settle/late-after-a-reclaim-changes-nothing", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10})
		w.put(w.group("g", 10))
		old := w.one()
		w.wait(time.Minute)
		taken := w.reclaim()[0]
		before := w.stats("g")
		if w.settle(old, queue.Settlement{Return: old.Jobs, Finished: 3}) {
			w.Fatal("a stale settlement is taken")
		}
		if w.extend(old, queue.Extension{Until: w.now.Add(time.Hour), Refund: 10}) {
			w.Fatal("a stale extension is taken")
		}
		equal(w, "the group", w.stats("g"), before)
		w.none()
		w.retry(taken, w.now)
		w.wait(2 * time.Second)
		w.jobs(w.one(), 0, 10)
	}},
	{name: "settle/late-before-a-reclaim-counts", run: func(w *world) {
		w.put(w.group("g", 1))
		l := w.one()
		w.wait(time.Hour)
		w.done(l)
		equal(w, "reclaimed", len(w.reclaim()), 0)
	}},
	{name: "settle/twice-counts-once", run: func(w *world) {
		w.put(w.group("g", 10))
		l := w.one()
		s := queue.Settlement{Return: l.Jobs}
		equal(w, "held", w.settle(l, s), true)
		w.jobs(w.one(), 0, 1)
		equal(w, "held again", w.settle(l, s), false)
		equal(w, "jobs waiting", w.stats("g").Waiting, 0)
	}},
	{name: "settle/an-unknown-lease-is-not-held", run: func(w *world) {
		w.put(w.group("g", 10))
		l := w.one()
		l.Group = "unknown"
		equal(w, "held as another group's", w.settle(l, queue.Settlement{Finished: 1}), false)
		l.Group, l.ID = "g", "unknown"
		equal(w, "held under another id", w.settle(l, queue.Settlement{Retries: []queue.Retry{{Jobs: l.Jobs}}}), false)
		equal(w, "entries", w.stats("g").Entries, 0)
	}},
	{name: "settle/what-returns-is-ready-at-once", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10})
		w.put(w.group("g", 20))
		l := w.one()
		w.settle(l, queue.Settlement{Finished: 6, Return: spillway.One(6, 10)})
		w.jobs(w.one(), 6, 10)
		w.jobs(w.one(), 10, 20)
	}},
	{name: "settle/what-returns-gives-its-tokens-back", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(5)})
		w.put(w.group("g", 20))
		for range 50 { // at one instant
			l := w.one()
			w.settle(l, queue.Settlement{Return: l.Jobs})
		}
		equal(w, "granted", w.resourceStats("res").Granted, 0)
	}},
	{name: "settle/what-returns-is-never-parked", run: func(w *world) {
		w.put(w.group("g", 500))
		leases := w.some(200)
		equal(w, "leases", len(leases), 200)
		for _, l := range leases {
			w.settle(l, queue.Settlement{Return: l.Jobs})
		}
		s := w.stats("g")
		equal(w, "parked", s.Parked, 0)
		equal(w, "waiting", s.Waiting, 200)
	}},
	{name: "settle/what-returns-takes-no-room-of-retries", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1000})
		w.put(w.group("g", 80_000))
		leases := w.some(71)
		equal(w, "leases", len(leases), 71)
		for _, l := range leases[:70] {
			w.settle(l, queue.Settlement{Return: l.Jobs})
		}
		w.retry(leases[70], w.now)
		equal(w, "parked", w.stats("g").Parked, 0)
	}},
	{name: "settle/what-returns-stays-single", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10})
		w.put(w.group("g", 10))
		l := w.one()
		w.settle(l, queue.Settlement{Retries: []queue.Retry{{Jobs: spillway.One(0, 5), Single: true}}, Finished: 5})
		w.wait(2 * time.Second)
		one := w.one()
		w.jobs(one, 0, 1)
		w.settle(one, queue.Settlement{Return: one.Jobs})
		equal(w, "the next lease", w.one().Jobs.Len(), 1)
	}},
	{name: "settle/only-the-leases-own-jobs", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 5})
		w.put(w.group("g", 10))
		l := w.one()
		w.settle(l, queue.Settlement{
			Return:  spillway.One(3, 8),
			Retries: []queue.Retry{{Jobs: spillway.One(2, 9)}, {Jobs: spillway.One(2, 3), NotBefore: w.now.Add(time.Minute)}},
		})
		s := w.stats("g")
		equal(w, "waiting", s.Waiting, 3) // 3 and 4 come back, 2 is tried again
		equal(w, "next", s.Next, 5)
	}},
	{name: "settle/a-refund-spares-the-cost-of-those-who-ran", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(1000)})
		g := w.group("g", 100)
		g.MaxCost = 5
		w.put(g)
		l := w.one()
		equal(w, "charge", l.Charged, 50)
		w.extend(l, queue.Extension{Refund: 36}) // the true cost is 14: 5 and nine times 1
		w.settle(l, queue.Settlement{Return: spillway.One(1, 10), Finished: 1})
		equal(w, "granted", w.resourceStats("res").Granted, 5)
	}},
	{name: "settle/refunds-besides", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(1000)})
		g := w.group("g", 100)
		g.MaxCost = 5
		w.put(g)
		l := w.one()
		w.settle(l, queue.Settlement{Return: spillway.One(0, 4), Finished: 6, Refund: 24})
		equal(w, "granted", w.resourceStats("res").Granted, 6)
	}},
	{name: "settle/counts-redeliveries-in-flight", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 5})
		w.put(w.group("g", 10))
		first := w.one()
		w.settle(first, queue.Settlement{Retries: []queue.Retry{{Jobs: first.Jobs, Failed: true}}})
		w.one()
		equal(w, "redelivered", w.stats("g").Redelivered, 0)
		w.wait(2 * time.Second)
		again := w.one()
		equal(w, "redelivered", w.stats("g").Redelivered, 5)
		w.settle(again, queue.Settlement{Return: again.Jobs})
		equal(w, "redelivered", w.stats("g").Redelivered, 0)
		w.one()
		equal(w, "redelivered", w.stats("g").Redelivered, 5)
	}},
	{name: "settle/what-was-throttled-is-no-redelivery", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 5})
		w.put(w.group("g", 5))
		l := w.one()
		throttled, failed := l.Jobs.Take(2)
		w.settle(l, queue.Settlement{Retries: []queue.Retry{{Jobs: throttled}, {Jobs: failed, Failed: true}}})
		equal(w, "entries", w.stats("g").Entries, 2)
		w.wait(2 * time.Second)
		equal(w, "leases", len(w.some(5)), 2)
		equal(w, "redelivered", w.stats("g").Redelivered, 3)
	}},
	{name: "settle/what-is-fed-keeps-why-it-waits", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 5})
		g := w.group("g", 10)
		g.Next, g.Parked, g.ParkedDue = 10, 10, w.now
		w.put(g)
		f := food(promoted(w), spillway.One(0, 4), 0, time.Time{})
		f.Entries = append(f.Entries, queue.Retry{Jobs: spillway.One(4, 10), Failed: true})
		w.feed(f)
		equal(w, "leases", len(w.some(5)), 3)
		equal(w, "redelivered", w.stats("g").Redelivered, 6)
	}},
}
