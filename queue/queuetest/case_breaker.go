package queuetest

import (
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// broken configures a resource whose breaker is open.
func broken(w *world, maxParked int64) {
	w.Helper()
	w.action(queue.Action{Name: "act", Batch: 10})
	w.resource(queue.Resource{Name: "res", Broken: true, MaxParked: maxParked})
}

// What an open breaker lets through.
var breakerCases = []testCase{
	{name: "breaker/one-job-a-second", run: func(w *world) {
		w.put(w.group("g", 100))
		broken(w, 0)
		l := w.one()
		w.jobs(l, 0, 1)
		equal(w, "probe", l.Probe, true)
		equal(w, "wait", w.none(), time.Second)
		w.wait(time.Second)
		w.one()
		w.resource(queue.Resource{Name: "res"})
		l = w.one()
		equal(w, "jobs after it closed", l.Jobs.Len(), 10)
		equal(w, "probe after it closed", l.Probe, false)
	}},
	{name: "breaker/probes-go-to-a-group-that-has-not-failed", run: func(w *world) {
		bad, good := w.group("bad", 100), w.group("good", 100)
		good.Submitted = w.now.Add(time.Hour)
		w.put(bad, good)
		l := w.one()
		equal(w, "group", l.Group, "bad")
		broken(w, 0)
		w.settle(l, queue.Settlement{Retries: []queue.Retry{{Jobs: l.Jobs}}, Whole: true})
		for range 3 {
			l = w.one()
			equal(w, "group probed", l.Group, "good")
			w.done(l)
			w.wait(time.Second)
		}
		l = w.one()
		w.settle(l, queue.Settlement{Retries: []queue.Retry{{Jobs: l.Jobs}}, Whole: true})
		w.wait(time.Second)
		w.one() // though all have failed by now
	}},
	{name: "breaker/much-parked-work-brings-no-new", run: func(w *world) {
		g := w.group("g", 100)
		g.Next, g.Parked, g.ParkedDue = 50, 21, w.now.Add(time.Hour)
		w.put(g)
		broken(w, 20)
		equal(w, "wait", w.none(), -1)
		equal(w, "reason", w.stats("g").Blocked, queue.ReasonBroken)
		w.resource(queue.Resource{Name: "res", Broken: true, MaxParked: 21})
		w.one()
		w.wait(time.Second)
		w.resource(queue.Resource{Name: "res", MaxParked: 20})
		w.one()
	}},
	{name: "breaker/retries-are-probes-too", run: func(w *world) {
		w.put(w.group("g", 5))
		w.action(queue.Action{Name: "act", Batch: 10})
		l := w.one()
		broken(w, 0)
		w.retry(l, w.now)
		w.wait(2 * time.Second)
		for i := range int64(5) {
			w.jobs(w.one(), i, i+1)
			w.wait(time.Second)
		}
	}},
	{name: "breaker/nothing-comes-before-the-next-probe", run: func(w *world) {
		w.put(w.group("g", 1))
		broken(w, 0)
		w.retry(w.one(), w.now)
		g := w.group("h", 1)
		g.NotBefore = w.now.Add(300 * time.Millisecond)
		w.put(g)
		equal(w, "wait", w.none(), time.Second)
	}},
	{name: "breaker/of-another-tenant-is-not-mine", run: func(w *world) {
		g, h := w.group("g", 5), w.group("h", 5)
		h.Tenant = "her"
		w.put(g, h)
		broken(w, 0)
		c := w.ask(1)
		c.Tenant = "her"
		equal(w, "tenant", w.claim(c).Leases[0].Tenant, spillway.TenantID("her"))
	}},
}
