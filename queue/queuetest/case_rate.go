package queuetest

import (
	"time"

	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// flood claims for a time whenever the queue says, settling at once, and
// returns the grants.
func flood(w *world, d time.Duration) (grants []queue.Lease) {
	w.Helper()
	end := w.now.Add(d)
	for {
		got := w.claim(w.ask(50))
		for _, l := range got.Leases {
			grants = append(grants, l)
			w.done(l)
		}
		if got.Next.IsZero() || got.Next.After(end) {
			w.now = end
			return grants
		}
		if len(got.Leases) == 0 && !got.Next.After(w.now) {
			w.Fatal("the claim is to be asked again at once, for nothing")
		}
		w.now = got.Next
	}
}

// most is the highest charge in any period of that length, and all the charges.
func most(grants []queue.Lease, per time.Duration) (peak, total int64) {
	var window int64
	first := 0
	for _, l := range grants {
		window += l.Charged
		total += l.Charged
		for !grants[first].Granted.After(l.Granted.Add(-per)) {
			window -= grants[first].Charged
			first++
		}
		peak = max(peak, window)
	}
	return peak, total
}

// within fails unless lo <= n <= hi.
func within(w *world, what string, n, lo, hi int64) {
	w.Helper()
	if n < lo || n > hi {
		w.Fatalf("%s is %d, not within %d and %d", what, n, lo, hi)
	}
}

// What may be granted, by rates.
var rateCases = []testCase{
	{name: "rate/no-period-holds-more", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 7})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(100)})
		w.put(w.group("g", 100_000))
		peak, total := most(flood(w, 20*time.Second), time.Second)
		within(w, "the peak", peak, 90, 100)
		within(w, "the total", total, 1950, 2110)
	}},
	{name: "rate/fixed-windows", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 100})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(100), Window: true})
		w.put(w.group("g", 100_000))
		w.wait(700 * time.Millisecond)
		within(w, "granted at once", total(w.some(50)), 100, 100)
		equal(w, "wait", w.none(), 300*time.Millisecond)
		w.wait(300 * time.Millisecond)
		within(w, "granted in the next", total(w.some(50)), 100, 100)
	}},
	{name: "rate/costs-count", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 7})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(100)})
		a, b := w.group("a", 100_000), w.group("b", 100_000)
		a.MaxCost, b.MaxCost, b.Tenant = 9, 2, "her"
		w.put(a, b)
		peak, total := most(flood(w, 20*time.Second), time.Second)
		within(w, "the peak", peak, 85, 100)
		within(w, "the total", total, 1800, 2110)
	}},
	{name: "rate/a-dear-job-takes-a-whole-period", run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Rate: perSecond(10)})
		g := w.group("g", 10)
		g.MaxCost = 1000
		w.put(g)
		equal(w, "charge", w.one().Charged, 10)
		equal(w, "wait", w.none(), time.Second)
		w.wait(time.Second)
		w.one()
	}},
	{name: "rate/a-groups-own", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 100})
		g := w.group("g", 10_000)
		g.Rate = flow.Rate{N: 50, Per: 5 * time.Second}
		w.put(g)
		peak, total := most(flood(w, time.Minute), 5*time.Second)
		within(w, "the peak", peak, 45, 50)
		within(w, "the total", total, 540, 660)
	}},
	{name: "rate/a-group-that-waits-for-its-own-holds-up-no-other", run: func(w *world) {
		g, h := w.group("g", 10), w.group("h", 10)
		g.Rate, g.Priority = flow.Rate{N: 1, Per: time.Hour}, 100*time.Hour
		w.put(g, h)
		equal(w, "group", w.one().Group, "g")
		for range 10 {
			equal(w, "group", w.one().Group, "h")
		}
		equal(w, "wait", w.none(), time.Hour)
		w.wait(time.Hour)
		equal(w, "group", w.one().Group, "g")
	}},
	{name: "rate/a-raised-own-rate-is-felt-by-a-group-that-waits", run: func(w *world) {
		g := w.group("g", 10)
		g.Rate = flow.Rate{N: 1, Per: time.Hour}
		w.put(g)
		w.one()
		equal(w, "wait", w.none(), time.Hour)
		g.Version, g.Rate = 2, flow.Rate{N: 1, Per: time.Minute}
		w.put(g)
		equal(w, "wait at the higher rate", w.none(), time.Minute)
		g.Version, g.Rate = 3, flow.Rate{}
		w.put(g)
		w.one()
	}},
	{name: "rate/an-own-rate-counts-what-was-granted-without-one", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 100})
		g := w.group("g", 1000)
		w.put(g)
		w.done(w.one())
		g.Version, g.Rate = 2, flow.Rate{N: 100, Per: time.Minute}
		w.put(g)
		if wait := w.none(); wait < 50*time.Second {
			w.Fatalf("more is granted after %v", wait)
		}
	}},
	{name: "rate/starts-spent-at-the-epoch", options: Options{Epoch: start}, run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Rate: perSecond(10)})
		g := w.group("g", 1000)
		w.put(g)
		if wait := w.none(); wait < time.Second {
			w.Fatalf("a lease may be granted after %v, and the period before the epoch is unknown", wait)
		}
		w.wait(time.Second)
		w.one()
	}},
	{name: "rate/starts-unspent-long-after-the-epoch", options: Options{Epoch: start}, run: func(w *world) {
		w.wait(time.Second)
		w.resource(queue.Resource{Name: "res", Rate: perSecond(10)})
		w.put(w.group("g", 1000))
		w.one()
	}},
	{name: "rate/starts-unspent-with-an-empty-ledger", options: Options{Epoch: start, Fresh: true}, run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Rate: perSecond(10)})
		g := w.group("g", 1000)
		g.Rate, g.Submitted = flow.Rate{N: 10, Per: time.Hour}, start.Add(-time.Minute)
		w.put(g)
		w.one()
	}},
	{name: "rate/an-old-groups-own-starts-spent-at-the-epoch", options: Options{Epoch: start}, run: func(w *world) {
		g := w.group("g", 1000)
		g.Rate, g.Submitted = flow.Rate{N: 10, Per: time.Hour}, start.Add(-time.Minute)
		w.put(g)
		if wait := w.none(); wait < time.Hour {
			w.Fatalf("a lease may be granted after %v", wait)
		}
	}},
	{name: "rate/a-new-groups-own-starts-unspent", options: Options{Epoch: start}, run: func(w *world) {
		w.wait(time.Second)
		g := w.group("g", 1000)
		g.Rate = flow.Rate{N: 10, Per: time.Hour}
		w.put(g)
		w.one()
	}},
	{name: "rate/changes-keep-what-was-granted", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 100})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(100)})
		w.put(w.group("g", 100_000))
		flood(w, 5*time.Second)
		w.resource(queue.Resource{Name: "res", Rate: perSecond(40)})
		lower := flood(w, 10*time.Second)
		peak, total := most(lower, time.Second)
		within(w, "the peak", peak, 30, 40)
		within(w, "the total", total, 300, 400)
		if first := lower[0].Granted.Sub(start.Add(5 * time.Second)); first < 300*time.Millisecond {
			w.Fatalf("after %v the lower rate grants, and a hundred were just granted", first)
		}
		w.resource(queue.Resource{Name: "res", Rate: perSecond(200)})
		peak, total = most(flood(w, 10*time.Second), time.Second)
		within(w, "the peak", peak, 150, 200)
		within(w, "the total", total, 1850, 2050)
	}},
	{name: "rate/a-rate-counts-what-was-granted-without-one", options: Options{Epoch: start}, run: func(w *world) {
		w.wait(time.Hour)
		w.action(queue.Action{Name: "act", Batch: 6})
		w.put(w.group("g", 100))
		w.one()
		w.resource(queue.Resource{Name: "res", Rate: perSecond(10)})
		l := w.one() // 2 of the 4 that are left
		equal(w, "jobs", l.Jobs.Len(), 2)
		w.one()
		if wait := w.none(); wait < 900*time.Millisecond {
			w.Fatalf("more is granted after %v", wait)
		}
	}},
	{name: "rate/window-to-sliding-keeps-what-was-granted", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(10), Window: true})
		w.put(w.group("g", 100))
		equal(w, "granted", total(w.some(20)), 10)
		w.resource(queue.Resource{Name: "res", Rate: perSecond(10)})
		if wait := w.none(); wait < 900*time.Millisecond {
			w.Fatalf("more is granted after %v", wait)
		}
	}},
	{name: "rate/a-refund-after-its-period-is-too-late", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 100})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(10)})
		w.put(w.group("g", 1000))
		old := w.some(20)
		w.wait(2 * time.Second)
		now := w.some(20)
		for _, l := range old {
			w.settle(l, queue.Settlement{Return: l.Jobs})
		}
		within(w, "granted after the refund", total(now)+total(w.some(20)), total(now), 10)
	}},
	{name: "rate/a-refund-in-its-period-is-room", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 2})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(10)})
		w.put(w.group("g", 1000))
		all := flood(w, 990*time.Millisecond)
		within(w, "granted", total(all), 8, 10)
		w.wait(5 * time.Second)
		l := w.one()
		for range 100 {
			w.settle(l, queue.Settlement{Return: l.Jobs})
			l = w.one()
		}
	}},
	{name: "rate/a-late-refund-counts-at-the-grant", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10})
		g := w.group("g", 1000)
		w.resource(queue.Resource{Name: "res", Rate: flow.Rate{N: 5, Per: time.Hour}})
		g.Rate = flow.Rate{N: 5, Per: time.Hour}
		w.put(g)
		flood(w, 50*time.Minute)
		var last queue.Lease
		for got := w.claim(w.ask(1)); len(got.Leases) > 0 || last.ID == ""; got = w.claim(w.ask(1)) {
			if len(got.Leases) == 0 {
				w.now = got.Next
				continue
			}
			last = got.Leases[0]
		}
		w.wait(time.Second)
		w.none()
		w.settle(last, queue.Settlement{Return: last.Jobs})
		w.one()
	}},
	{name: "rate/gives-back-no-more-than-was-taken", run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Rate: perSecond(50)})
		w.put(w.group("g", 100_000))
		oneOfEach(w, func(t time.Time) time.Time { return t })
	}},
	{name: "rate/gives-back-no-more-than-was-taken-in-a-window", run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Rate: perSecond(50), Window: true})
		w.put(w.group("g", 100_000))
		oneOfEach(w, func(t time.Time) time.Time { return t.Truncate(time.Second) })
	}},
	{name: "rate/gives-back-no-more-than-was-taken-of-its-own", run: func(w *world) {
		g := w.group("g", 100_000)
		g.Rate = perSecond(50)
		w.put(g)
		oneOfEach(w, func(t time.Time) time.Time { return t })
	}},
	{name: "rate/what-returns-makes-a-group-ready-that-waits-for-its-own", run: func(w *world) {
		g := w.group("g", 10)
		g.Rate = flow.Rate{N: 1, Per: time.Hour}
		w.put(g)
		l := w.one()
		equal(w, "wait", w.none(), time.Hour)
		w.settle(l, queue.Settlement{Return: l.Jobs})
		w.one()
	}},
	{name: "rate/none-is-unlimited", run: func(w *world) {
		w.put(w.group("g", 1000))
		equal(w, "leases", len(w.some(500)), 500)
	}},
}

// total is the jobs of leases.
func total(leases []queue.Lease) (n int64) {
	for _, l := range leases {
		n += l.Jobs.Len()
	}
	return n
}

// oneOfEach claims tens at 50 a second, of which only the first job runs, and
// checks what runs in a second, by the times that the limiter counts by.
func oneOfEach(w *world, counted func(time.Time) time.Time) {
	w.Helper()
	w.action(queue.Action{Name: "act", Batch: 10})
	var ran []queue.Lease
	for end := w.now.Add(5 * time.Second); w.now.Before(end); {
		got := w.claim(w.ask(1))
		for _, l := range got.Leases {
			_, rest := l.Jobs.Take(1)
			w.settle(l, queue.Settlement{Finished: 1, Return: rest})
			ran = append(ran, queue.Lease{Charged: 1, Granted: counted(w.now)})
		}
		if len(got.Leases) == 0 {
			w.now = got.Next
		}
	}
	peak, _ := most(ran, time.Second)
	within(w, "what ran in a second", peak, 40, 50)
}
