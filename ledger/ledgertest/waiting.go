package ledgertest

import (
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

func testWaiting(b *bench) {
	b.group("g", 4000)
	min := func(n int) time.Time { return b.now.Add(time.Duration(n) * time.Minute) }
	lost := again(spillway.Retry, 1, 2, min(2), 10)
	lost.Plan.Lost = 3
	b.settle("g", again(spillway.Retry, 1, 2, min(5), 1, 2), lost)
	b.settle("g", again(spillway.Retry, 1, 2, min(1), 3000), again(spillway.Retry, 1, 2, min(4), 3001, 3003))
	b.settle("g", again(spillway.Throttled, 1, 1, min(3), 1500))
	all := []ledger.Waiting{
		{Jobs: spillway.Of(3000), NotBefore: min(1), Failed: true},
		{Jobs: spillway.Of(10), NotBefore: min(2), Lost: 3, Failed: true},
		{Jobs: spillway.Of(1500), NotBefore: min(3)},
		{Jobs: spillway.Of(3001, 3003), NotBefore: min(4), Failed: true},
		{Jobs: spillway.Of(1, 2), NotBefore: min(5), Failed: true},
	}
	jobs := []int64{1, 1, 1, 2, 2}
	check := func(by time.Time, limit, want int) {
		b.Helper()
		due, left, leftDue, err := b.l.Waiting(b.ctx(), "g", by, limit)
		b.ok(err)
		b.same("due", due, all[:want])
		var wantLeft int64
		var wantDue time.Time
		for _, n := range jobs[want:] {
			wantLeft += n
		}
		if want < len(all) {
			wantDue = all[want].NotBefore
		}
		if left != wantLeft || !leftDue.Equal(wantDue) {
			b.Errorf("by %v, %d at most: %d left, due %v; want %d, %v", by, limit, left, leftDue, wantLeft, wantDue)
		}
	}
	for range 2 {
		check(b.now, 10, 0)
		check(min(2), 10, 2)
		check(min(3), 2, 2)
		check(min(60), 4, 4)
		check(min(60), 5, 5)
		check(min(60), 100, 5)
		check(min(60), 1, 1)
		b.reopen()
	}
	b.settle("g", outcome(spillway.OK, 3000))
	all, jobs = all[1:], jobs[1:]
	check(min(2), 10, 1)
	due, left, leftDue, err := b.l.Waiting(b.ctx(), "none", b.now, 10)
	if err != nil || due != nil || left != 0 || !leftDue.IsZero() {
		b.Errorf("an unknown group: %v, %d, %v, %v", due, left, leftDue, err)
	}
}
