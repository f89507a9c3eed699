package ledgertest

import (
	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// testLarge is a group of hundreds of chunks, through which calls go in pages.
func testLarge(b *bench) {
	const chunks = 600
	const total = chunks * spillway.ChunkSize
	var some ledger.Rows
	for range spillway.ChunkSize {
		some.Add([]byte("1"), 1)
	}
	b.create(newGroup("g"))
	var all []ledger.Append
	for c := range int64(chunks) {
		all = append(all, ledger.Append{Group: "g", Offset: c * spillway.ChunkSize, Rows: some})
	}
	out, err := b.l.Append(b.ctx(), b.now, all)
	b.ok(err)
	b.ok(out[chunks-1].Err)
	counts := func(what string, want ledger.Counts) {
		b.Helper()
		for range 2 {
			b.same(what, b.find("g").Counts, want)
			b.reopen() // in memory, and summed anew
		}
	}

	// All but the last was handed out, and lost.
	_, err = b.l.Settle(b.ctx(), b.now, []ledger.Settlement{{Group: "g", Chunk: chunks - 1, Outcomes: []ledger.Outcome{outcome(spillway.OK, total-1)}}})
	b.ok(err)
	if x := b.index(ledger.IndexQuery{Adopt: true})[0]; x.Next != total || x.Waiting != total-1 {
		b.Fatalf("next %d, %d waiting; want %d, %d", x.Next, x.Waiting, total, total-1)
	}

	each := func(s spillway.Status) {
		b.Helper()
		var all []ledger.Settlement
		for c := range int64(chunks) {
			jobs := spillway.One(c*spillway.ChunkSize, (c+1)*spillway.ChunkSize)
			all = append(all, ledger.Settlement{Group: "g", Chunk: c, Outcomes: []ledger.Outcome{{Jobs: jobs, Status: s}}})
		}
		_, err := b.l.Settle(b.ctx(), b.now, all)
		b.ok(err)
	}
	each(spillway.Failed)
	counts("failed", ledger.Counts{Failed: total - 1, Succeeded: 1, Checkpoint: total})
	b.change("g", ledger.RetryFailed)
	counts("retried", ledger.Counts{Retrying: total - 1, Succeeded: 1})
	each(spillway.InDoubt)
	counts("in doubt", ledger.Counts{InDoubt: total - 1, Succeeded: 1})
	_, err = b.resolve("g", nil, spillway.OK)
	b.ok(err)
	counts("resolved", ledger.Counts{Succeeded: total, Checkpoint: total})
	if sum, calls := b.prune(ledger.Prune{Tenant: "acme", Limit: 500}); sum.Chunks != chunks || sum.Groups != 1 || calls < 2 {
		b.Errorf("pruned %+v in %d calls", sum, calls)
	}
}
