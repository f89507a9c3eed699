package queuetest

import (
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// How leases live and expire.
var leaseCases = []testCase{
	{name: "lease/expires-at-its-deadline", run: func(w *world) {
		w.put(w.group("g", 10))
		l := w.one()
		w.wait(time.Minute - 1)
		equal(w, "reclaimed too soon", len(w.reclaim()), 0)
		w.wait(1)
		got := w.reclaim()
		equal(w, "reclaimed", len(got), 1)
		equal(w, "id", got[0].ID, l.ID)
		equal(w, "new token", got[0].Token > l.Token, true)
		equal(w, "deadline", got[0].Deadline.Sub(w.now), queue.ReclaimWait)
		w.jobs(got[0], 0, 1)
	}},
	{name: "lease/a-dead-reclaimers-work-comes-back", run: func(w *world) {
		w.put(w.group("g", 1))
		w.one()
		w.wait(time.Minute)
		first := w.reclaim()[0]
		w.wait(queue.ReclaimWait - 1)
		equal(w, "reclaimed too soon", len(w.reclaim()), 0)
		w.wait(1)
		second := w.reclaim()[0]
		equal(w, "held by the first", w.settle(first, queue.Settlement{Return: first.Jobs}), false)
		equal(w, "held by the second", w.settle(second, queue.Settlement{Return: second.Jobs}), true)
		w.jobs(w.one(), 0, 1)
	}},
	{name: "lease/extended", run: func(w *world) {
		w.put(w.group("g", 10))
		l := w.one()
		w.wait(50 * time.Second)
		equal(w, "held", w.extend(l, queue.Extension{Until: w.now.Add(time.Minute)}), true)
		w.wait(50 * time.Second)
		equal(w, "reclaimed too soon", len(w.reclaim()), 0)
		equal(w, "held", w.extend(l, queue.Extension{}), true) // the deadline stays
		w.wait(10 * time.Second)
		equal(w, "reclaimed", len(w.reclaim()), 1)
		equal(w, "held after the reclaim", w.extend(l, queue.Extension{Until: w.now.Add(time.Minute)}), false)
	}},
	{name: "lease/the-answer-of-a-repeated-claim-knows-the-extension", run: func(w *world) {
		w.put(w.group("g", 10))
		c := w.ask(1)
		l := w.claim(c).Leases[0]
		w.extend(l, queue.Extension{Until: w.now.Add(time.Hour)})
		equal(w, "deadline", w.claim(c).Leases[0].Deadline.Sub(w.now), time.Hour)
	}},
	{name: "lease/a-refund-is-a-total", run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Rate: perSecond(100)})
		g := w.group("g", 10)
		g.MaxCost = 20
		w.put(g)
		l := w.one()
		for _, refund := range []int64{5, 5, 0, 12} {
			w.extend(l, queue.Extension{Refund: refund})
		}
		equal(w, "granted", w.resourceStats("res").Granted, 8)
		w.extend(l, queue.Extension{Refund: 1000})
		equal(w, "granted", w.resourceStats("res").Granted, 0)
	}},
	{name: "lease/the-earliest-deadline-is-reclaimed-first", run: func(w *world) {
		w.put(w.group("g", 10))
		leases := w.some(3)
		for i, by := range []time.Duration{30, 10, 20} {
			w.extend(leases[i], queue.Extension{Until: w.now.Add(by * time.Second)})
		}
		w.wait(time.Hour)
		for _, want := range []spillway.LeaseID{leases[1].ID, leases[2].ID, leases[0].ID} {
			got, err := w.q.Reclaim(w.Context(), w.now, 1)
			w.must(err)
			equal(w, "lease", got[0].ID, want)
		}
	}},
	{name: "lease/of-a-group-that-is-gone-can-be-reclaimed", run: func(w *world) {
		g := w.group("g", 10)
		w.put(g)
		w.one()
		g.Version, g.Gone = 2, true
		w.put(g)
		w.wait(time.Minute)
		got := w.reclaim()
		equal(w, "reclaimed", len(got), 1)
		w.retry(got[0], w.now)
		equal(w, "groups", w.resourceStats("res").Groups, 0)
	}},
	{name: "lease/closed-queue-is-unavailable", run: func(w *world) {
		w.must(w.q.Close())
		_, err := w.q.Claim(w.Context(), w.now, w.ask(1))
		equal(w, "code", spillway.CodeOf(err), spillway.CodeUnavailable)
	}},
}
