package ledgertest

import (
	"fmt"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// prune repeats a bounded call until nothing is left.
func (b *bench) prune(p ledger.Prune) (sum ledger.Pruned, calls int) {
	b.Helper()
	for {
		out, err := b.l.Prune(b.ctx(), b.now, p)
		b.ok(err)
		calls++
		sum.Groups += out.Groups
		sum.Chunks += out.Chunks
		if !out.More {
			return sum, calls
		}
		if calls > 1000 {
			b.Fatal("pruning does not end")
		}
	}
}

// ended makes a group of n jobs with all that can hang on one, and ends it.
func (b *bench) ended(id spillway.GroupID, tenant spillway.TenantID, n int64) {
	b.Helper()
	g := newGroup(id)
	g.Tenant, g.Key, g.Spec.Callback = tenant, string(id), "http://127.0.0.1/"
	b.create(g)
	b.fill(id, 0, n)
	b.change(id, ledger.Seal)
	for i := int64(0); i < n; i += spillway.ChunkSize {
		b.settle(id, ledger.Outcome{Jobs: spillway.One(i, min(n, i+spillway.ChunkSize)), Status: spillway.Skipped, Reason: "why not"})
	}
	if len(b.complete(id)) != 1 {
		b.Fatalf("%s did not complete", id)
	}
}

func (b *bench) payload(id spillway.GroupID, jobs spillway.Spans) ledger.Payload {
	b.Helper()
	out, err := b.l.Payload(b.ctx(), []ledger.JobSet{{Group: id, Jobs: jobs}})
	b.ok(err)
	return out[0]
}

func testPrunePayloads(b *bench) {
	b.ended("old", "acme", 5500)
	b.group("open", 10)
	b.now = b.now.Add(time.Hour)
	b.ended("young", "acme", 10)
	limit := epoch.Add(time.Minute)
	sum, calls := b.prune(ledger.Prune{Payloads: limit, Limit: 2})
	if sum.Chunks != 6 || sum.Groups != 0 || calls < 3 {
		b.Errorf("%+v in %d calls; want 6 chunks, no groups, 2 chunks a call at most", sum, calls)
	}
	if sum, calls := b.prune(ledger.Prune{Payloads: limit}); sum.Chunks != 0 || calls != 1 {
		b.Errorf("again: %+v in %d calls, want nothing", sum, calls)
	}
	for _, i := range []int64{0, 4500, 5499} {
		p := b.payload("old", spillway.One(i, i+1))
		if _, _, ok := p.At(i); ok {
			b.Errorf("the payload of job %d is still there", i)
		}
	}
	if j := b.job("old", 4500); j.Status != spillway.Skipped || j.Reason != "why not" {
		b.Errorf("the outcome is gone: %+v", j)
	}
	if j := b.all(ledger.JobQuery{Group: "old", Data: true, Limit: 1}); len(j) != 5500 || j[0].Data != nil {
		b.Errorf("read %d jobs, data %s", len(j), j[0].Data)
	}
	for _, id := range []spillway.GroupID{"open", "young"} {
		p := b.payload(id, spillway.One(3, 4))
		if _, _, ok := p.At(3); !ok {
			b.Errorf("the payload of %s is gone", id)
		}
	}
	b.recount("old")
}

func testPruneGroups(b *bench) {
	b.ended("old", "acme", 2500)
	b.ended("old2", "acme", 10)
	b.group("open", 10)
	b.group("cancelled", 10)
	b.change("cancelled", ledger.Cancel) // not finished: may have leases out
	b.now = b.now.Add(time.Hour)
	b.ended("young", "acme", 10)
	sum, _ := b.prune(ledger.Prune{Groups: epoch.Add(time.Minute), Limit: 1})
	if sum.Groups != 2 {
		b.Errorf("%d groups deleted, want 2", sum.Groups)
	}
	check := func() {
		b.Helper()
		all, _, err := b.l.Find(b.ctx(), ledger.Filter{})
		b.ok(err)
		var ids []string
		for _, g := range all {
			ids = append(ids, string(g.ID))
		}
		b.same("left", ids, []string{"cancelled", "open", "young"})
		_, _, err = b.l.Read(b.ctx(), ledger.JobQuery{Group: "old"})
		b.refused(err, spillway.CodeNotFound)
		if v := b.verify("old", spillway.One(0, 10), false); v.State != "" {
			b.Errorf("verify of a deleted group: %+v", v)
		}
		if p := b.payload("old", spillway.One(0, 10)); p.Segments != nil {
			b.Error("the payload of a deleted group is still there")
		}
	}
	check()
	b.reopen()
	check()
	due, err := b.l.Due(b.ctx(), b.now, 10, time.Minute)
	b.ok(err)
	if len(due) != 1 || due[0].Group != "young" {
		b.Errorf("callbacks %v, want that of young alone", due)
	}
	// Its key and its id are free again, and nothing of it shows through.
	n := newGroup("old")
	n.Key = "old"
	if g := b.create(n); g.Total != 0 || g.Counts.Final() != 0 {
		b.Errorf("made anew: %+v", g)
	}
	b.fill("old", 0, 1500)
	b.recount("old")
	b.counts("old", 0, 0, 0, 0, 0)
	if j := b.job("old", 1400); j.Done {
		b.Errorf("made anew: %+v", j)
	}
}

func testPruneTenant(b *bench) {
	for i := range 3 {
		b.ended(spillway.GroupID(fmt.Sprint("done", i)), "gone", 1200)
	}
	n := newGroup("running")
	n.Tenant = "gone"
	b.create(n)
	b.fill("running", 0, 3000)
	b.settle("running", again(spillway.Retry, 1, 2, b.now, 5))
	b.group("other", 10)
	b.ok(b.l.Save(b.ctx(), b.now, []ledger.Setting{{Kind: "tenant", Name: "gone", Value: []byte(`1`), By: "me"}}))

	sum, calls := b.prune(ledger.Prune{Tenant: "gone", Limit: 2})
	if sum.Groups != 4 || calls < 4 {
		b.Errorf("%+v in %d calls, want 4 groups in bounded steps", sum, calls)
	}
	use, err := b.l.Tenants(b.ctx())
	b.ok(err)
	if len(use) != 1 || use[0].Tenant != "acme" {
		b.Errorf("tenants %v, want acme alone", use)
	}
	if due, err := b.l.Due(b.ctx(), b.now, 10, time.Minute); err != nil || len(due) != 0 {
		b.Errorf("callbacks %v (%v) of an erased tenant", due, err)
	}
	if x := b.index(ledger.IndexQuery{}); len(x) != 1 || x[0].Group.ID != "other" {
		b.Errorf("index %v, want other alone", x)
	}
	b.refused(b.append(ledger.Append{Group: "running", Offset: 3000, Rows: rows(3000, 3001)}).Err, spillway.CodeNotFound)
	out, err := b.l.Settle(b.ctx(), b.now, []ledger.Settlement{{Group: "running", Outcomes: []ledger.Outcome{outcome(spillway.OK, 1)}}})
	b.ok(err)
	b.same("settled", out, []ledger.Merged{{}})
	if s, err := b.l.Load(b.ctx(), "tenant"); err != nil || len(s) != 1 {
		b.Errorf("settings %v (%v), want them kept", s, err)
	}
}

// A group that is half erased does not run, and is not taken up again.
func testPruneTenantRunning(b *bench) {
	b.group("g", 5000)
	b.settle("g", outcome(spillway.OK, 4000))
	out, err := b.l.Prune(b.ctx(), b.now, ledger.Prune{Tenant: "acme", Limit: 2})
	b.ok(err)
	if !out.More || out.Chunks != 2 {
		b.Fatalf("pruned %+v, want 2 chunks and more to come", out)
	}
	if v := b.verify("g", spillway.One(4001, 4010), true); v.State.Runs() || v.Run != nil {
		b.Errorf("it still runs: %+v", v)
	}
	if x := b.index(ledger.IndexQuery{Adopt: true}); len(x) != 0 {
		b.Errorf("it is taken up again: %+v", x)
	}
	b.prune(ledger.Prune{Tenant: "acme"})
}
