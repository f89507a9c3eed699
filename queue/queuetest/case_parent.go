package queuetest

import (
	"fmt"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// family configures a parent with children of a group each.
func family(w *world, rate int64, children int) {
	w.Helper()
	s := queue.Settings{Resources: []queue.Resource{{Name: "par", Rate: perSecond(rate)}}}
	for i := range children {
		name := spillway.ResourceName(fmt.Sprint("child", i))
		s.Resources = append(s.Resources, queue.Resource{Name: name, Parent: "par"})
		g := w.group(fmt.Sprint("g", i), 1_000_000)
		g.Resource = name
		w.put(g)
	}
	w.configure(s)
}

// What children get of their parent's rate.
var parentCases = []testCase{
	{name: "parent/children-share-its-rate", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1000})
		family(w, 100, 4)
		grants := flood(w, 20*time.Second)
		peak, total := most(grants, time.Second)
		within(w, "the peak", peak, 90, 100+4*10)
		within(w, "the total", total, 1900, 2100+4*10)
		of := map[spillway.ResourceName]int64{}
		for _, l := range grants {
			of[l.Resource] += l.Jobs.Len()
		}
		for name, n := range of {
			within(w, string(name), n, total/4-total/20, total/4+total/20)
		}
	}},
	{name: "parent/who-needs-much-is-not-passed-by-those-who-need-little", run: func(w *world) {
		family(w, 100, 5)
		dear := w.group("dear", 1_000_000)
		dear.Resource, dear.MaxCost = "child9", 40
		w.resource(queue.Resource{Name: "child9", Parent: "par"})
		w.put(dear)
		of := map[spillway.ResourceName]int64{}
		for _, l := range flood(w, 20*time.Second) {
			of[l.Resource] += l.Charged
		}
		within(w, "what the dear child got", of["child9"], of["child0"], 1500)
	}},
	{name: "parent/a-child-that-waits-for-its-own-rate-holds-up-no-other", run: func(w *world) {
		family(w, 10, 2)
		w.resource(queue.Resource{Name: "child0", Parent: "par", Rate: flow.Rate{N: 1, Per: time.Hour}})
		of := map[spillway.ResourceName]int64{}
		for _, l := range flood(w, 10*time.Second) {
			of[l.Resource] += l.Charged
		}
		equal(w, "what child0 got", of["child0"], 1)
		within(w, "what child1 got", of["child1"], 85, 105)
	}},
	{name: "parent/a-block-is-its-childs", run: func(w *world) {
		family(w, 100, 2)
		for len(w.some(1)) > 0 {
		}
		w.wait(w.none())
		w.one() // draws a block of 10; the other child goes first from here on
		equal(w, "leases of the rest of the block", len(w.some(20)), 9)
	}},
	{name: "parent/a-block-is-void-after-its-time", run: func(w *world) {
		family(w, 100, 2)
		first := w.one() // of a block of 10
		w.action(queue.Action{Name: "act", Batch: 1000})
		w.wait(queue.ParentBlock)
		spent := w.resourceStats("par").InPeriod
		equal(w, "drawn", spent, 10)
		c := w.ask(1)
		c.Tenant = first.Tenant
		w.some(2)
		equal(w, "drawn by both anew", w.resourceStats("par").InPeriod, 30)
	}},
	{name: "parent/a-block-is-used-up-before-another", run: func(w *world) {
		family(w, 100, 1)
		equal(w, "leases", len(w.some(10)), 10)
		equal(w, "drawn", w.resourceStats("par").InPeriod, 10)
	}},
	{name: "parent/at-least-one-job", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10})
		family(w, 2, 1)
		equal(w, "jobs", w.one().Jobs.Len(), 1)
		peak, total := most(flood(w, 20*time.Second), time.Second)
		within(w, "the peak", peak, 1, 2)
		within(w, "the total", total, 36, 41)
	}},
	{name: "parent/what-returns-goes-back-to-the-block", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 10})
		family(w, 100, 1)
		for range 20 {
			l := w.one()
			w.settle(l, queue.Settlement{Return: l.Jobs})
		}
		within(w, "drawn", w.resourceStats("par").InPeriod, 10, 20)
	}},
	{name: "parent/gets-back-no-more-than-was-taken", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1000})
		family(w, 100, 1)
		l := w.one()
		w.jobs(l, 0, 10)
		w.settle(l, queue.Settlement{Finished: 9, Return: spillway.One(9, 10)})
		w.jobs(w.one(), 9, 10)
		equal(w, "drawn", w.resourceStats("par").InPeriod, 10)
		w.jobs(w.one(), 10, 20)
		equal(w, "drawn", w.resourceStats("par").InPeriod, 20)
	}},
	{name: "parent/paused", run: func(w *world) {
		family(w, 100, 1)
		w.resource(queue.Resource{Name: "par", Rate: perSecond(100), Paused: true})
		w.none()
		w.resource(queue.Resource{Name: "par", Rate: perSecond(100)})
		w.one()
	}},
	{name: "parent/a-raised-rate-is-felt-by-those-who-wait", run: func(w *world) {
		family(w, 1, 3)
		w.one()
		w.none()
		w.resource(queue.Resource{Name: "par", Rate: perSecond(1000)})
		w.wait(100 * time.Millisecond)
		w.one()
	}},
}
