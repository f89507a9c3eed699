package ledgertest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

func testRead(b *bench) {
	b.group("g", 2100)
	due := b.now.Add(time.Minute)
	value := outcome(spillway.OK, 1)
	value.Value = json.RawMessage(`{"id":1}`)
	failed := outcome(spillway.Failed, 2, 3)
	failed.Reason = "no such customer"
	both := outcome(spillway.Failed, 2050)
	both.Value, both.Reason = json.RawMessage(`null`), "half done"
	retry := again(spillway.Retry, 1, 2, due, 6)
	retry.Reason = "timeout"
	b.settle("g", outcome(spillway.OK, 0), value, failed, outcome(spillway.Skipped, 4), outcome(spillway.InDoubt, 5), retry)
	b.settle("g", both, outcome(spillway.OK, 2051))
	b.reopen()

	record := func(i int64, s spillway.Status, reason string, value json.RawMessage) ledger.JobRecord {
		return ledger.JobRecord{Index: i, Done: true, Status: s, Reason: reason, Value: value, Attempt: 1}
	}
	one := record(1, spillway.OK, "", json.RawMessage(`{"id":1}`))
	two, three := record(2, spillway.Failed, "no such customer", nil), record(3, spillway.Failed, "no such customer", nil)
	last := record(2050, spillway.Failed, "half done", json.RawMessage(`null`))
	for _, c := range []struct {
		what string
		q    ledger.JobQuery
		want []ledger.JobRecord
	}{
		{"failed", ledger.JobQuery{Statuses: []spillway.Status{spillway.Failed}}, []ledger.JobRecord{two, three, last}},
		{"from", ledger.JobQuery{Statuses: []spillway.Status{spillway.Failed}, From: 3}, []ledger.JobRecord{three, last}},
		{
			"skipped, in doubt",
			ledger.JobQuery{Statuses: []spillway.Status{spillway.InDoubt, spillway.Skipped}},
			[]ledger.JobRecord{record(4, spillway.Skipped, "", nil), record(5, spillway.InDoubt, "", nil)},
		},
		{"values", ledger.JobQuery{Values: true}, []ledger.JobRecord{one, last}},
		{"values of ok", ledger.JobQuery{Values: true, Statuses: []spillway.Status{spillway.OK}}, []ledger.JobRecord{one}},
		{"none", ledger.JobQuery{Statuses: []spillway.Status{}}, nil},
		{"retry", ledger.JobQuery{Statuses: []spillway.Status{spillway.Retry}}, nil},
		{"beyond", ledger.JobQuery{From: 2100}, nil},
	} {
		c.q.Group = "g"
		b.same(c.what, b.all(c.q), c.want)
		c.q.Limit = 1
		b.same(c.what+", a job a page", b.all(c.q), c.want)
	}
	b.same("waiting", b.job("g", 6), ledger.JobRecord{Index: 6, Reason: "timeout", Attempt: 2, NotBefore: due})
	b.same("untouched", b.job("g", 1500), ledger.JobRecord{Index: 1500, Attempt: 1})
	for _, j := range b.all(ledger.JobQuery{Group: "g", Data: true, From: 990, Limit: 500}) {
		if string(j.Data) != string(row(j.Index)) {
			b.Fatalf("job %d has data %s", j.Index, j.Data)
		}
	}
	_, _, err := b.l.Read(b.ctx(), ledger.JobQuery{Group: "none"})
	b.refused(err, spillway.CodeNotFound)
}

// A reason is that of the outcome which stands.
func testReadReasons(b *bench) {
	b.group("g", 10)
	say := func(s spillway.Status, delivery int, reason string) {
		b.Helper()
		o := again(s, delivery, delivery+1, b.now, 0)
		o.Reason = reason
		b.settle("g", o)
	}
	is := func(want string) {
		b.Helper()
		if got := b.job("g", 0).Reason; got != want {
			b.Errorf("reason %q, want %q", got, want)
		}
	}
	say(spillway.Retry, 1, "timeout")
	is("timeout")
	say(spillway.Retry, 1, "of an old delivery")
	is("timeout")
	say(spillway.Throttled, 2, "busy")
	is("busy")
	say(spillway.InDoubt, 3, "silence")
	is("silence")
	say(spillway.Failed, 3, "bad number")
	is("bad number")
	say(spillway.OK, 3, "too late")
	is("bad number")
	b.change("g", ledger.RetryFailed)
	is("")
	say(spillway.Failed, 4, "")
	is("")
	b.change("g", ledger.RetryFailed)
	say(spillway.Retry, 5, "timeout")
	b.settle("g", outcome(spillway.OK, 0))
	is("")
	b.reopen()
	is("")

	// Of an outcome of which a part counts, so does the reason.
	b.settle("g", outcome(spillway.OK, 5))
	b.settle("g", ledger.Outcome{Jobs: spillway.One(4, 7), Status: spillway.Failed, Reason: "down"})
	for i, want := range map[int64]string{4: "down", 5: "", 6: "down"} {
		if got := b.job("g", i).Reason; got != want {
			b.Errorf("job %d: reason %q, want %q", i, got, want)
		}
	}
}

func testReadPages(b *bench) {
	b.group("g", 3001)
	for i := int64(0); i < 3000; i += 1000 {
		b.settle("g", ledger.Outcome{Jobs: spillway.One(i, i+7), Status: spillway.Failed, Reason: fmt.Sprint("chunk ", i)})
	}
	for _, limit := range []int{1, 7, 10, 20, 21, 22} {
		jobs := b.all(ledger.JobQuery{Group: "g", Statuses: []spillway.Status{spillway.Failed}, Limit: limit})
		if len(jobs) != 21 {
			b.Errorf("%d jobs in pages of %d, want 21", len(jobs), limit)
		}
	}
	for _, limit := range []int{0, 999, 1000, 3001} {
		jobs := b.all(ledger.JobQuery{Group: "g", Limit: limit})
		for i, j := range jobs {
			if j.Index != int64(i) {
				b.Fatalf("job %d at place %d, in pages of %d", j.Index, i, limit)
			}
		}
		if len(jobs) != 3001 {
			b.Errorf("%d jobs in pages of %d, want 3001", len(jobs), limit)
		}
	}
	// A page goes through a stretch without any, however long.
	page, next, err := b.l.Read(b.ctx(), ledger.JobQuery{Group: "g", Statuses: []spillway.Status{spillway.OK}})
	if err != nil || page != nil || next != 0 {
		b.Errorf("no jobs: %v, next %d, %v", page, next, err)
	}
}
