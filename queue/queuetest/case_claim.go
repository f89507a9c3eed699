package queuetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// Whom a claim gets work from.
var claimCases = []testCase{
	{name: "claim/the-same-id-is-the-same-lease", run: func(w *world) {
		w.put(w.group("g", 10))
		c := w.ask(1)
		first := w.claim(c).Leases[0]
		w.wait(time.Second)
		again := w.claim(c).Leases
		if len(again) != 1 || again[0].Token != first.Token || !slices.Equal(again[0].Jobs, first.Jobs) {
			w.Fatalf("asked twice, the lease is %+v and was %+v", again, first)
		}
		equal(w, "leases", w.stats("g").Leases, 1)
	}},
	{name: "claim/held-and-new-ids-together", run: func(w *world) {
		w.put(w.group("g", 3))
		c := w.ask(2)
		equal(w, "leases", len(w.claim(c).Leases), 2)
		c.Leases = append(c.Leases, "new", "none")
		got := w.claim(c).Leases
		equal(w, "leases", len(got), 3)
		equal(w, "the third", got[2].ID, "new")
		w.jobs(got[2], 2, 3)
	}},
	{name: "claim/a-reclaimed-lease-is-not-the-old-callers", run: func(w *world) {
		w.put(w.group("g", 10))
		c := w.ask(1)
		w.claim(c)
		w.wait(time.Minute)
		equal(w, "reclaimed", len(w.reclaim()), 1)
		equal(w, "leases", len(w.claim(c).Leases), 0)
	}},
	{name: "claim/only-the-actions-asked-for", run: func(w *world) {
		g := w.group("g", 10)
		g.Action = "other"
		w.put(g)
		equal(w, "wait", w.none(), -1)
		w.actions = []spillway.ActionName{"act", "other"}
		w.one()
	}},
	{name: "claim/only-the-tenant-asked-for", run: func(w *world) {
		g := w.group("h", 10)
		g.Tenant = "her"
		w.put(w.group("g", 10), g)
		c := w.ask(3)
		c.Tenant = "her"
		for _, l := range w.claim(c).Leases {
			equal(w, "tenant", l.Tenant, "her")
		}
		c = w.ask(1)
		c.Tenant = "nobody"
		equal(w, "leases of nobody", len(w.claim(c).Leases), 0)
	}},
	{name: "claim/deadline-and-labels", run: func(w *world) {
		g := w.group("g", 10)
		g.Version = 7
		w.put(g)
		l := w.one()
		equal(w, "deadline", l.Deadline.Sub(w.now), time.Minute)
		equal(w, "version", l.Version, 7)
		equal(w, "label", fmt.Sprint(l.Tenant, l.Action, l.Resource, l.Group, l.Instance), "tenactresgi1")
	}},
	{name: "claim/at-most-so-many-of-a-resource", run: func(w *world) {
		w.put(w.group("g", 100))
		c := w.ask(5)
		c.PerResource = 3
		got := w.claim(c)
		equal(w, "leases", len(got.Leases), 3)
		equal(w, "next", got.Next.IsZero(), true)
		other := w.ask(1)
		other.Instance, other.PerResource = "i2", 3
		equal(w, "leases of another instance", len(w.claim(other).Leases), 1)
		w.done(got.Leases[0])
		c.Leases = w.ask(5).Leases
		equal(w, "leases after one settled", len(w.claim(c).Leases), 1)
	}},
	{name: "claim/a-reclaimed-lease-no-longer-fills-its-instance", run: func(w *world) {
		w.put(w.group("g", 100))
		c := w.ask(2)
		c.PerResource = 2
		equal(w, "leases", len(w.claim(c).Leases), 2)
		w.wait(time.Minute)
		taken := w.reclaim()
		equal(w, "reclaimed", len(taken), 2)
		c.Leases = w.ask(5).Leases
		equal(w, "leases after the reclaim", len(w.claim(c).Leases), 2)
		for _, l := range taken {
			w.done(l)
		}
		c.Leases = w.ask(5).Leases
		equal(w, "leases after the reclaimed ones ended", len(w.claim(c).Leases), 0)
	}},
	{name: "claim/free-workers-are-shared-by-resources", run: func(w *world) {
		w.configure(queue.Settings{Resources: []queue.Resource{{Name: "r0"}, {Name: "r1", Weight: 3}}})
		for i := range 2 {
			g := w.group(fmt.Sprint("g", i), 100)
			g.Resource = spillway.ResourceName(fmt.Sprint("r", i))
			w.put(g)
		}
		of := map[spillway.ResourceName]int{}
		for _, l := range w.some(20) {
			of[l.Resource]++
		}
		equal(w, "leases of r0 and r1", fmt.Sprint(of["r0"], of["r1"]), "5 15")
	}},
	{name: "claim/a-resource-that-waits-holds-up-no-other", run: func(w *world) {
		w.resource(queue.Resource{Name: "waits", Rate: flow.Rate{N: 1, Per: time.Hour}})
		g := w.group("g", 10)
		g.Resource = "waits"
		w.put(g, w.group("h", 10))
		equal(w, "leases", len(w.some(20)), 11)
		equal(w, "wait", w.none(), time.Hour)
	}},
	{name: "claim/a-hanging-resource-starves-nobody", run: func(w *world) {
		slow, fast := w.group("slow", 1000), w.group("fast", 1000)
		slow.Resource = "hangs"
		w.put(slow, fast)
		var of map[spillway.ResourceName]int
		for range 20 { // 8 workers; what is of "res" ends, what is of "hangs" doesn't
			of = map[spillway.ResourceName]int{}
			c := w.ask(8)
			c.PerResource = 6
			for _, l := range w.claim(c).Leases {
				if of[l.Resource]++; l.Resource == "res" {
					w.done(l)
				}
			}
		}
		if of["res"] < 2 {
			w.Fatalf("the fast resource gets %d leases of 8", of["res"])
		}
	}},
	{name: "claim/needs-ids-actions-and-visibility", run: func(w *world) {
		good := w.ask(1)
		for _, spoil := range []func(*queue.Claim){
			func(c *queue.Claim) { c.Leases = nil },
			func(c *queue.Claim) { c.Actions = nil },
			func(c *queue.Claim) { c.Visibility = 0 },
		} {
			c := good
			spoil(&c)
			_, err := w.q.Claim(context.Background(), w.now, c)
			equal(w, "code", spillway.CodeOf(err), spillway.CodeInvalid)
		}
	}},
	{name: "claim/time-does-not-go-back", run: func(w *world) {
		w.put(w.group("g", 10))
		w.one()
		w.wait(-time.Hour)
		l := w.one()
		equal(w, "granted", l.Granted, w.now.Add(time.Hour))
		equal(w, "deadline", l.Deadline, w.now.Add(time.Hour+time.Minute))
	}},
	{name: "claim/by-many-at-once-hands-out-each-job-once", run: func(w *world) {
		const jobs = 3000
		w.action(queue.Action{Name: "act", Batch: 7})
		w.put(w.group("g", jobs), w.group("h", jobs))
		var mu sync.Mutex
		seen := map[string]int{}
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				c := queue.Claim{Instance: fmt.Sprint("i", i), Actions: w.actions, Visibility: time.Minute}
				for n := 0; ; n++ {
					c.Leases = []spillway.LeaseID{spillway.LeaseID(fmt.Sprint(i, "-", n))}
					got, err := w.q.Claim(w.Context(), w.now, c)
					if err != nil || len(got.Leases) == 0 {
						return
					}
					l := got.Leases[0]
					mu.Lock()
					for j := range l.Jobs.All {
						seen[fmt.Sprint(l.Group, j)]++
					}
					mu.Unlock()
					held, err := w.q.Settle(w.Context(), w.now, []queue.Settlement{{Ref: l.Ref, Finished: l.Jobs.Len()}})
					if err != nil || !held[0] {
						w.Errorf("lease %s does not settle: %v", l.ID, err)
					}
				}
			})
		}
		wg.Wait()
		for job, n := range seen {
			if n != 1 {
				w.Errorf("job %s is handed out %d times", job, n)
			}
		}
		equal(w, "jobs handed out", len(seen), 2*jobs)
	}},
	{name: "claim/many-shapes-see-every-change", run: func(w *world) {
		g := w.group("g", 0)
		g.Sealed = false
		w.put(g)
		for i := range 300 {
			c := w.ask(1)
			c.Instance = fmt.Sprint("i", i%150)
			equal(w, "leases", len(w.claim(c).Leases), 0)
			g.Version++
			g.Total++
			w.put(g)
			c.Leases = w.ask(1).Leases
			equal(w, "leases after the put", len(w.claim(c).Leases), 1)
		}
	}},
}
