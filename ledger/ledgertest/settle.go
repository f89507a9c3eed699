package ledgertest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

var statuses = []spillway.Status{
	spillway.OK, spillway.Failed, spillway.Skipped, spillway.InDoubt, spillway.Retry, spillway.Throttled,
}

// Every second outcome after every first: which of them stands.
func testSettleRules(b *bench) {
	const n = 36
	b.group("g", n)
	due := b.now.Add(time.Minute)
	for i := range int64(n) {
		first, second := statuses[i/6], statuses[i%6]
		m1 := b.settle("g", again(first, 1, 2, due, i))
		if m1.Changed != 1 {
			b.Fatalf("first %v: %+v", first, m1)
		}
		m2 := b.settle("g", again(second, 2, 3, due.Add(time.Minute), i))
		j := b.job("g", i)
		waits := first == spillway.Retry || first == spillway.Throttled
		again := second == spillway.Retry || second == spillway.Throttled
		what := fmt.Sprintf("%v, then %v", first, second)
		switch {
		case first.Final():
			expect(b, what, m2, j, first, 0, 0)
		case first == spillway.InDoubt && second.Final():
			expect(b, what, m2, j, second, 1, 0) // held completion up no longer already
		case first == spillway.InDoubt:
			expect(b, what, m2, j, first, 0, 0)
		case waits && !again:
			expect(b, what, m2, j, second, 1, 1)
		case waits && again:
			if m2.Changed != 1 || m2.Planned.Len() != 1 || j.Done || !j.NotBefore.Equal(due.Add(time.Minute)) || j.Attempt != 3 {
				b.Errorf("%s: %+v, %+v", what, m2, j)
			}
		}
	}
	b.recount("g")
}

func expect(b *bench, what string, m ledger.Merged, j ledger.JobRecord, s spillway.Status, changed, finished int64) {
	b.Helper()
	if !j.Done || j.Status != s || m.Changed != changed || m.Finished.Len() != finished || m.Planned != nil {
		b.Errorf("%s: %+v, %+v; want %v, %d changed, %d finished", what, m, j, s, changed, finished)
	}
	if m.Succeeded+m.Failed+m.Skipped+m.InDoubt != finished {
		b.Errorf("%s: %+v does not add up", what, m)
	}
}

func testSettleTwice(b *bench) {
	b.group("g", 10)
	all := []ledger.Outcome{
		outcome(spillway.OK, 0, 1, 2), outcome(spillway.Failed, 3), outcome(spillway.Skipped, 4, 5), outcome(spillway.InDoubt, 6),
		again(spillway.Retry, 1, 2, b.now, 7), again(spillway.Throttled, 1, 1, b.now, 8),
	}
	m := b.settle("g", all...)
	b.same("merged", m, ledger.Merged{
		Finished: spillway.One(0, 7), Succeeded: 3, Failed: 1, Skipped: 2, InDoubt: 1, Planned: spillway.One(7, 9), Changed: 9,
	})
	b.counts("g", 3, 1, 2, 1, 1)
	if at := b.find("g").Started; !at.Equal(b.now) {
		b.Errorf("started %v, want %v", at, b.now)
	}
	b.now = b.now.Add(time.Second)
	b.same("merged again", b.settle("g", all...), ledger.Merged{})
	b.reopen()
	b.same("merged after reopening", b.settle("g", all...), ledger.Merged{})
	b.counts("g", 3, 1, 2, 1, 1)
	if at := b.find("g").Started; at.Equal(b.now) {
		b.Error("the start moved")
	}
}

// One call is one transaction, over groups and chunks.
func testSettleMany(b *bench) {
	b.group("a", 2500)
	b.group("b", 5)
	b.change("a", ledger.Seal)
	b.change("b", ledger.Seal)
	full := func(c int64) []ledger.Outcome {
		return []ledger.Outcome{{Jobs: spillway.One(c*1000, min(2500, c*1000+1000))}}
	}
	out, err := b.l.Settle(b.ctx(), b.now, []ledger.Settlement{
		{Group: "a", Chunk: 2, Outcomes: full(2)},
		{Group: "b", Outcomes: []ledger.Outcome{outcome(spillway.OK, 0, 1)}},
		{Group: "none", Outcomes: []ledger.Outcome{outcome(spillway.OK, 0)}},
		{Group: "a", Chunk: 0, Outcomes: full(0)},
		{Group: "a", Chunk: 1, Outcomes: full(1)},
		{Group: "b", Outcomes: []ledger.Outcome{outcome(spillway.OK, 1, 2)}},
		{Group: "b", Outcomes: []ledger.Outcome{{Jobs: spillway.One(0, 1000)}}}, // more than it has
		{Group: "b"},
	})
	b.ok(err)
	b.same("merged", out, []ledger.Merged{
		{Finished: spillway.One(2000, 2500), Succeeded: 500, Changed: 500},
		{Finished: spillway.Of(0, 1), Succeeded: 2, Changed: 2},
		{},
		{Finished: spillway.One(0, 1000), Succeeded: 1000, Changed: 1000},
		{Finished: spillway.One(1000, 2000), Succeeded: 1000, Changed: 1000, Ready: true},
		{Finished: spillway.Of(2), Succeeded: 1, Changed: 1},
		{Finished: spillway.Of(3, 4), Succeeded: 2, Changed: 2, Ready: true},
		{Ready: true},
	})
	b.recount("a")
	b.recount("b")
}

func testSettleRefused(b *bench) {
	b.group("g", 2000)
	for _, s := range []ledger.Settlement{
		{Group: "g", Chunk: 0, Outcomes: []ledger.Outcome{outcome(spillway.OK, 1000)}},
		{Group: "g", Chunk: 1, Outcomes: []ledger.Outcome{outcome(spillway.OK, 999)}},
		{Group: "g", Chunk: -1, Outcomes: []ledger.Outcome{outcome(spillway.OK, 0)}},
		{Group: "g", Outcomes: []ledger.Outcome{outcome(77, 0)}},
		{Group: "g", Outcomes: []ledger.Outcome{{Jobs: spillway.One(0, 2), Value: []byte("1")}}},
	} {
		good := ledger.Settlement{Group: "g", Outcomes: []ledger.Outcome{outcome(spillway.OK, 5)}}
		_, err := b.l.Settle(b.ctx(), b.now, []ledger.Settlement{good, s})
		b.refused(err, spillway.CodeInvalid)
	}
	b.counts("g", 0, 0, 0, 0, 0)
	if m := b.settle("g", again(spillway.Retry, 2, 2, b.now, 5)); m.Changed != 0 {
		b.Error("a retry of a delivery that never was is accepted")
	}
}

// Many callers settle the same jobs, each with what it saw: every job gets one
// outcome, and the answers add up to the counts.
func testSettleRace(b *bench) {
	b.group("g", 3000)
	var wg sync.WaitGroup
	var sum [4]atomic.Int64
	for k := range 8 {
		wg.Go(func() {
			for from := int64(0); from < 3000; from += 250 {
				at := (from + int64(k)*375) % 3000
				to := min(at+300, (spillway.ChunkOf(at)+1)*spillway.ChunkSize)
				out, err := b.l.Settle(b.ctx(), b.now, []ledger.Settlement{{Group: "g", Chunk: spillway.ChunkOf(at), Outcomes: []ledger.Outcome{
					{Jobs: spillway.One(at, to), Status: statuses[k%4], Reason: fmt.Sprint("by ", k)},
				}}})
				if err != nil {
					b.Error(err)
					return
				}
				m := out[0]
				for i, n := range []int64{m.Succeeded, m.Failed, m.Skipped, m.InDoubt} {
					sum[i].Add(n)
				}
			}
		})
	}
	wg.Wait()
	b.recount("g")
	c := b.find("g").Counts
	if got, want := c.Final(), sum[0].Load()+sum[1].Load()+sum[2].Load()+sum[3].Load(); got != want {
		b.Errorf("%d finished, answers add up to %d", got, want)
	}
	if c.InDoubt > sum[3].Load() || c.Succeeded < sum[0].Load() {
		b.Errorf("counts %+v, answers %d %d %d %d", c, sum[0].Load(), sum[1].Load(), sum[2].Load(), sum[3].Load())
	}
}
