package queuetest

import (
	"fmt"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// How much one lease holds.
var sizeCases = []testCase{
	{name: "size/a-batch-within-a-chunk", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 600})
		w.put(w.group("g", 1700))
		for _, s := range []spillway.Span{{From: 0, To: 600}, {From: 600, To: 1000}, {From: 1000, To: 1600}, {From: 1600, To: 1700}} {
			w.jobs(w.one(), s.From, s.To)
		}
	}},
	{name: "size/one-without-settings", run: func(w *world) {
		w.put(w.group("g", 10))
		w.jobs(w.one(), 0, 1)
	}},
	{name: "size/at-most-what-the-claim-says", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 600})
		w.put(w.group("g", 1700))
		c := w.ask(1)
		c.MaxJobs = 7
		w.jobs(w.claim(c).Leases[0], 0, 7)
	}},
	{name: "size/a-fifth-of-the-tenants-share", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1000})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(1000)})
		w.put(w.group("g", 5000))
		w.jobs(w.one(), 0, 200)
		h := w.group("h", 5000)
		h.Tenant = "her"
		w.tenant(queue.Tenant{ID: "her", Weight: 3})
		w.put(h)
		w.wait(time.Second)
		for _, l := range w.some(2) {
			want := map[spillway.TenantID]int64{"ten": 50, "her": 150}[l.Tenant]
			equal(w, fmt.Sprintf("the lease of %s", l.Tenant), l.Jobs.Len(), want)
		}
	}},
	{name: "size/a-changed-weight-is-another-share", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1000})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(1000)})
		h := w.group("h", 5000)
		h.Tenant = "her"
		w.put(w.group("g", 5000), h)
		w.tenant(queue.Tenant{ID: "her", Weight: 4})
		for _, l := range w.some(2) {
			want := map[spillway.TenantID]int64{"ten": 40, "her": 160}[l.Tenant]
			equal(w, fmt.Sprintf("the lease of %s", l.Tenant), l.Jobs.Len(), want)
		}
	}},
	{name: "size/a-paused-tenant-has-no-share", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1000})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(1000)})
		h := w.group("h", 5000)
		h.Tenant = "her"
		w.put(h)
		w.one()
		w.put(w.group("g", 5000))
		w.tenant(queue.Tenant{ID: "her", Paused: true})
		w.wait(time.Second)
		equal(w, "the lease", w.one().Jobs.Len(), 200)
		equal(w, "active tenants", w.resourceStats("res").Tenants, 1)
	}},
	{name: "size/a-tenant-in-backoff-has-no-share", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1000})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(1000)})
		h := w.group("h", 1)
		h.Tenant = "her"
		w.put(h)
		w.retry(w.one(), w.now.Add(20*time.Second))
		w.put(w.group("g", 5000))
		w.wait(time.Second)
		equal(w, "the lease", w.one().Jobs.Len(), 200)
	}},
	{name: "size/a-tenant-in-flight-has-its-share", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1000})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(1000)})
		h := w.group("h", 1)
		h.Tenant = "her"
		w.put(h)
		l := w.one()
		w.put(w.group("g", 5000))
		w.wait(time.Second)
		equal(w, "the lease", w.one().Jobs.Len(), 100)
		w.done(l)
		w.wait(time.Second)
		equal(w, "the lease when she is done", w.one().Jobs.Len(), 200)
	}},
	{name: "size/a-tenant-waiting-for-its-own-rate-has-its-share", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1000})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(1000)})
		h := w.group("h", 100)
		h.Tenant, h.Rate = "her", flow.Rate{N: 1, Per: time.Hour}
		w.put(h)
		w.done(w.one())
		w.none()
		w.put(w.group("g", 5000))
		w.wait(time.Second)
		equal(w, "the lease", w.one().Jobs.Len(), 100)
	}},
	{name: "size/even-groups-divide-the-share", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1000, Order: queue.Even})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(1000)})
		w.put(w.group("g", 5000), w.group("h", 5000), w.group("i", 5000), w.group("j", 5000))
		equal(w, "the lease", w.one().Jobs.Len(), 50)
	}},
	{name: "size/a-fifth-of-the-groups-own-rate", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1000})
		g := w.group("g", 5000)
		g.Rate = flow.Rate{N: 50, Per: 5 * time.Second}
		w.put(g)
		w.jobs(w.one(), 0, 10)
	}},
	{name: "size/rates-count-cost", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1000})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(1000)})
		g := w.group("g", 5000)
		g.MaxCost = 30
		w.put(g)
		l := w.one()
		w.jobs(l, 0, 6)
		equal(w, "charge", l.Charged, 180)
	}},
	{name: "size/a-block-of-the-parent", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1000})
		w.configure(queue.Settings{Resources: []queue.Resource{
			{Name: "par", Rate: perSecond(200)}, {Name: "res", Parent: "par"},
		}})
		w.put(w.group("g", 5000))
		w.jobs(w.one(), 0, 20)
	}},
	{name: "size/room-of-the-group", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10})
		g := w.group("g", 100)
		g.Concurrency = 13
		w.put(g)
		checkRoom(w)
	}},
	{name: "size/room-of-the-action", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10, Concurrency: 13})
		w.put(w.group("g", 100))
		checkRoom(w)
	}},
	{name: "size/room-of-the-resource", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10})
		w.resource(queue.Resource{Name: "res", Concurrency: 13})
		w.put(w.group("g", 100))
		checkRoom(w)
	}},
	{name: "size/waits-for-no-more-than-has-room", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10, Concurrency: 1})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(50)})
		w.put(w.group("g", 100))
		w.done(w.one())
		for range 20 {
			got := w.claim(w.ask(1))
			if len(got.Leases) > 0 {
				w.done(got.Leases[0])
				continue
			}
			if wait := got.Next.Sub(w.now); wait > 20*time.Millisecond {
				w.Fatalf("the next job waits %v, longer than its tokens take", wait)
			}
			w.now = got.Next
		}
	}},
	{name: "size/an-action-that-fills-up-elsewhere-holds-up-no-other", run: func(w *world) {
		w.configure(queue.Settings{Actions: []queue.Action{{Name: "act", Concurrency: 1}, {Name: "other"}}})
		x, h := w.group("x", 10), w.group("h", 10)
		x.Tenant, x.Resource = "her", "elsewhere"
		h.Action, h.Submitted = "other", w.now.Add(time.Hour)
		w.put(w.group("g", 10), h)
		both := w.ask(1)
		both.Tenant, both.Actions = "ten", []spillway.ActionName{"act", "other"}
		w.done(w.claim(both).Leases[0]) // and next would come g of "act"
		w.put(x)
		c := w.ask(1)
		c.Tenant = "her"
		l := w.claim(c).Leases[0]
		both.Leases = w.ask(1).Leases
		got := w.claim(both).Leases
		equal(w, "leases", len(got), 1)
		equal(w, "group while the action is full", got[0].Group, "h")
		w.done(l)
		both.Leases = w.ask(1).Leases
		equal(w, "group when it has room", w.claim(both).Leases[0].Group, "g")
	}},
	{name: "size/a-full-action-holds-up-no-other", run: func(w *world) {
		w.configure(queue.Settings{Actions: []queue.Action{{Name: "act", Concurrency: 1}, {Name: "other"}}})
		w.actions = []spillway.ActionName{"act", "other"}
		h := w.group("h", 10)
		h.Action, h.Submitted = "other", w.now.Add(time.Hour)
		w.put(w.group("g", 10), h)
		l := w.one()
		equal(w, "group", l.Group, "g")
		equal(w, "group while the action is full", w.one().Group, "h")
		w.done(l)
		equal(w, "group when it has room", w.one().Group, "g")
	}},
}

// checkRoom checks that 13 jobs are handed out by tens, and more as jobs end.
func checkRoom(w *world) {
	w.Helper()
	first, second := w.one(), w.one()
	w.jobs(first, 0, 10)
	w.jobs(second, 10, 13)
	equal(w, "wait", w.none(), -1)
	w.done(second)
	w.jobs(w.one(), 13, 16)
	w.done(first)
	w.jobs(w.one(), 16, 26)
	w.none()
}
