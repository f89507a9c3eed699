package ledgertest

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

func testVerify(b *bench) {
	b.group("g", 100)
	due := b.now.Add(time.Minute)
	b.settle("g", outcome(spillway.OK, 1), outcome(spillway.Failed, 2), outcome(spillway.Skipped, 3), outcome(spillway.InDoubt, 4),
		again(spillway.Retry, 1, 2, due, 6, 8), again(spillway.Throttled, 1, 1, due, 5))
	version := b.find("g").Version
	for range 2 {
		v := b.verify("g", spillway.One(0, 10), false)
		b.same("verdict", v, ledger.Verdict{
			State: spillway.Receiving, Version: version,
			Run:   spillway.Of(0).Union(spillway.One(5, 10)),
			Final: spillway.One(1, 5),
			Plans: []ledger.Plan{
				{Jobs: spillway.Of(5), Attempt: 1, Delivery: 2, NotBefore: due},
				{Jobs: spillway.Of(6, 8), Attempt: 2, Delivery: 2, NotBefore: due},
			},
		})
		b.reopen()
	}
	if v := b.verify("g", spillway.One(90, 110), false); v.Run[0] != (spillway.Span{From: 90, To: 100}) {
		b.Errorf("runs %v of 100 jobs", v.Run)
	}
	_, err := b.l.Verify(b.ctx(), b.now, []ledger.Check{{Group: "g", Jobs: spillway.One(990, 1010)}})
	b.refused(err, spillway.CodeInvalid)

	b.group("h", 10)
	b.change("h", ledger.Cancel)
	out, err := b.l.Verify(b.ctx(), b.now, []ledger.Check{
		{Group: "none", Jobs: spillway.One(0, 5)}, {Group: "h", Jobs: spillway.One(0, 5)}, {Group: "g", Jobs: spillway.One(0, 2)},
	})
	b.ok(err)
	b.same("verdicts", out, []ledger.Verdict{
		{},
		{State: spillway.Cancelled, Version: b.find("h").Version},
		{State: spillway.Receiving, Version: version, Run: spillway.Of(0), Final: spillway.Of(1)},
	})
}

func testVerifyIntend(b *bench) {
	b.group("g", 100)
	if v := b.verify("g", spillway.One(0, 10), true); v.Run.Len() != 10 || v.Final != nil {
		b.Errorf("first: %+v", v)
	}
	b.reopen()
	if v := b.verify("g", spillway.One(5, 15), true); v.Run.Len() != 5 || v.Run[0].From != 10 || v.Final != nil {
		b.Errorf("overlapping: %+v, want 10 to 14", v)
	}
	// What certifies no effect clears the intent, for the next delivery alone.
	b.settle("g", again(spillway.Retry, 1, 2, b.now, 3), again(spillway.Throttled, 1, 1, b.now, 4))
	v := b.verify("g", spillway.One(0, 10), true)
	b.same("runs again", v.Run, spillway.Of(3, 4))
	if len(v.Plans) != 2 || v.Plans[0].Delivery != 2 || v.Plans[0].Attempt != 2 || v.Plans[1].Attempt != 1 {
		b.Errorf("plans %+v", v.Plans)
	}
	if v := b.verify("g", spillway.One(0, 10), true); v.Run != nil || v.Plans != nil {
		b.Errorf("once more: %+v, want nothing", v)
	}
	b.settle("g", outcome(spillway.OK, 0), outcome(spillway.InDoubt, 1))
	if v := b.verify("g", spillway.One(0, 10), true); v.Run != nil || v.Final.Len() != 2 {
		b.Errorf("after outcomes: %+v", v)
	}
}

// The intent of each job is set by one caller.
func testVerifyIntendRace(b *bench) {
	b.group("g", 1000)
	var wg sync.WaitGroup
	var given [1000]atomic.Int64
	for range 8 {
		wg.Go(func() {
			for from := int64(0); from < 1000; from += 50 {
				out, err := b.l.Verify(b.ctx(), b.now, []ledger.Check{{Group: "g", Jobs: spillway.One(from, min(from+75, 1000)), Intend: true}})
				if err != nil {
					b.Error(err)
					return
				}
				for i := range out[0].Run.All {
					given[i].Add(1)
				}
			}
		})
	}
	wg.Wait()
	for i := range given {
		if n := given[i].Load(); n != 1 {
			b.Fatalf("job %d was given to %d callers, want 1", i, n)
		}
	}
}

func testPayload(b *bench) {
	b.create(newGroup("g"))
	costly := ledger.Rows{}
	for i := range int64(10) {
		costly.Add(row(i), i)
	}
	mine := rows(10, 600)
	b.ok(b.append(ledger.Append{Group: "g", Rows: costly}).Err)
	b.ok(b.append(ledger.Append{Group: "g", Offset: 10, Rows: mine}).Err)
	clear(mine.Data) // the caller's again
	b.fill("g", 600, 2300)
	b.ok(b.append(ledger.Append{Group: "g", Offset: 2300, Rows: func() (r ledger.Rows) {
		r.Add(nil, 1)
		r.Add(bytes.Repeat([]byte("long "), 200_000), 1)
		return r
	}()}).Err)
	check := func() {
		b.Helper()
		out, err := b.l.Payload(b.ctx(), []ledger.JobSet{
			{Group: "g", Jobs: spillway.Of(0, 9, 10, 599, 600, 999)},
			{Group: "g", Jobs: spillway.One(2000, 2302)},
			{Group: "none", Jobs: spillway.One(0, 5)},
			{Group: "g"},
		})
		b.ok(err)
		for _, i := range []int64{0, 9, 10, 599, 600, 999} {
			data, cost, ok := out[0].At(i)
			if want := max(1, i*int64(number(i < 10))); !ok || !bytes.Equal(data, row(i)) || cost != want {
				b.Fatalf("job %d: %s, cost %d, %v; want %s, %d", i, data, cost, ok, row(i), want)
			}
		}
		if data, _, ok := out[1].At(2300); !ok || len(data) != 0 {
			b.Errorf("an empty row: %q, %v", data, ok)
		}
		if data, _, ok := out[1].At(2301); !ok || len(data) != 1_000_000 {
			b.Errorf("a long row: %d bytes, %v", len(data), ok)
		}
		if _, _, ok := out[1].At(2302); ok || out[2].Segments != nil || out[3].Segments != nil {
			b.Errorf("rows that do not exist: %v", fmt.Sprint(ok))
		}
	}
	check()
	b.reopen()
	check()
	check() // what was read is as good as what was written
	_, err := b.l.Payload(b.ctx(), []ledger.JobSet{{Group: "g", Jobs: spillway.One(999, 1001)}})
	b.refused(err, spillway.CodeInvalid)
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
