package queuetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// How work comes back.
var retryCases = []testCase{
	{name: "retry/staggered-by-place-in-line", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 100})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(100), Concurrency: 20})
		w.put(w.group("g", 20))
		w.resource(queue.Resource{Name: "res"})
		l := w.one()
		w.jobs(l, 0, 20)
		w.resource(queue.Resource{Name: "res", Rate: perSecond(8)})
		w.retry(l, time.Time{})
		w.resource(queue.Resource{Name: "res"})
		for _, s := range []spillway.Span{{From: 0, To: 8}, {From: 8, To: 16}, {From: 16, To: 20}} {
			equal(w, "wait", w.none(), time.Second)
			w.wait(time.Second)
			w.jobs(w.one(), s.From, s.To)
		}
	}},
	{name: "retry/each-waits-behind-those-who-wait", run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Concurrency: 100})
		w.put(w.group("g", 4))
		leases := w.some(4)
		w.resource(queue.Resource{Name: "res", Rate: perSecond(2)})
		for _, l := range leases {
			w.retry(l, time.Time{})
		}
		w.resource(queue.Resource{Name: "res"})
		for range 2 {
			w.wait(time.Second)
			equal(w, "leases", len(w.some(5)), 2)
		}
	}},
	{name: "retry/not-before-the-backoff-ends", run: func(w *world) {
		w.put(w.group("g", 1))
		w.retry(w.one(), w.now.Add(7300*time.Millisecond))
		equal(w, "wait", w.none(), 7300*time.Millisecond)
	}},
	{name: "retry/due-times-are-rounded-up-and-merged", run: func(w *world) {
		w.put(w.group("g", 3))
		for i, l := range w.some(3) {
			w.retry(l, w.now.Add(5*time.Second+time.Duration(20+i)*time.Millisecond))
		}
		equal(w, "entries", w.stats("g").Entries, 1)
		equal(w, "wait", w.none(), 5100*time.Millisecond)
		w.wait(5100 * time.Millisecond)
		w.action(queue.Action{Name: "act", Batch: 9})
		w.jobs(w.one(), 0, 3)
	}},
	{name: "retry/goes-before-fresh-jobs", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 5})
		w.put(w.group("g", 100))
		l := w.one()
		w.retry(l, w.now)
		w.jobs(w.one(), 5, 10)
		w.wait(2 * time.Second)
		w.jobs(w.one(), 0, 5)
		w.jobs(w.one(), 10, 15)
	}},
	{name: "retry/single-jobs-are-leases-of-their-own", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 5})
		w.put(w.group("g", 5))
		l := w.one()
		w.settle(l, queue.Settlement{Retries: []queue.Retry{{Jobs: l.Jobs, Single: true}}})
		w.wait(2 * time.Second)
		for i, l := range w.some(6) {
			w.jobs(l, int64(i), int64(i)+1)
		}
		equal(w, "leases", w.stats("g").Leases, 5)
	}},
	{name: "retry/single-jobs-are-not-merged-with-others", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 5})
		w.put(w.group("g", 10))
		for i, l := range w.some(2) {
			r := queue.Retry{Jobs: l.Jobs, Single: i == 1, NotBefore: w.now.Add(10 * time.Second)}
			w.settle(l, queue.Settlement{Retries: []queue.Retry{r}})
		}
		equal(w, "entries", w.stats("g").Entries, 2)
		w.wait(10 * time.Second)
		var sizes []int64
		for range 2 { // and what comes back keeps its kind
			sizes = nil
			for _, l := range w.some(10) {
				sizes = append(sizes, l.Jobs.Len())
				w.settle(l, queue.Settlement{Return: l.Jobs})
			}
			slices.Sort(sizes)
			equal(w, "the leases", fmt.Sprint(sizes), "[1 1 1 1 1 5]")
		}
	}},
	{name: "retry/returned-fresh-jobs-are-no-redeliveries", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 5})
		w.put(w.group("g", 10))
		first := w.one()
		w.settle(first, queue.Settlement{Retries: []queue.Retry{{Jobs: first.Jobs, Failed: true}}})
		w.wait(2 * time.Second)
		leases := w.some(2)
		for _, l := range leases {
			w.settle(l, queue.Settlement{Return: l.Jobs})
		}
		equal(w, "leases", len(w.some(3)), 2)
		equal(w, "redelivered", w.stats("g").Redelivered, 5)
	}},
	{name: "retry/beyond-the-bound-is-parked", run: func(w *world) {
		w.put(w.group("g", 80))
		for i, l := range w.some(80) {
			w.retry(l, w.now.Add(time.Duration(i+20)*queue.EntryGrain))
		}
		s := w.stats("g")
		equal(w, "entries", s.Entries, queue.MaxEntries)
		equal(w, "parked", s.Parked, 16)
		w.wait(84 * queue.EntryGrain)
		equal(w, "groups promoted too soon", len(w.promote()), 0) // no room, and not due
		for range 3 {
			w.one()
		}
		due := w.promote()
		if len(due) != 1 || due[0].Room != 3 {
			w.Fatalf("promoted are %+v, not the group with room for 3", due)
		}
	}},
	{name: "retry/too-far-ahead-is-parked", run: func(w *world) {
		w.put(w.group("g", 1))
		w.retry(w.one(), w.now.Add(2*queue.MaxEntryWait))
		s := w.stats("g")
		equal(w, "entries", s.Entries, 0)
		equal(w, "parked", s.Parked, 1)
		equal(w, "wait", w.none(), -1)
		w.wait(2*queue.MaxEntryWait - 1)
		equal(w, "groups promoted too soon", len(w.promote()), 0)
		w.wait(1)
		equal(w, "groups promoted", len(w.promote()), 1)
	}},
	{name: "retry/state-does-not-grow-with-failures", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 3})
		w.put(w.group("g", 3000))
		for i := range 1000 {
			l := w.one()
			odd := spillway.Of(l.Jobs[0].From)
			r := queue.Retry{Jobs: odd, NotBefore: w.now.Add(time.Duration(i*37%50) * time.Second)}
			w.settle(l, queue.Settlement{Finished: l.Jobs.Len() - 1, Retries: []queue.Retry{r}})
		}
		s := w.stats("g")
		if s.Entries > queue.MaxEntries || s.Waiting+s.Parked != 1000 {
			w.Fatalf("%d entries with %d jobs, %d parked", s.Entries, s.Waiting, s.Parked)
		}
	}},
	{name: "retry/a-paused-group-keeps-its-entries", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 5})
		g := w.group("g", 5)
		w.put(g)
		l := w.one()
		g.Version, g.Paused = 2, true
		w.put(g)
		w.retry(l, w.now)
		w.wait(time.Minute)
		w.none()
		g.Version, g.Paused = 3, false
		w.put(g)
		w.jobs(w.one(), 0, 5)
	}},
	{name: "retry/no-storm", run: func(w *world) {
		// Everything is throttled once; what comes back comes at the rate.
		w.action(queue.Action{Name: "act", Batch: 50})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(100)})
		w.put(w.group("g", 1000))
		var leases []queue.Lease
		for len(leases) == 0 || leases[len(leases)-1].Jobs[0].To < 1000 {
			c := w.claim(w.ask(5))
			leases = append(leases, c.Leases...)
			w.now = c.Next
			if c.Next.IsZero() {
				break
			}
		}
		w.now = leases[len(leases)-1].Granted
		w.resource(queue.Resource{Name: "res", Rate: perSecond(100)})
		for _, l := range leases {
			w.retry(l, time.Time{})
		}
		perSec := map[int]int64{}
		at := w.now
		w.resource(queue.Resource{Name: "res"})
		for range 20 {
			w.wait(time.Second)
			for _, l := range w.some(100) {
				perSec[int(w.now.Sub(at)/time.Second)] += l.Jobs.Len()
			}
		}
		for sec, n := range perSec {
			if n > 200 {
				w.Fatalf("%d jobs come back in second %d: %s", n, sec, fmt.Sprint(perSec))
			}
		}
		equal(w, "jobs that came back", sum(perSec), 1000)
	}},
}

func sum(of map[int]int64) (n int64) {
	for _, x := range of {
		n += x
	}
	return n
}
