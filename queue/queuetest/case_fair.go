package queuetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// groupOf is a group of a tenant.
func groupOf(w *world, tenant, id string, total int64) queue.Group {
	g := w.group(id, total)
	g.Tenant = spillway.TenantID(tenant)
	return g
}

// served claims n leases, settling each, and returns the charge per tenant.
func served(w *world, n int) map[spillway.TenantID]int64 {
	w.Helper()
	of := map[spillway.TenantID]int64{}
	for range n {
		l := w.one()
		w.done(l)
		of[l.Tenant] += l.Charged
	}
	return of
}

// How tenants share a resource.
var fairCases = []testCase{
	{name: "fair/one-big-tenant-against-99-small", run: func(w *world) {
		for i := range 50 {
			w.put(groupOf(w, "big", fmt.Sprint("big", i), 1_000_000))
		}
		w.some(200) // it has been at work for a while
		for i := range 99 {
			w.put(groupOf(w, fmt.Sprint("small", i), fmt.Sprint("small", i), 10))
		}
		of := served(w, 1000)
		for i := range 99 {
			within(w, "what a small one got", of[spillway.TenantID(fmt.Sprint("small", i))], 10, 10)
		}
		within(w, "what the big one got", of["big"], 8, 12)
	}},
	{name: "fair/weights", run: func(w *world) {
		for i, weight := range []float64{1, 2, 5} {
			id := fmt.Sprint("t", i)
			w.tenant(queue.Tenant{ID: spillway.TenantID(id), Weight: weight})
			w.put(groupOf(w, id, id, 1_000_000))
		}
		of := served(w, 800)
		for i, want := range []int64{100, 200, 500} {
			within(w, fmt.Sprint("what t", i, " got"), of[spillway.TenantID(fmt.Sprint("t", i))], want-2, want+2)
		}
	}},
	{name: "fair/across-actions", run: func(w *world) {
		w.actions = []spillway.ActionName{"act", "other", "third"}
		for i, action := range w.actions {
			g := groupOf(w, fmt.Sprint("t", i), fmt.Sprint("t", i), 1_000_000)
			g.Action = action
			w.put(g)
		}
		of := served(w, 300)
		for i := range 3 {
			within(w, fmt.Sprint("what t", i, " got"), of[spillway.TenantID(fmt.Sprint("t", i))], 99, 101)
		}
	}},
	{name: "fair/cost-counts", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10})
		dear := groupOf(w, "dear", "d", 1_000_000)
		dear.MaxCost = 7
		w.put(dear, groupOf(w, "cheap", "c", 1_000_000))
		of := served(w, 800)
		within(w, "what the dear one got", of["dear"], of["cheap"]-70, of["cheap"]+70)
	}},
	{name: "fair/an-idle-tenant-gains-nothing", run: func(w *world) {
		idle := groupOf(w, "idle", "i", 1)
		idle.Sealed = false
		w.put(groupOf(w, "busy", "b", 1_000_000), idle)
		served(w, 1000)
		idle.Version, idle.Total = 2, 1_000_000
		w.put(idle, groupOf(w, "new", "n", 1_000_000))
		of := served(w, 300)
		for _, id := range []spillway.TenantID{"idle", "busy", "new"} {
			within(w, "what "+string(id)+" got", of[id], 98, 102)
		}
	}},
	{name: "fair/leaving-and-coming-back-pays-no-debt-off", run: func(w *world) {
		w.tenant(queue.Tenant{ID: "light", Weight: 0.1})
		w.put(groupOf(w, "steady", "s", 1_000_000))
		light := int64(0)
		for i := range 110 { // a new group for each turn
			g := groupOf(w, "light", fmt.Sprint("g", i), 1)
			w.put(g)
			light += served(w, 1)["light"]
			g.Version, g.Gone = 2, true
			w.put(g)
		}
		within(w, "what the light one got", light, 9, 12)
	}},
	{name: "fair/what-comes-back-earns-no-credit", run: func(w *world) {
		w.put(groupOf(w, "a", "a", 1_000_000))
		all := w.some(100)
		w.put(groupOf(w, "b", "b", 1_000_000))
		for _, l := range all {
			w.settle(l, queue.Settlement{Return: l.Jobs})
		}
		within(w, "what a gets now", served(w, 100)["a"], 48, 52)
	}},
	{name: "fair/what-one-leaves-goes-to-the-others", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 100})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(1000)})
		w.put(groupOf(w, "a", "a", 1_000_000), groupOf(w, "b", "b", 50))
		_, total := most(flood(w, 10*time.Second), time.Second)
		within(w, "the total", total, 9500, 10_200)
	}},
	{name: "fair/by-rate-and-jain", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 50})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(1000)})
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range 20 {
			for k := range 1 + rng.IntN(5) {
				g := groupOf(w, fmt.Sprint("t", i), fmt.Sprint("g", i, "-", k), 1_000_000)
				g.MaxCost = 1 + rng.Int64N(5)
				w.put(g)
			}
		}
		of := map[spillway.TenantID]float64{}
		for _, l := range flood(w, time.Minute) {
			of[l.Tenant] += float64(l.Charged)
		}
		var shares []float64
		for _, x := range of {
			shares = append(shares, x)
		}
		if j := flow.Jain(shares); len(shares) != 20 || j < 0.999 {
			w.Fatalf("Jain's index of %d tenants is %.4f: %v", len(shares), j, of)
		}
	}},
	{name: "fair/who-needs-much-is-not-passed-by-those-who-need-little", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(100)})
		dear := groupOf(w, "dear", "d", 1000)
		dear.MaxCost = 60
		w.put(dear, groupOf(w, "cheap", "c", 1_000_000))
		of := map[spillway.TenantID]int64{}
		for _, l := range flood(w, 30*time.Second) {
			of[l.Tenant] += l.Charged
		}
		within(w, "what the dear one got", of["dear"], of["cheap"]-60, of["cheap"]+60)
		within(w, "the total", of["dear"]+of["cheap"], 2200, 3100)
	}},
	{name: "fair/a-refund-is-no-service", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10})
		g := groupOf(w, "refunded", "r", 1_000_000)
		g.MaxCost = 10
		w.put(g, groupOf(w, "plain", "p", 1_000_000))
		jobs := map[spillway.TenantID]int64{}
		for range 400 {
			l := w.one()
			w.extend(l, queue.Extension{Refund: l.Charged - l.Jobs.Len()})
			w.done(l)
			jobs[l.Tenant] += l.Jobs.Len()
		}
		within(w, "the jobs of the refunded", jobs["refunded"], 1900, 2100)
	}},
}
