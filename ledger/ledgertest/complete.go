package ledgertest

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

func testComplete(b *bench) {
	n := newGroup("g")
	n.Spec.Callback = "http://127.0.0.1/done"
	b.create(n)
	b.fill("g", 0, 4)
	never := func(when string) {
		b.Helper()
		if out := b.complete("g"); len(out) != 0 {
			b.Fatalf("completed %s", when)
		}
	}
	never("while it runs")
	if m := b.settle("g", outcome(spillway.OK, 0), outcome(spillway.Failed, 1), outcome(spillway.Skipped, 2)); m.Ready {
		b.Error("ready with a job to go")
	}
	b.change("g", ledger.Seal)
	never("with a job to go")
	b.settle("g", again(spillway.Retry, 1, 2, b.now, 3))
	never("with a job to be retried")
	if m := b.settle("g", outcome(spillway.InDoubt, 3)); !m.Ready {
		b.Error("not ready with all jobs final or in doubt")
	}
	before := b.find("g")
	b.now = b.now.Add(time.Minute)
	out := b.complete("g")
	if len(out) != 1 {
		b.Fatalf("%d groups completed, want 1", len(out))
	}
	want := before
	want.State, want.Version, want.Finished = spillway.Completed, before.Version+1, b.now
	want.Completions, want.Result, want.CallbackState = 1, json.RawMessage(`{"n":1}`), ledger.CallbackPending
	b.same("completed", out[0], want)
	b.reopen()
	b.same("found", b.find("g"), want)
	never("twice")

	b.create(newGroup("empty"))
	if b.change("empty", ledger.Seal); len(b.complete("empty")) != 1 {
		b.Error("an empty sealed group did not complete")
	}
	if out := b.complete("none"); len(out) != 0 {
		b.Error("an unknown group completed")
	}
	if due, err := b.l.Due(b.ctx(), b.now, 10, time.Minute); err != nil || len(due) != 1 || due[0].ID != "g.1" {
		b.Errorf("callbacks %v (%v), want the one of g", due, err)
	}
}

// Of many callers exactly one is answered a group's end.
func testCompleteOnce(b *bench) {
	b.group("g", 1)
	b.change("g", ledger.Seal)
	b.settle("g", outcome(spillway.OK, 0))
	var wg sync.WaitGroup
	var ended atomic.Int64
	for range 16 {
		wg.Go(func() {
			out, err := b.l.Complete(b.ctx(), b.now, []ledger.Completion{{Group: "g"}, {Group: "g"}})
			if err != nil {
				b.Error(err)
			}
			ended.Add(int64(len(out)))
		})
	}
	wg.Wait()
	if n := ended.Load(); n != 1 {
		b.Errorf("%d callers were answered the end, want 1", n)
	}
	if n := b.find("g").Completions; n != 1 {
		b.Errorf("%d completions, want 1", n)
	}
}

func testCompleteCancelled(b *bench) {
	n := newGroup("g")
	n.Spec.Callback = "http://127.0.0.1/done"
	b.create(n)
	b.fill("g", 0, 4)
	b.settle("g", outcome(spillway.OK, 0))
	b.change("g", ledger.Cancel)
	if !b.find("g").Finished.IsZero() {
		b.Error("a cancelled group is finished before its leases are in")
	}
	out := b.complete("g")
	if len(out) != 1 || out[0].State != spillway.Cancelled || !out[0].Finished.Equal(b.now) {
		b.Fatalf("the end of a cancelled group: %+v", out)
	}
	if len(b.complete("g")) != 0 {
		b.Error("a cancelled group ended twice")
	}
	if due, err := b.l.Due(b.ctx(), b.now, 10, time.Minute); err != nil || len(due) != 1 {
		b.Errorf("%d callbacks (%v), want 1", len(due), err)
	}
}
