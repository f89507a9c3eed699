package ledgertest

import (
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// A worker is lost, its lease reclaimed, and then it answers after all.
func testLateAfterReclaim(b *bench) {
	b.group("g", 10)
	due := b.now.Add(time.Minute)
	lost := ledger.Outcome{Jobs: spillway.One(0, 4), Status: spillway.Retry, Plan: ledger.Plan{Attempt: 2, Delivery: 1, Lost: 1, NotBefore: due}}
	if m := b.settle("g", lost); m.Planned.Len() != 4 {
		b.Fatalf("reclaimed: %+v", m)
	}
	// Its retry comes too late; its final outcome counts, there being none.
	if m := b.settle("g", again(spillway.Retry, 1, 2, b.now, 0)); m.Changed != 0 {
		b.Error("a late retry of a reclaimed delivery was accepted")
	}
	if m := b.settle("g", outcome(spillway.OK, 1)); m.Succeeded != 1 {
		b.Error("a late final outcome was refused")
	}
	v := b.verify("g", spillway.One(0, 4), false)
	b.same("to run", v.Run, spillway.Of(0, 2, 3))
	b.same("plans", v.Plans, []ledger.Plan{{Jobs: spillway.Of(0, 2, 3), Attempt: 2, Delivery: 2, Lost: 1, NotBefore: due}})
	// The second delivery fails what the first has done: the first one stands.
	m := b.settle("g", outcome(spillway.Failed, 1), outcome(spillway.Failed, 2), again(spillway.Retry, 2, 3, due, 3))
	if m.Failed != 1 || m.Changed != 2 {
		b.Errorf("second delivery: %+v", m)
	}
	b.counts("g", 1, 1, 0, 0, 2)
	if j := b.job("g", 1); j.Status != spillway.OK || j.Attempt != 2 || !j.NotBefore.IsZero() {
		b.Errorf("job 1: %+v", j)
	}
	if j := b.job("g", 3); j.Attempt != 3 || !j.NotBefore.Equal(due) {
		b.Errorf("job 3: %+v", j)
	}
}

func testLateAfterCancel(b *bench) {
	b.group("g", 10)
	b.settle("g", again(spillway.Retry, 1, 2, b.now, 7))
	b.change("g", ledger.Cancel)
	if m := b.settle("g", outcome(spillway.OK, 0), outcome(spillway.Failed, 1)); m.Changed != 2 || m.Ready {
		b.Errorf("after cancel: %+v", m)
	}
	b.complete("g")
	if m := b.settle("g", outcome(spillway.OK, 2)); m.Changed != 1 {
		b.Errorf("after the end: %+v", m)
	}
	b.counts("g", 2, 1, 0, 0, 1)
	if g := b.find("g"); g.State != spillway.Cancelled || g.Completions != 1 {
		b.Errorf("a late outcome changed the group: %+v", g)
	}
}

func (b *bench) failedGroup(id spillway.GroupID) {
	b.Helper()
	b.group(id, 2010)
	b.change(id, ledger.Seal)
	b.settle(id, ledger.Outcome{Jobs: spillway.One(0, 1000), Status: spillway.Failed, Reason: "first"})
	b.settle(id, ledger.Outcome{Jobs: spillway.One(1000, 2000)})
	b.settle(id, again(spillway.Retry, 1, 2, b.now, 2000))
	b.settle(id, outcome(spillway.Failed, 2000, 2001), ledger.Outcome{Jobs: spillway.One(2002, 2010), Status: spillway.Skipped})
	if len(b.complete(id)) != 1 {
		b.Fatal("not completed")
	}
}

func testRetryFailed(b *bench) {
	b.failedGroup("g")
	before := b.find("g")
	b.now = b.now.Add(time.Minute)
	g := b.change("g", ledger.RetryFailed)
	if g.State != spillway.Running || g.Version != before.Version+1 || !g.Finished.IsZero() || g.Completions != 1 {
		b.Fatalf("reopened: %+v", g)
	}
	if g.FailedBase != 0 || g.FinalBase != 1008 {
		b.Errorf("bases %d of %d: what failed before must not count", g.FailedBase, g.FinalBase)
	}
	b.recount("g")
	b.counts("g", 1000, 0, 8, 0, 1002)
	b.reopen()
	b.counts("g", 1000, 0, 8, 0, 1002)

	v := b.verify("g", spillway.One(2000, 2010), false)
	b.same("plans", v.Plans, []ledger.Plan{
		{Jobs: spillway.Of(2000), Attempt: 1, Delivery: 3, NotBefore: b.now}, // delivered twice before
		{Jobs: spillway.Of(2001), Attempt: 1, Delivery: 2, NotBefore: b.now},
	})
	if j := b.job("g", 5); j.Done || j.Reason != "" || j.Attempt != 1 || !j.NotBefore.Equal(b.now) {
		b.Errorf("a job that failed, reopened: %+v", j)
	}
	x := b.index(ledger.IndexQuery{})[0]
	if x.Waiting != 1002 || !x.WaitingDue.Equal(b.now) || x.Next != 2010 {
		b.Errorf("index: %d waiting from %v, next %d", x.Waiting, x.WaitingDue, x.Next)
	}

	// It completes a second time.
	b.settle("g", ledger.Outcome{Jobs: spillway.One(0, 1000)})
	if m := b.settle("g", outcome(spillway.Failed, 2000, 2001)); !m.Ready {
		b.Errorf("not ready: %+v", m)
	}
	if out := b.complete("g"); len(out) != 1 || out[0].Completions != 2 {
		b.Errorf("second completion: %+v", out)
	}
	if j := b.job("g", 5); j.Status != spillway.OK || j.Reason != "" {
		b.Errorf("job 5: %+v", j)
	}
}

// An answer of an old delivery, of before the retry, cannot plan the new one.
func testRetryFailedLateRetry(b *bench) {
	b.failedGroup("g")
	b.change("g", ledger.RetryFailed)
	late := b.now.Add(time.Hour)
	for delivery := 1; delivery <= 2; delivery++ {
		if m := b.settle("g", again(spillway.Retry, delivery, 5, late, 2000)); m.Changed != 0 {
			b.Errorf("a retry of delivery %d was accepted for delivery 3", delivery)
		}
	}
	if m := b.settle("g", again(spillway.Retry, 3, 2, late, 2000)); m.Changed != 1 {
		b.Error("a retry of the current delivery was refused")
	}
	// Again and again, the number stays unlike all before.
	b.settle("g", outcome(spillway.Failed, 2000))
	b.change("g", ledger.RetryFailed)
	if v := b.verify("g", spillway.Of(2000), false); v.Plans[0].Delivery != 5 || v.Plans[0].Attempt != 1 {
		b.Errorf("plans %+v, want delivery 5, attempt 1", v.Plans)
	}
	if m := b.settle("g", outcome(spillway.OK, 2000)); m.Succeeded != 1 {
		b.Error("a late success was refused")
	}
}

// A row that could not be read stays failed.
func testRetryFailedLeavesBadRows(b *bench) {
	b.create(newGroup("g"))
	b.ok(b.append(ledger.Append{Group: "g", Rows: rows(0, 10), Bad: []ledger.BadRow{{Index: 3, Reason: "ragged"}}}).Err)
	b.change("g", ledger.Seal)
	version := b.find("g").Version
	if g := b.change("g", ledger.RetryFailed); g.Version != version || g.Counts.Failed != 1 {
		b.Errorf("with bad rows alone: %+v, want no change", g)
	}
	b.settle("g", outcome(spillway.Failed, 2, 4))
	b.change("g", ledger.RetryFailed)
	b.counts("g", 0, 1, 0, 0, 2)
	b.same("job 3", b.job("g", 3), ledger.JobRecord{Index: 3, Done: true, Status: spillway.Failed, Reason: "ragged", Attempt: 1})
	v := b.verify("g", spillway.One(0, 10), false)
	b.same("final", v.Final, spillway.Of(3))
}
