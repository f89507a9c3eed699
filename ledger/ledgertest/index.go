package ledgertest

import (
	"fmt"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

func (b *bench) index(q ledger.IndexQuery) []ledger.Indexed {
	b.Helper()
	out, err := b.l.Index(b.ctx(), b.now, q)
	b.ok(err)
	for i := range out {
		b.same("group of the index", out[i].Group, b.find(out[i].Group.ID))
	}
	return out
}

func testIndex(b *bench) {
	for i := range 5 {
		b.group(spillway.GroupID(fmt.Sprint("g", i)), 10)
	}
	b.change("g0", ledger.Seal)
	b.settle("g0", ledger.Outcome{Jobs: spillway.One(0, 10)})
	b.complete("g0") // ended: not listed
	b.change("g1", ledger.Cancel)
	b.change("g2", ledger.Cancel)
	b.complete("g2") // finished: not listed
	b.change("g3", ledger.Pause)
	due := b.now.Add(time.Minute)
	b.settle("g4", outcome(spillway.OK, 0), again(spillway.Retry, 1, 2, due.Add(time.Second), 3), again(spillway.Throttled, 1, 1, due, 5, 6))

	ids := func(q ledger.IndexQuery) (got []string) {
		b.Helper()
		for _, x := range b.index(q) {
			got = append(got, string(x.Group.ID))
		}
		return got
	}
	b.same("index", ids(ledger.IndexQuery{}), []string{"g1", "g3", "g4"})
	b.same("first page", ids(ledger.IndexQuery{Limit: 2}), []string{"g1", "g3"})
	b.same("second page", ids(ledger.IndexQuery{After: "g3", Limit: 2}), []string{"g4"})
	b.same("by id", ids(ledger.IndexQuery{IDs: []spillway.GroupID{"g4", "g0", "none"}}), []string{"g4"})

	check := func() {
		b.Helper()
		out := b.index(ledger.IndexQuery{After: "g3"})
		if x := out[0]; x.Next != 7 || x.Waiting != 3 || !x.WaitingDue.Equal(due) {
			b.Errorf("next %d, %d waiting from %v; want 7, 3, %v", x.Next, x.Waiting, x.WaitingDue, due)
		}
		if x := b.index(ledger.IndexQuery{After: "g1", Limit: 1})[0]; x.Next != 0 || x.Waiting != 0 || !x.WaitingDue.IsZero() {
			b.Errorf("untouched: next %d, %d waiting from %v", x.Next, x.Waiting, x.WaitingDue)
		}
	}
	check()
	b.reopen()
	check()
	// Rows that were bad from the start lie ahead of what was delivered.
	b.ok(b.append(ledger.Append{Group: "g4", Offset: 10, Rows: rows(10, 20), Bad: []ledger.BadRow{{Index: 15}}}).Err)
	b.fill("g4", 20, 1000)
	b.ok(b.append(ledger.Append{Group: "g4", Offset: 1000, Rows: rows(1000, 1020), Bad: []ledger.BadRow{{Index: 1015}}}).Err)
	check()
}

// Adopt finds what was handed out and never heard of: gaps below the last job
// of which anything is known, whole chunks without a trace among them.
func testAdopt(b *bench) {
	b.group("g", 5000)
	due := b.now.Add(time.Hour)
	b.settle("g", ledger.Outcome{Jobs: spillway.One(0, 1000)})
	b.settle("g", ledger.Outcome{Jobs: spillway.One(1000, 1500)}, again(spillway.Retry, 1, 2, due, 1600))
	b.settle("g", outcome(spillway.OK, 3000), again(spillway.Retry, 1, 3, due, 3005))
	b.now = b.now.Add(time.Second)
	b.reopen()

	check := func() {
		b.Helper()
		x := b.index(ledger.IndexQuery{Adopt: true})[0]
		// 499 of chunk 1 and 1 retry, 1000 of chunk 2, 4 of chunk 3 and 1 retry.
		if x.Next != 3006 || x.Waiting != 1505 || !x.WaitingDue.Equal(b.now) {
			b.Fatalf("next %d, %d waiting from %v; want 3006, 1505, %v", x.Next, x.Waiting, x.WaitingDue, b.now)
		}
	}
	check()
	version := b.find("g").Version
	check() // adopting twice changes nothing
	b.reopen()
	check()
	b.recount("g")
	b.counts("g", 1501, 0, 0, 0, 2)
	if v := b.find("g").Version; v != version {
		b.Errorf("version %d after adopting again, want %d", v, version)
	}

	work, left, leftDue, err := b.l.Waiting(b.ctx(), "g", b.now, 100)
	b.ok(err)
	var jobs spillway.Spans
	for _, w := range work {
		jobs = jobs.Union(w.Jobs)
	}
	b.same("adopted", jobs, spillway.One(1500, 1600).Union(spillway.One(1601, 3000)).Union(spillway.One(3001, 3005)))
	if left != 2 || !leftDue.Equal(due) {
		b.Errorf("%d left, due %v; want 2, %v", left, leftDue, due)
	}

	// They keep their attempt, and what the lost delivery asks for is refused.
	v := b.verify("g", spillway.One(2000, 2002), false)
	if len(v.Plans) != 1 || v.Plans[0].Attempt != 1 || v.Plans[0].Lost != 0 {
		b.Fatalf("plans %+v, want one with attempt 1", v.Plans)
	}
	if m := b.settle("g", again(spillway.Retry, 1, 2, due, 2000)); m.Changed != 0 {
		b.Error("a retry of the lost delivery was accepted")
	}
	if m := b.settle("g", again(spillway.Retry, v.Plans[0].Delivery, 2, due, 2000)); m.Changed != 1 {
		b.Error("a retry of the new delivery was refused")
	}
	if m := b.settle("g", outcome(spillway.OK, 2001)); m.Succeeded != 1 {
		b.Error("a late final outcome was refused")
	}
}

func testAdoptAtMostOnce(b *bench) {
	n := newGroup("g")
	n.Spec.Delivery = spillway.AtMostOnce
	b.create(n)
	b.fill("g", 0, 2000)
	b.verify("g", spillway.One(0, 10), true)
	b.verify("g", spillway.One(20, 30), true)
	b.settle("g", outcome(spillway.OK, 0), again(spillway.Retry, 1, 2, b.now, 1, 2))
	b.verify("g", spillway.Of(2), true) // the second delivery of job 2
	b.reopen()

	x := b.index(ledger.IndexQuery{Adopt: true})[0]
	// In doubt: 2 to 9 and 20 to 29. Waiting: 1, and 10 to 19.
	if x.Next != 30 || x.Waiting != 11 || x.Group.Counts.InDoubt != 18 {
		b.Fatalf("next %d, %d waiting, %d in doubt; want 30, 11, 18", x.Next, x.Waiting, x.Group.Counts.InDoubt)
	}
	b.recount("g")
	v := b.verify("g", spillway.One(0, 40), true)
	b.same("to run", v.Run, spillway.Of(1).Union(spillway.One(10, 20)).Union(spillway.One(30, 40)))
	if m := b.settle("g", outcome(spillway.OK, 2, 5)); m.Changed != 2 || m.Finished != nil {
		b.Errorf("late outcomes of jobs in doubt: %+v", m)
	}
}

// Chunks that look complete by their numbers, and are not.
func testAdoptFullChunk(b *bench) {
	b.group("intent", 3)
	b.settle("intent", outcome(spillway.OK, 0, 1), again(spillway.Retry, 1, 2, b.now, 2))
	b.verify("intent", spillway.Of(2), true)
	b.create(newGroup("ragged"))
	b.ok(b.append(ledger.Append{Group: "ragged", Rows: rows(0, 10), Bad: []ledger.BadRow{{Index: 8}}}).Err)
	b.settle("ragged", outcome(spillway.OK, 0, 1, 2, 4))

	out := b.index(ledger.IndexQuery{Adopt: true})
	if x := out[0]; x.Group.Counts.InDoubt != 1 || x.Waiting != 0 {
		b.Errorf("intent: %d in doubt, %d waiting; want 1, 0", x.Group.Counts.InDoubt, x.Waiting)
	}
	if x := out[1]; x.Next != 5 || x.Waiting != 1 {
		b.Errorf("ragged: next %d, %d waiting; want 5, 1", x.Next, x.Waiting)
	}
}

func testTenants(b *bench) {
	b.group("a", 10)
	b.group("b", 10)
	n := newGroup("c")
	n.Tenant = "other"
	b.create(n)
	b.change("a", ledger.Cancel)
	b.complete("a")
	out, err := b.l.Tenants(b.ctx())
	b.ok(err)
	r := rows(0, 10)
	b.same("tenants", out, []ledger.TenantUse{
		{Tenant: "acme", Groups: 2, Unfinished: 1, Bytes: 2 * int64(len(r.Data))},
		{Tenant: "other", Groups: 1, Unfinished: 1},
	})
}
