package queuetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// turns claims n leases one by one, settling each, and names their groups.
func turns(w *world, n int) string {
	w.Helper()
	var all []string
	for range n {
		l := w.one()
		w.done(l)
		all = append(all, string(l.Group))
	}
	return strings.Join(all, " ")
}

// counts is how often each name occurs.
func counts(names string) map[string]int {
	of := map[string]int{}
	for _, name := range strings.Fields(names) {
		of[name]++
	}
	return of
}

// Which group of a tenant goes first.
var orderCases = []testCase{
	{name: "order/the-shortest-first-and-every-fourth-the-oldest", run: func(w *world) {
		old, big, small := w.group("old", 100_000), w.group("big", 5000), w.group("small", 10)
		big.Submitted = w.now.Add(time.Minute)
		small.Submitted = w.now.Add(2 * time.Minute)
		w.put(old, big, small)
		equal(w, "the turns", turns(w, 8), "small small small old small small small old")
	}},
	{name: "order/what-is-not-sealed-gets-no-boost", run: func(w *world) {
		open, sealed := w.group("open", 10), w.group("sealed", 5000)
		open.Sealed, sealed.Submitted = false, w.now.Add(time.Minute)
		w.put(open, sealed)
		equal(w, "the turns", turns(w, 3), "sealed sealed sealed")
		open.Version, open.Sealed = 2, true
		w.put(open)
		equal(w, "the turns when sealed", turns(w, 3), "open open open")
	}},
	{name: "order/age-wins-in-the-end", run: func(w *world) {
		old, small := w.group("old", 100_000), w.group("small", 1)
		small.Submitted = w.now.Add(11 * time.Hour)
		w.put(old, small)
		equal(w, "the turns", turns(w, 3), "old old old")
	}},
	{name: "order/priority-is-age", run: func(w *world) {
		a, b := w.group("a", 10), w.group("b", 10)
		b.Submitted, b.Priority = w.now.Add(time.Hour), 2*time.Hour
		w.put(a, b)
		equal(w, "the turns", turns(w, 4), "b b b a")
		b.Version, b.Priority = 2, 0
		w.put(b)
		equal(w, "the turns after it lost it", turns(w, 3), "a a a")
	}},
	{name: "order/nearly-done-goes-first", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1000})
		a, b := w.group("a", 3000), w.group("b", 2500)
		w.put(a, b)
		c := w.ask(1)
		first := w.claim(c).Leases[0]
		equal(w, "group", first.Group, "b")
		second := w.one()
		equal(w, "group while none is done", second.Group, "b")
		w.settle(second, queue.Settlement{Return: second.Jobs})
		w.retry(first, w.now) // nothing done
		a.Version, a.Restate, a.Next, a.Finished = 2, true, 2000, 2000
		w.put(a)
		equal(w, "group when the other is nearly done", w.one().Group, "a")
	}},
	{name: "order/finished-jobs-bring-it-forward", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1000})
		a, b := w.group("a", 5000), w.group("b", 5000)
		b.Submitted = w.now.Add(time.Minute)
		w.put(a)
		held := w.some(2)
		w.put(b)
		c := w.ask(1)
		c.MaxJobs = 1
		equal(w, "group", w.claim(c).Leases[0].Group, "a")
		b.Version, b.Restate, b.Next, b.Finished = 2, true, 2000, 2000
		w.put(b)
		c.Leases = w.ask(1).Leases
		w.one() // the oldest has its turn
		equal(w, "group", w.claim(c).Leases[0].Group, "b")
		for _, l := range held {
			w.done(l)
		}
		c.Leases = w.ask(1).Leases
		equal(w, "group when the other has done as much", w.claim(c).Leases[0].Group, "a")
	}},
	{name: "order/actions-of-one-order-are-one-lane", run: func(w *world) {
		w.actions = []spillway.ActionName{"act", "other"}
		for i, action := range []spillway.ActionName{"act", "other", "act", "other"} {
			g := w.group(fmt.Sprint("g", i), 1)
			g.Action, g.Submitted = action, w.now.Add(time.Duration(i*7%4)*time.Minute)
			w.put(g)
		}
		equal(w, "the turns", turns(w, 4), "g0 g3 g2 g1")
	}},
	{name: "order/even", run: func(w *world) {
		w.action(queue.Action{Name: "act", Order: queue.Even})
		w.put(w.group("a", 1000), w.group("b", 100_000), w.group("c", 50))
		of := counts(turns(w, 60))
		equal(w, "the turns", fmt.Sprint(of), fmt.Sprint(map[string]int{"a": 20, "b": 20, "c": 20}))
	}},
	{name: "order/even-by-weight", run: func(w *world) {
		w.action(queue.Action{Name: "act", Order: queue.Even})
		a, b := w.group("a", 1000), w.group("b", 1000)
		b.Priority = 2 * time.Hour
		w.put(a, b)
		of := counts(turns(w, 50))
		equal(w, "the turns of b", of["b"], 40)
	}},
	{name: "order/even-newcomers-do-not-owe-and-the-idle-earn-nothing", run: func(w *world) {
		w.action(queue.Action{Name: "act", Order: queue.Even})
		idle := w.group("idle", 1)
		idle.Sealed = false
		w.put(w.group("a", 1000), idle)
		turns(w, 101)
		idle.Version, idle.Total = 2, 1000
		w.put(w.group("new", 1000), idle)
		of := counts(turns(w, 30))
		for _, name := range []string{"a", "idle", "new"} {
			within(w, "turns of "+name, int64(of[name]), 9, 11)
		}
	}},
	{name: "order/both-orders-share", run: func(w *world) {
		w.configure(queue.Settings{Actions: []queue.Action{{Name: "act"}, {Name: "even", Order: queue.Even}}})
		w.actions = []spillway.ActionName{"act", "even"}
		w.put(w.group("s", 1000))
		for i := range 3 {
			g := w.group(fmt.Sprint("e", i), 1000)
			g.Action = "even"
			w.put(g)
		}
		of := counts(turns(w, 60))
		equal(w, "the turns of the shortest-first lane", of["s"], 30)
		equal(w, "the turns of an even group", of["e1"], 10)
	}},
	{name: "order/an-order-that-was-not-there-is-owed-nothing", run: func(w *world) {
		w.configure(queue.Settings{Actions: []queue.Action{{Name: "act"}, {Name: "even", Order: queue.Even}}})
		w.actions = []spillway.ActionName{"act", "even"}
		w.put(w.group("s", 1000))
		turns(w, 100)
		e := w.group("e", 1000)
		e.Action = "even"
		w.put(e)
		within(w, "turns of the new order", int64(counts(turns(w, 20))["e"]), 9, 11)
	}},
	{name: "order/changes-in-mid-run", run: func(w *world) {
		w.put(w.group("a", 1000), w.group("b", 10))
		equal(w, "the turns", turns(w, 3), "b b b")
		w.action(queue.Action{Name: "act", Order: queue.Even})
		of := counts(turns(w, 10))
		equal(w, "the turns of a when even", of["a"], 5)
		w.action(queue.Action{Name: "act", Order: queue.Shortest})
		of = counts(turns(w, 2))
		within(w, "the turns of b when shortest", int64(of["b"]), 1, 2)
	}},
}
