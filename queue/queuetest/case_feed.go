package queuetest

import (
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// fedGroup puts a group of 100 jobs that are all handed out, 10 of them parked
// and due, and promotes it.
func fedGroup(w *world) queue.Due {
	w.Helper()
	w.action(queue.Action{Name: "act", Batch: 100})
	g := w.group("g", 100)
	g.Next, g.Finished, g.Parked, g.ParkedDue = 100, 90, 10, w.now
	w.put(g)
	return promoted(w)
}

// promoted promotes the one group that needs it.
func promoted(w *world) queue.Due {
	w.Helper()
	due := w.promote()
	if len(due) != 1 || due[0].Expired {
		w.Fatalf("promoted are %+v", due)
	}
	return due[0]
}

// food answers a promotion with jobs that are due, and so many left parked.
func food(d queue.Due, jobs spillway.Spans, parked int64, due time.Time) queue.Feed {
	f := queue.Feed{Group: d.Group, Version: d.Version, Round: d.Round, Parked: parked, ParkedDue: due}
	if len(jobs) > 0 {
		f.Entries = []queue.Retry{{Jobs: jobs}}
	}
	return f
}

// parkTwo makes and parks two jobs of a lease.
func parkTwo(w *world, l queue.Lease) {
	w.Helper()
	w.retry(l, w.now.Add(2*time.Minute))
}

// How parked work comes back.
var feedCases = []testCase{
	{name: "feed/is-due-as-it-says", run: func(w *world) {
		w.feed(food(fedGroup(w), spillway.One(20, 30), 0, time.Time{}))
		equal(w, "parked", w.stats("g").Parked, 0)
		w.jobs(w.one(), 20, 30)
		w.none()
	}},
	{name: "feed/twice-is-harmless", run: func(w *world) {
		f := food(fedGroup(w), spillway.One(20, 30), 5, w.now.Add(time.Hour))
		w.feed(f)
		w.feed(f)
		w.jobs(w.one(), 20, 30)
		w.feed(f)
		w.none()
		equal(w, "parked", w.stats("g").Parked, 5)
	}},
	{name: "feed/without-a-round-drops-what-is-held", run: func(w *world) {
		d := fedGroup(w)
		d.Round = 0
		w.feed(food(d, spillway.One(20, 30), 0, time.Time{}))
		c := w.ask(1)
		c.MaxJobs = 4
		equal(w, "leases", len(w.claim(c).Leases), 1)
		w.feed(food(d, spillway.One(18, 31), 0, time.Time{}))
		equal(w, "waiting", w.stats("g").Waiting, 9) // 24 to 29, and 18, 19 and 30
	}},
	{name: "feed/fresh-jobs-are-not-parked-ones", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 100})
		g := w.group("g", 100)
		g.Next, g.Parked, g.ParkedDue = 10, 10, w.now
		w.put(g)
		w.feed(food(promoted(w), spillway.One(5, 15), 0, time.Time{}))
		w.jobs(w.one(), 5, 10)
		w.jobs(w.one(), 10, 100)
	}},
	{name: "feed/an-older-version-is-ignored", run: func(w *world) {
		d := fedGroup(w)
		g := w.group("g", 100)
		g.Version, g.Paused = 2, true
		w.put(g)
		w.feed(food(d, spillway.One(20, 30), 0, time.Time{}))
		s := w.stats("g")
		equal(w, "waiting", s.Waiting, 0)
		equal(w, "parked", s.Parked, 10)
	}},
	{name: "feed/an-unknown-group-is-ignored", run: func(w *world) {
		w.feed(queue.Feed{Group: "nobody", Entries: []queue.Retry{{Jobs: spillway.One(0, 1)}}})
		w.none()
	}},
	{name: "feed/what-is-parked-meanwhile-stays-parked", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 2})
		g := w.group("g", 100)
		g.Next, g.Parked, g.ParkedDue = 98, 10, w.now
		w.put(g)
		l := w.one()
		d := promoted(w)
		parkTwo(w, l)
		w.feed(food(d, spillway.One(20, 30), 0, time.Time{})) // read before
		equal(w, "parked", w.stats("g").Parked, 2)
		w.wait(2 * time.Minute)
		equal(w, "groups promoted", len(w.promote()), 1)
	}},
	{name: "feed/what-is-parked-before-a-new-round-outlives-an-old-feed", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 2})
		g := w.group("g", 100)
		g.Next, g.Parked, g.ParkedDue = 98, 10, w.now
		w.put(g)
		l := w.one()
		old := promoted(w)
		parkTwo(w, l)
		w.wait(queue.PromoteWait)
		promoted(w) // and this feeder dies
		w.feed(food(old, nil, 0, time.Time{}))
		if n := w.stats("g").Parked; n < 2 {
			w.Fatalf("parked are %d, and two were parked after the old feeder had read", n)
		}
		w.wait(2 * time.Minute)
		equal(w, "groups promoted", len(w.promote()), 1)
	}},
	{name: "feed/a-dead-feeders-work-comes-back", run: func(w *world) {
		fedGroup(w)
		w.wait(queue.PromoteWait - 1)
		equal(w, "groups promoted too soon", len(w.promote()), 0)
		w.wait(1)
		promoted(w)
	}},
	{name: "feed/a-second-feeder-has-read-what-the-first-missed", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 2})
		g := w.group("g", 100)
		g.Next, g.Parked, g.ParkedDue = 98, 10, w.now
		w.put(g)
		l := w.one()
		promoted(w) // and this feeder dies
		parkTwo(w, l)
		w.wait(queue.PromoteWait)
		w.feed(food(promoted(w), spillway.One(20, 30), 2, w.now.Add(time.Minute)))
		equal(w, "parked", w.stats("g").Parked, 2)
	}},
	{name: "feed/frees-the-group-to-be-promoted", run: func(w *world) {
		w.feed(food(fedGroup(w), nil, 4, w.now.Add(time.Second)))
		equal(w, "groups promoted too soon", len(w.promote()), 0)
		w.wait(time.Second)
		promoted(w)
		g := w.group("g", 100)
		g.Version = 2
		w.put(g)
		promoted(w)
	}},
	{name: "feed/the-same-version-again-does-not-end-the-wait", run: func(w *world) {
		g := w.group("g", 100)
		g.Next, g.Parked, g.ParkedDue, g.Expires = 100, 10, w.now, w.now.Add(time.Hour)
		w.put(g)
		promoted(w)
		w.put(g)
		equal(w, "groups promoted again with parked work", len(w.promote()), 0)
		w.wait(time.Hour)
		equal(w, "groups promoted as expired", len(w.promote()), 1)
		for range 3 { // however often it is told what it knows
			w.put(g)
			equal(w, "groups promoted again as expired", len(w.promote()), 0)
			w.wait(queue.PromoteWait)
			equal(w, "groups promoted after the wait", len(w.promote()), 1)
		}
		g.Restate = true
		w.put(g)
		equal(w, "groups promoted after a restatement", len(w.promote()), 1)
	}},
	{name: "feed/a-restatement-outlives-an-older-feed", run: func(w *world) {
		d := fedGroup(w)
		g := w.group("g", 100)
		g.Restate, g.Next, g.Parked, g.ParkedDue = true, 100, 25, w.now
		w.put(g)
		w.feed(food(d, nil, 0, time.Time{}))
		equal(w, "parked", w.stats("g").Parked, 25)
	}},
	{name: "feed/beyond-the-room-stays-parked", run: func(w *world) {
		d := fedGroup(w)
		f := food(d, nil, 3, w.now)
		for i := range int64(queue.MaxEntries + 6) {
			f.Entries = append(f.Entries, queue.Retry{Jobs: spillway.One(i, i+1), NotBefore: w.now.Add(time.Duration(i-100) * time.Second)})
		}
		w.feed(f)
		s := w.stats("g")
		equal(w, "entries", s.Entries, queue.MaxEntries)
		equal(w, "parked", s.Parked, 9)
	}},
	{name: "feed/splits-at-chunks", run: func(w *world) {
		w.action(queue.Action{Name: "act", Batch: 1000})
		g := w.group("g", 3000)
		g.Next, g.Parked, g.ParkedDue = 3000, 20, w.now
		w.put(g)
		w.feed(food(promoted(w), spillway.One(990, 1010), 0, time.Time{}))
		a, b := w.one(), w.one()
		w.jobs(a, 990, 1000)
		w.jobs(b, 1000, 1010)
	}},
	{name: "feed/a-paused-group-is-not-promoted", run: func(w *world) {
		g := w.group("g", 100)
		g.Next, g.Parked, g.ParkedDue, g.Paused = 100, 10, w.now, true
		w.put(g)
		equal(w, "groups promoted", len(w.promote()), 0)
		g.Version, g.Paused = 2, false
		w.put(g)
		promoted(w)
	}},
	{name: "feed/at-most-so-many-and-the-earliest-first", run: func(w *world) {
		for i, id := range []string{"b", "a", "c"} {
			g := w.group(id, 1)
			g.Next, g.Parked, g.ParkedDue = 1, 1, w.now.Add(time.Duration(i)*time.Second)
			w.put(g)
		}
		w.wait(time.Minute)
		for _, id := range []spillway.GroupID{"b", "a", "c"} {
			got, err := w.q.Promote(w.Context(), w.now, 1)
			w.must(err)
			equal(w, "groups", len(got), 1)
			equal(w, "group", got[0].Group, id)
		}
	}},
}
