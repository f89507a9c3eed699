package ledgertest

import (
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

func (b *bench) resolve(id spillway.GroupID, index *int64, as spillway.Status) (ledger.Group, error) {
	b.Helper()
	return b.l.Change(b.ctx(), b.now, ledger.Change{Group: id, Kind: ledger.Resolve, Index: index, As: as, Reason: "by hand"})
}

func at(i int64) *int64 { return &i }

// doubtful makes a completed group with jobs in doubt in two chunks.
func (b *bench) doubtful(id spillway.GroupID) {
	b.Helper()
	b.group(id, 2000)
	b.change(id, ledger.Seal)
	b.settle(id, outcome(spillway.InDoubt, 0, 1, 2, 3), ledger.Outcome{Jobs: spillway.One(4, 1000)})
	b.settle(id, again(spillway.Retry, 1, 2, b.now, 1000))
	b.settle(id, outcome(spillway.InDoubt, 1000), ledger.Outcome{Jobs: spillway.One(1001, 2000)})
	if len(b.complete(id)) != 1 {
		b.Fatal("jobs in doubt hold completion up")
	}
}

func testResolve(b *bench) {
	b.doubtful("g")
	version := b.find("g").Version
	g, err := b.resolve("g", at(0), spillway.OK)
	b.ok(err)
	if g.State != spillway.Completed || g.Version != version+1 || g.Completions != 1 {
		b.Errorf("resolved one: %+v", g)
	}
	b.counts("g", 1996, 0, 0, 4, 0)
	g, err = b.resolve("g", at(0), spillway.OK)
	b.ok(err)
	if g.Version != version+1 {
		b.Error("resolving the same again is a change")
	}
	_, err = b.resolve("g", at(0), spillway.Failed)
	b.refused(err, spillway.CodeState)
	_, err = b.resolve("g", at(2000), spillway.OK)
	b.refused(err, spillway.CodeNotFound)
	_, err = b.resolve("g", nil, spillway.Skipped)
	b.refused(err, spillway.CodeInvalid)
	_, err = b.resolve("none", nil, spillway.OK)
	b.refused(err, spillway.CodeNotFound)

	_, err = b.resolve("g", nil, spillway.Failed)
	b.ok(err)
	b.recount("g")
	b.counts("g", 1996, 4, 0, 0, 0)
	if j := b.job("g", 1000); j.Status != spillway.Failed || j.Reason != "by hand" || j.Attempt != 2 {
		b.Errorf("job 1000: %+v", j)
	}
	if due, err := b.l.Due(b.ctx(), b.now, 10, time.Minute); err != nil || len(due) != 0 {
		b.Errorf("callbacks %v (%v), want none", due, err)
	}
	if len(b.complete("g")) != 0 {
		b.Error("completed a second time")
	}
}

// A person and a late outcome decide the same job: the first one stands.
func testResolveLate(b *bench) {
	b.doubtful("g")
	_, err := b.resolve("g", at(0), spillway.Failed)
	b.ok(err)
	if m := b.settle("g", outcome(spillway.OK, 0)); m.Changed != 0 {
		b.Error("a late outcome replaced a person's decision")
	}
	if m := b.settle("g", outcome(spillway.OK, 1)); m.Changed != 1 || m.Finished != nil {
		b.Errorf("a late outcome of a job in doubt: %+v", m)
	}
	_, err = b.resolve("g", at(1), spillway.Failed)
	b.refused(err, spillway.CodeState)
	b.counts("g", 1996, 1, 0, 3, 0)
	if g := b.find("g"); g.State != spillway.Completed || g.Completions != 1 {
		b.Errorf("a late outcome changed the group: %+v", g)
	}
}

func testResolveRetry(b *bench) {
	b.doubtful("g")
	version := b.find("g").Version
	g, err := b.resolve("g", at(2), spillway.Retry)
	b.ok(err)
	if g.State != spillway.Running || g.Version != version+1 || !g.Finished.IsZero() {
		b.Errorf("reopened: %+v", g)
	}
	_, err = b.resolve("g", at(2), spillway.Retry)
	b.ok(err) // it is so already
	_, err = b.resolve("g", nil, spillway.Retry)
	b.ok(err)
	b.recount("g")
	b.counts("g", 1995, 0, 0, 0, 0) // they are pending: none of them failed
	v := b.verify("g", spillway.Of(1000), true)
	if v.Run.Len() != 1 || v.Plans[0].Delivery != 3 || v.Plans[0].Attempt != 1 {
		b.Errorf("verdict %+v, want delivery 3, attempt 1", v)
	}
	if m := b.settle("g", again(spillway.Retry, 2, 9, b.now, 1000)); m.Changed != 0 {
		b.Error("a retry of the delivery that was in doubt is accepted")
	}
	b.settle("g", outcome(spillway.OK, 0, 1, 2, 3))
	if m := b.settle("g", outcome(spillway.OK, 1000)); !m.Ready || len(b.complete("g")) != 1 {
		b.Error("it did not complete again")
	}

	b.group("c", 5)
	b.settle("c", outcome(spillway.InDoubt, 0, 1))
	b.change("c", ledger.Cancel)
	_, err = b.resolve("c", nil, spillway.Retry)
	b.refused(err, spillway.CodeState)
	_, err = b.resolve("c", at(0), spillway.OK)
	b.ok(err)
	b.counts("c", 1, 0, 0, 1, 0)
}
