package ledgertest

import (
	"fmt"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

func testFind(b *bench) {
	for i := range 7 {
		n := newGroup(spillway.GroupID(fmt.Sprint("g", i)))
		if i%2 == 1 {
			n.Tenant = "odd"
		}
		if i > 4 {
			n.Key = fmt.Sprint("k", i)
		}
		b.create(n)
	}
	b.change("g2", ledger.Pause)
	b.change("g3", ledger.Pause)
	key, noKey := "k6", ""
	ids := func(f ledger.Filter) (got []string) {
		b.Helper()
		for {
			page, next, err := b.l.Find(b.ctx(), f)
			b.ok(err)
			if f.Limit > 0 && len(page) > f.Limit {
				b.Fatalf("%d groups on a page of %d", len(page), f.Limit)
			}
			for _, g := range page {
				got = append(got, string(g.ID))
			}
			if f.Cursor = next; next == "" {
				return got
			}
		}
	}
	for _, c := range []struct {
		f    ledger.Filter
		want []string
	}{
		{ledger.Filter{}, []string{"g0", "g1", "g2", "g3", "g4", "g5", "g6"}},
		{ledger.Filter{Limit: 3}, []string{"g0", "g1", "g2", "g3", "g4", "g5", "g6"}},
		{ledger.Filter{Limit: 7}, []string{"g0", "g1", "g2", "g3", "g4", "g5", "g6"}},
		{ledger.Filter{Newest: true, Limit: 2}, []string{"g6", "g5", "g4", "g3", "g2", "g1", "g0"}},
		{ledger.Filter{Tenant: "odd"}, []string{"g1", "g3", "g5"}},
		{ledger.Filter{Tenant: "odd", Newest: true, Limit: 1}, []string{"g5", "g3", "g1"}},
		{ledger.Filter{Tenant: "none"}, nil},
		{ledger.Filter{IDs: []spillway.GroupID{"g5", "g1", "none"}}, []string{"g1", "g5"}},
		{ledger.Filter{IDs: []spillway.GroupID{}}, nil},
		{ledger.Filter{Tenant: "acme", Key: &key}, []string{"g6"}},
		{ledger.Filter{Tenant: "odd", Key: &key}, nil},
		{ledger.Filter{Tenant: "odd", Key: &noKey}, []string{"g1", "g3"}},
		{ledger.Filter{States: []spillway.State{spillway.Paused}}, []string{"g2", "g3"}},
		{ledger.Filter{States: []spillway.State{spillway.Paused, spillway.Receiving}, Tenant: "odd"}, []string{"g1", "g3", "g5"}},
		{ledger.Filter{States: []spillway.State{spillway.Completed}}, nil},
	} {
		b.same(fmt.Sprintf("Find(%+v)", c.f), ids(c.f), c.want)
	}
}

// The checkpoint is the lowest job without a final outcome, wherever the gaps.
func testCheckpoint(b *bench) {
	b.group("g", 3500)
	at := func(want int64) {
		b.Helper()
		if got := b.find("g").Counts.Checkpoint; got != want {
			b.Fatalf("checkpoint %d, want %d", got, want)
		}
		b.recount("g")
	}
	ok := func(from, to int64) {
		b.Helper()
		b.settle("g", ledger.Outcome{Jobs: spillway.One(from, to)})
	}
	at(0)
	ok(1000, 2000)
	at(0)
	ok(1, 1000)
	at(0)
	ok(0, 1)
	at(2000)
	ok(3000, 3500)
	at(2000)
	b.settle("g", outcome(spillway.InDoubt, 2000))
	ok(2001, 3000)
	at(2000) // in doubt is not final
	b.reopen()
	at(2000)
	b.settle("g", outcome(spillway.Skipped, 2000))
	at(3500)
	b.fill("g", 3500, 4200) // the last chunk was full, and grows
	at(3500)
	ok(3500, 4000)
	at(4000)
	b.settle("g", outcome(spillway.Failed, 4000))
	at(4001)
	b.change("g", ledger.RetryFailed)
	at(4000) // and it can go back
	b.settle("g", outcome(spillway.Failed, 4000))
	at(4001)
}

// What Find answers is of one moment, while outcomes come in: jobs are settled
// in order, so the checkpoint is always the number of successes.
func testFindSnapshot(b *bench) {
	b.group("g", 1000)
	done := make(chan error)
	go func() {
		for i := range int64(200) {
			_, err := b.l.Settle(b.ctx(), b.now, []ledger.Settlement{{Group: "g", Outcomes: []ledger.Outcome{outcome(spillway.OK, i)}}})
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		g := b.find("g")
		if g.Counts.Checkpoint != g.Counts.Succeeded {
			b.Errorf("checkpoint %d with %d successes", g.Counts.Checkpoint, g.Counts.Succeeded)
		}
		select {
		case err := <-done:
			b.ok(err)
			return
		default:
		}
	}
}
