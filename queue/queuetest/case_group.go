package queuetest

import (
	"time"

	"github.com/spillway/spillway/queue"
)

// What Put says and when it is ignored.
var groupCases = []testCase{
	{name: "group/a-pause-holds-from-its-put-on", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10})
		g := w.group("g", 100)
		w.put(g)
		l := w.one()
		g.Version, g.Paused = 2, true
		w.put(g)
		equal(w, "wait", w.none(), -1)
		w.settle(l, queue.Settlement{Return: l.Jobs})
		equal(w, "wait after the lease came back", w.none(), -1)
		g.Version, g.Paused = 3, false
		w.put(g)
		w.jobs(w.one(), 0, 10)
	}},
	{name: "group/an-older-version-is-ignored", run: func(w *world) {
		g := w.group("g", 10)
		g.Version, g.Paused = 5, true
		w.put(g)
		g.Version, g.Paused, g.Total = 4, false, 20
		w.put(g)
		w.none()
		equal(w, "version", w.stats("g").Version, 5)
	}},
	{name: "group/an-equal-version-updates", run: func(w *world) {
		g := w.group("g", 10)
		g.Paused = true
		w.put(g)
		g.Paused = false
		w.put(g, g)
		w.one()
	}},
	{name: "group/total-and-cost-never-shrink", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 100})
		g := w.group("g", 10)
		g.MaxCost = 4
		w.put(g)
		g.Version, g.Total, g.MaxCost = 2, 5, 1
		w.put(g)
		l := w.one()
		w.jobs(l, 0, 10)
		equal(w, "charge", l.Charged, 40)
	}},
	{name: "group/progress-counts-only-when-new", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 2})
		g := w.group("g", 10)
		g.Next = 4
		w.put(g)
		w.jobs(w.one(), 4, 6)
		g.Version, g.Next, g.Parked = 2, 0, 7
		w.put(g)
		w.jobs(w.one(), 6, 8)
		equal(w, "parked", w.stats("g").Parked, 0)
	}},
	{name: "group/restate-sets-progress", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 100})
		g := w.group("g", 10)
		w.put(g)
		w.done(w.one())
		w.none()
		g.Version, g.Restate, g.Next, g.Finished, g.Parked, g.ParkedDue = 2, true, 10, 7, 3, w.now
		w.put(g)
		due := w.promote()
		equal(w, "groups promoted", len(due), 1)
	}},
	{name: "group/restating-hands-out-nothing-twice", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 4})
		g := w.group("g", 12)
		w.put(g)
		first, second := w.one(), w.one()
		w.retry(first, w.now.Add(5*time.Second))
		g.Version, g.Restate = 2, true // the ledger has seen none of it
		w.put(g)
		w.jobs(w.one(), 8, 12)
		w.none()
		w.done(second)
	}},
	{name: "group/restating-forgets-no-newer-parking", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 3})
		g := w.group("g", 3)
		w.put(g)
		w.retry(w.one(), w.now.Add(2*time.Minute)) // after the ledger was read
		g.Version, g.Restate, g.Next, g.Parked, g.ParkedDue = 2, true, 3, 0, time.Time{}
		w.put(g)
		equal(w, "parked", w.stats("g").Parked, 3)
		g.Parked, g.ParkedDue = 1, w.now.Add(time.Hour)
		w.put(g)
		equal(w, "parked", w.stats("g").Parked, 3)
		w.wait(2 * time.Minute)
		equal(w, "groups promoted", len(w.promote()), 1)
	}},
	{name: "group/gone-grants-nothing-and-settles", run: func(w *world) {
		g := w.group("g", 10)
		w.put(g)
		l := w.one()
		g.Version, g.Gone = 2, true
		w.put(g)
		w.none()
		equal(w, "reason", w.stats("g").Blocked, queue.ReasonGone)
		if !w.settle(l, queue.Settlement{Retries: []queue.Retry{{Jobs: l.Jobs}}}) {
			w.Fatal("the lease of a group that has ended does not settle")
		}
		w.wait(time.Minute)
		w.none()
		equal(w, "groups", w.resourceStats("res").Groups, 0)
	}},
	{name: "group/gone-leaves-the-line-of-retries", run: func(w *world) {
		g := w.group("g", 100)
		w.put(g, w.group("h", 1))
		w.action(queue.Action{Name: "act", Batch: 100})
		h, l := w.one(), w.one()
		equal(w, "groups", h.Group+l.Group, "hg")
		w.resource(queue.Resource{Name: "res", Rate: perSecond(10)})
		w.retry(l, w.now)
		g.Version, g.Gone = 2, true
		w.put(g)
		w.retry(h, w.now)
		equal(w, "wait", w.none(), time.Second)
	}},
	{name: "group/gone-and-unknown-is-no-group", run: func(w *world) {
		g := w.group("g", 10)
		g.Gone = true
		w.put(g)
		w.none()
		equal(w, "version", w.stats("g").Version, 0)
	}},
	{name: "group/ends-and-starts-again", run: func(w *world) {
		g := w.group("g", 1)
		w.put(g)
		l := w.one()
		g.Version, g.Gone = 2, true
		w.put(g)
		g.Version, g.Gone, g.Next, g.Parked, g.ParkedDue = 3, false, 1, 1, w.now
		w.put(g) // with the lease still out
		w.done(l)
		equal(w, "groups promoted", len(w.promote()), 1)
	}},
	{name: "group/grows-under-the-claims", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 100})
		g := w.group("g", 3)
		g.Sealed = false
		w.put(g)
		w.jobs(w.one(), 0, 3)
		equal(w, "wait", w.none(), -1)
		g.Version, g.Total = 2, 5
		w.put(g)
		w.jobs(w.one(), 3, 5)
		g.Version, g.Sealed = 3, true
		w.put(g)
		w.none()
	}},
	{name: "group/not-before", run: func(w *world) {
		g := w.group("g", 10)
		g.NotBefore = w.now.Add(90 * time.Second)
		w.put(g)
		equal(w, "wait", w.none(), 90*time.Second)
		w.wait(90 * time.Second)
		w.one()
	}},
	{name: "group/expires", run: func(w *world) {
		g := w.group("g", 10)
		g.Expires = w.now.Add(time.Second)
		w.put(g)
		w.wait(time.Second - time.Microsecond)
		l := w.one()
		equal(w, "groups promoted", len(w.promote()), 0)
		w.wait(time.Microsecond)
		equal(w, "wait", w.none(), -1)
		w.settle(l, queue.Settlement{Return: l.Jobs})
		equal(w, "wait after the lease came back", w.none(), -1)
		due := w.promote()
		if len(due) != 1 || !due[0].Expired {
			w.Fatalf("promoted are %+v, not the expired group", due)
		}
		equal(w, "groups promoted again", len(w.promote()), 0)
		w.wait(queue.PromoteWait)
		equal(w, "groups promoted after the wait", len(w.promote()), 1)
	}},
	{name: "group/tenant-paused", run: func(w *world) {
		w.put(w.group("g", 10))
		w.tenant(queue.Tenant{ID: "ten", Paused: true})
		w.none()
		w.tenant(queue.Tenant{ID: "ten"})
		w.one()
	}},
	{name: "group/resource-paused", run: func(w *world) {
		w.put(w.group("g", 10))
		w.resource(queue.Resource{Name: "res", Paused: true})
		w.none()
		w.resource(queue.Resource{Name: "res"})
		w.one()
	}},
}
