package queuetest

import (
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// When a claim that got nothing is to be asked again.
var wakeCases = []testCase{
	{name: "wake/nothing-to-wait-for", run: func(w *world) {
		equal(w, "wait", w.none(), -1)
		w.put(w.group("g", 1))
		w.one()
		equal(w, "wait", w.none(), -1)
	}},
	{name: "wake/exactly-when-the-tokens-are-there", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1000})
		w.resource(queue.Resource{Name: "res", Rate: perSecond(100)})
		w.put(w.group("g", 100_000))
		for range 200 {
			c := w.claim(w.ask(1))
			if len(c.Leases) == 1 {
				w.done(c.Leases[0])
				continue
			}
			w.now = c.Next.Add(-time.Microsecond)
			w.none()
			w.now = c.Next
			w.done(w.one())
		}
	}},
	{name: "wake/now-if-there-is-more-now", run: func(w *world) {
		w.put(w.group("g", 2))
		got := w.claim(w.ask(1))
		equal(w, "next", got.Next, w.now)
		got = w.claim(w.ask(1))
		equal(w, "next is none", got.Next.IsZero(), true)
	}},
	{name: "wake/the-earliest-of-all-reasons", run: func(w *world) {
		later, own, retried := w.group("later", 1), w.group("own", 9), w.group("retried", 1)
		w.put(retried)
		w.retry(w.one(), w.now.Add(40*time.Second))
		later.NotBefore = w.now.Add(30 * time.Second)
		own.Rate = flow.Rate{N: 1, Per: 20 * time.Second}
		w.put(later, own)
		w.one()
		for _, want := range []spillway.GroupID{"own", "later", "retried"} {
			at := map[spillway.GroupID]time.Duration{"own": 20 * time.Second, "later": 10 * time.Second, "retried": 10 * time.Second}
			equal(w, "wait for "+string(want), w.none(), at[want])
			w.wait(at[want])
			equal(w, "group", w.one().Group, want)
			own.Version++
			own.Paused = true
			w.put(own)
		}
		equal(w, "wait", w.none(), -1)
	}},
	{name: "wake/an-entry-that-needs-less-comes-sooner", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 100})
		w.resource(queue.Resource{Name: "res", Rate: flow.Rate{N: 100, Per: 10 * time.Second}})
		w.put(w.group("g", 1000))
		l := w.one()
		w.jobs(l, 0, 20)
		w.settle(l, queue.Settlement{Finished: 19, Retries: []queue.Retry{{Jobs: spillway.One(0, 1)}}})
		for len(w.some(1)) > 0 {
		}
		equal(w, "wait, though twenty take two seconds", w.none(), time.Second)
		w.wait(time.Second)
		w.jobs(w.one(), 0, 1)
	}},
	{name: "wake/a-change-moves-it", run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Rate: flow.Rate{N: 1, Per: time.Hour}})
		w.put(w.group("g", 10))
		w.one()
		equal(w, "wait", w.none(), time.Hour)
		w.resource(queue.Resource{Name: "res", Rate: flow.Rate{N: 1, Per: time.Minute}})
		equal(w, "wait at the higher rate", w.none(), time.Minute)
	}},
	{name: "wake/expiry-of-the-first-lets-the-next-go", run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Rate: perSecond(100)})
		dear, cheap := w.group("dear", 10), w.group("cheap", 10)
		dear.MaxCost, dear.Priority, dear.Expires = 100, time.Hour, w.now.Add(500*time.Millisecond)
		w.put(cheap)
		w.one()
		w.put(dear)
		equal(w, "wait", w.none(), 500*time.Millisecond)
		w.wait(500 * time.Millisecond)
		equal(w, "group", w.one().Group, "cheap")
	}},
	{name: "wake/a-group-that-comes-first-and-needs-less", run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Rate: perSecond(100)})
		dear, first := w.group("dear", 10), w.group("first", 10)
		dear.MaxCost, first.NotBefore, first.Priority = 100, w.now.Add(300*time.Millisecond), time.Hour
		w.put(dear)
		w.one()
		w.put(first)
		got := w.claim(w.ask(1))
		equal(w, "wait", got.Next.Sub(w.now), 300*time.Millisecond)
		w.now = got.Next
		if wait := w.none(); wait > 710*time.Millisecond {
			w.Fatalf("the first waits %v", wait)
		}
	}},
	{name: "wake/what-expires-first-is-not-waited-for", run: func(w *world) {
		g := w.group("g", 1)
		g.Expires = w.now.Add(time.Minute)
		w.put(g)
		w.retry(w.one(), w.now.Add(time.Minute))
		equal(w, "wait", w.none(), -1)
	}},
	{name: "wake/a-full-bound-has-no-time", run: func(w *world) {
		w.resource(queue.Resource{Name: "res", Rate: perSecond(100), Concurrency: 1})
		w.put(w.group("g", 10))
		w.one()
		equal(w, "wait", w.none(), -1)
	}},
}
