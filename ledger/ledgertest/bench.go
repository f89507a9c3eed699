package ledgertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// epoch is when the tests begin; nothing in them reads a clock.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bench is a ledger under test, with words for what the tests do.
type bench struct {
	*testing.T
	store Store
	l     ledger.Ledger
	now   time.Time
}

func (b *bench) open() {
	b.Helper()
	var err error
	if b.l, err = b.store.Open(); err != nil {
		b.Fatalf("Open: %v", err)
	}
}

func (b *bench) close() {
	b.Helper()
	if b.l == nil {
		return
	}
	if err := b.l.Close(); err != nil {
		b.Errorf("Close: %v", err)
	}
	b.l = nil
}

// reopen is a restart: all that is in memory is gone.
func (b *bench) reopen() {
	b.Helper()
	b.close()
	b.open()
}

func (b *bench) ctx() context.Context { return context.Background() }

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// refused checks an error's code.
func (b *bench) refused(err error, want spillway.Code) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Fatalf("error %v, want code %s", err, want)
	}
}

// same compares, times by their instant and empty sets as nil.
func (b *bench) same(what string, got, want any) {
	b.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		b.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

func newGroup(id spillway.GroupID) ledger.NewGroup {
	return ledger.NewGroup{ID: id, Tenant: "acme", Action: "tag", Resource: "customers"}
}

func (b *bench) create(n ledger.NewGroup) ledger.Group {
	b.Helper()
	out, err := b.l.Create(b.ctx(), b.now, []ledger.NewGroup{n})
	b.ok(err)
	b.ok(out[0].Err)
	return out[0].Group
}

// group makes a group with n rows, not sealed.
func (b *bench) group(id spillway.GroupID, n int64) {
	b.Helper()
	b.create(newGroup(id))
	b.fill(id, 0, n)
}

// row is what the tests put into a job.
func row(i int64) json.RawMessage { return fmt.Appendf(nil, `{"n":%d}`, i) }

func rows(from, to int64) ledger.Rows {
	var r ledger.Rows
	for i := from; i < to; i++ {
		r.Add(row(i), 1)
	}
	return r
}

// fill appends the rows [from, to), a segment per chunk.
func (b *bench) fill(id spillway.GroupID, from, to int64) {
	b.Helper()
	var all []ledger.Append
	for from < to {
		end := min(to, (spillway.ChunkOf(from)+1)*spillway.ChunkSize)
		all = append(all, ledger.Append{Group: id, Offset: from, Rows: rows(from, end), Hash: uint64(end)})
		from = end
	}
	out, err := b.l.Append(b.ctx(), b.now, all)
	b.ok(err)
	for i := range out {
		b.ok(out[i].Err)
	}
}

func (b *bench) append(a ledger.Append) ledger.Appended {
	b.Helper()
	out, err := b.l.Append(b.ctx(), b.now, []ledger.Append{a})
	b.ok(err)
	return out[0]
}

func (b *bench) change(id spillway.GroupID, kind ledger.ChangeKind) ledger.Group {
	b.Helper()
	g, err := b.l.Change(b.ctx(), b.now, ledger.Change{Group: id, Kind: kind, Reason: "test"})
	b.ok(err)
	return g
}

func (b *bench) refuse(id spillway.GroupID, kind ledger.ChangeKind, want spillway.Code) {
	b.Helper()
	_, err := b.l.Change(b.ctx(), b.now, ledger.Change{Group: id, Kind: kind})
	b.refused(err, want)
}

func (b *bench) settle(id spillway.GroupID, outcomes ...ledger.Outcome) ledger.Merged {
	b.Helper()
	out, err := b.l.Settle(b.ctx(), b.now, []ledger.Settlement{{
		Group: id, Chunk: spillway.ChunkOf(outcomes[0].Jobs[0].From), Outcomes: outcomes,
	}})
	b.ok(err)
	b.recount(id)
	return out[0]
}

func outcome(s spillway.Status, jobs ...int64) ledger.Outcome {
	return ledger.Outcome{Jobs: spillway.Of(jobs...), Status: s}
}

// again is a retry or throttled outcome of a delivery.
func again(s spillway.Status, delivery, attempt int, due time.Time, jobs ...int64) ledger.Outcome {
	return ledger.Outcome{Jobs: spillway.Of(jobs...), Status: s, Plan: ledger.Plan{Attempt: attempt, Delivery: delivery, NotBefore: due}}
}

func (b *bench) verify(id spillway.GroupID, jobs spillway.Spans, intend bool) ledger.Verdict {
	b.Helper()
	out, err := b.l.Verify(b.ctx(), b.now, []ledger.Check{{Group: id, Jobs: jobs, Intend: intend}})
	b.ok(err)
	return out[0]
}

func (b *bench) find(id spillway.GroupID) ledger.Group {
	b.Helper()
	out, _, err := b.l.Find(b.ctx(), ledger.Filter{IDs: []spillway.GroupID{id}})
	b.ok(err)
	if len(out) != 1 {
		b.Fatalf("Find(%s): %d groups", id, len(out))
	}
	return out[0]
}

func (b *bench) complete(id spillway.GroupID) []ledger.Group {
	b.Helper()
	out, err := b.l.Complete(b.ctx(), b.now, []ledger.Completion{{Group: id, Result: json.RawMessage(`{"n":1}`)}})
	b.ok(err)
	return out
}

// all reads every job.
func (b *bench) all(q ledger.JobQuery) (jobs []ledger.JobRecord) {
	b.Helper()
	for {
		page, next, err := b.l.Read(b.ctx(), q)
		b.ok(err)
		jobs = append(jobs, page...)
		if next == 0 {
			return jobs
		}
		q.From = next
	}
}

func (b *bench) job(id spillway.GroupID, i int64) ledger.JobRecord {
	b.Helper()
	page, _, err := b.l.Read(b.ctx(), ledger.JobQuery{Group: id, From: i, Limit: 1})
	b.ok(err)
	if len(page) != 1 || page[0].Index != i {
		b.Fatalf("Read(%s, %d): %v", id, i, page)
	}
	return page[0]
}

// recount compares a group's counts with its jobs, read one by one.
func (b *bench) recount(id spillway.GroupID) {
	b.Helper()
	g := b.find(id)
	want := ledger.Counts{Checkpoint: g.Total, Retrying: g.Counts.Retrying}
	for _, j := range b.all(ledger.JobQuery{Group: id}) {
		if !j.Done || j.Status == spillway.InDoubt {
			want.Checkpoint = min(want.Checkpoint, j.Index)
		}
		if !j.Done {
			continue
		}
		switch j.Status {
		case spillway.OK:
			want.Succeeded++
		case spillway.Failed:
			want.Failed++
		case spillway.Skipped:
			want.Skipped++
		case spillway.InDoubt:
			want.InDoubt++
		}
	}
	b.same("counts of "+string(id)+", recounted", g.Counts, want)
}

// counts checks succeeded, failed, skipped, in doubt and retrying.
func (b *bench) counts(id spillway.GroupID, ok, failed, skipped, doubt, retrying int64) {
	b.Helper()
	c := b.find(id).Counts
	c.Checkpoint = 0
	b.same("counts", c, ledger.Counts{Succeeded: ok, Failed: failed, Skipped: skipped, InDoubt: doubt, Retrying: retrying})
}
