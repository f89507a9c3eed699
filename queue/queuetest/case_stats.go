package queuetest

import (
	"fmt"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// blocked checks the reason of group g, and when it ends; negative is not by
// itself.
func blocked(w *world, reason queue.Reason, in time.Duration) {
	w.Helper()
	s := w.stats("g")
	equal(w, "reason", s.Blocked, reason)
	if in < 0 {
		equal(w, "an end", s.Until.IsZero(), true)
		return
	}
	equal(w, "the end of "+string(reason), s.Until.Sub(w.now), in)
}

// What an operator is told.
var statsCases = []testCase{
	{name: "stats/reasons-of-the-group", run: func(w *world) {
		g := w.group("g", 1)
		w.put(g)
		blocked(w, "", -1)
		l := w.one()
		blocked(w, queue.ReasonNoJobs, -1)
		w.retry(l, w.now.Add(5*time.Second))
		blocked(w, queue.ReasonBackoff, 5*time.Second)
		g.Version, g.NotBefore = 2, w.now.Add(time.Minute)
		w.put(g)
		blocked(w, queue.ReasonNotBefore, time.Minute)
		g.Version, g.NotBefore, g.Expires = 3, time.Time{}, w.now.Add(-1)
		w.put(g)
		blocked(w, queue.ReasonExpired, -1)
		w.resource(queue.Resource{Name: "res", Paused: true})
		blocked(w, queue.ReasonResourcePaused, -1)
		w.tenant(queue.Tenant{ID: "ten", Paused: true})
		blocked(w, queue.ReasonTenantPaused, -1)
		g.Version, g.Paused = 4, true
		w.put(g)
		blocked(w, queue.ReasonPaused, -1)
	}},
	{name: "stats/reasons-of-room", run: func(w *world) {
		g := w.group("g", 10)
		g.Concurrency = 1
		w.put(g)
		l := w.one()
		blocked(w, queue.ReasonGroupConcurrency, -1)
		w.done(l)
		g.Version, g.Concurrency = 2, 0
		w.put(g)
		w.action(queue.Action{Name: "act", Concurrency: 1})
		l = w.one()
		blocked(w, queue.ReasonActionConcurrency, -1)
		w.done(l)
		w.action(queue.Action{Name: "act"})
		w.resource(queue.Resource{Name: "res", Concurrency: 1})
		w.one()
		blocked(w, queue.ReasonResourceConcurrency, -1)
	}},
	{name: "stats/reasons-of-rate", run: func(w *world) {
		g := w.group("g", 10)
		g.Rate = flow.Rate{N: 1, Per: time.Minute}
		w.put(g)
		w.done(w.one())
		blocked(w, queue.ReasonGroupRate, time.Minute)
		g.Version, g.Rate = 2, flow.Rate{}
		w.put(g)
		blocked(w, "", -1)
		w.wait(time.Hour)
		w.resource(queue.Resource{Name: "res", Rate: flow.Rate{N: 1, Per: time.Second}})
		w.done(w.one())
		blocked(w, queue.ReasonResourceRate, time.Second)
		w.wait(time.Minute)
		w.configure(queue.Settings{Resources: []queue.Resource{
			{Name: "par", Rate: flow.Rate{N: 1, Per: time.Minute}}, {Name: "res", Parent: "par"},
		}})
		w.done(w.one())
		blocked(w, queue.ReasonParentRate, time.Minute)
	}},
	{name: "stats/reasons-of-others", run: func(w *world) {
		g, h := w.group("g", 10), w.group("h", 10)
		h.Priority = time.Hour
		w.put(g, h)
		blocked(w, queue.ReasonShare, -1)
		equal(w, "groups ahead", w.stats("g").Ahead, 1)
		equal(w, "groups ahead of the first", w.stats("h").Ahead, 0)
		broken(w, 0)
		w.one()
		blocked(w, queue.ReasonBroken, time.Second)
	}},
	{name: "stats/of-a-group", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10})
		w.put(w.group("g", 100))
		w.one()
		w.retry(w.one(), w.now.Add(time.Second))
		w.retry(w.one(), w.now.Add(time.Hour))
		s := w.stats("g")
		s.Until, s.Ahead = time.Time{}, 0
		equal(w, "the group", s, queue.GroupStats{Version: 1, Next: 30, InFlight: 10, Leases: 1, Waiting: 10, Entries: 1, Parked: 10})
	}},
	{name: "stats/of-a-resource", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(1000)})
		h := w.group("h", 10)
		h.Tenant = "her"
		w.put(w.group("g", 100), h)
		w.wait(time.Second)
		w.one()
		w.wait(time.Second / 2)
		w.retry(w.one(), w.now.Add(time.Hour))
		s := w.resourceStats("res")
		s.Due = time.Time{}
		want := queue.ResourceStats{Groups: 2, Ready: 90, Waiting: 10, InFlight: 10, Leases: 1, Granted: 20, InPeriod: 20, Tenants: s.Tenants}
		equal(w, "the resource", s, want)
		within(w, "active tenants", int64(s.Tenants), 1, 2)
	}},
	{name: "stats/a-resource-is-due-when-it-can-grant", run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Rate: perSecond(1)})
		equal(w, "due without groups", w.resourceStats("res").Due.IsZero(), true)
		w.put(w.group("g", 10))
		w.one()
		equal(w, "due", w.resourceStats("res").Due.Sub(w.now), w.none())
	}},
	{name: "stats/reading-changes-nothing", run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Rate: perSecond(100)})
		for i := range 5 {
			w.put(groupOf(w, fmt.Sprint("t", i%2), fmt.Sprint("g", i), 100))
		}
		for range 100 {
			s := w.stats("g1")
			equal(w, "the group", w.stats("g1"), s)
			got := w.claim(w.ask(1))
			w.now = later(got.Next, w.now)
		}
	}},
	{name: "stats/what-is-unknown-is-absent", run: func(w *world) {
		got, err := w.q.Stats(w.Context(), w.now, queue.Query{
			Groups: []spillway.GroupID{"nobody"}, Resources: []spillway.ResourceName{"nothing"},
		})
		w.must(err)
		equal(w, "entries", len(got.Groups)+len(got.Resources), 0)
	}},
}
