package bulk_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/bulktest"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// quiet keeps what an engine says of faults out of the test's log.
var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// runs counts how often each job of a group ran.
type runs struct {
	mu    sync.Mutex
	count map[int64]int
}

func (r *runs) note(b *bulk.Batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == nil {
		r.count = map[int64]int{}
	}
	for _, j := range b.Jobs {
		r.count[j.Index]++
	}
}

func (r *runs) then(h bulk.Handler) bulk.Handler {
	return func(ctx context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
		r.note(b)
		return h(ctx, b)
	}
}

// persist repeats a submission until it is accepted, as a client with a key
// does.
func persist(t *testing.T, b *bulktest.Bench, s bulk.Submission, n int) *bulk.Group {
	t.Helper()
	for range 200 {
		g, _, err := b.Engine.Submit(t.Context(), s, bulktest.Numbers(n))
		if err == nil && g.Sealed {
			return g
		}
		time.Sleep(time.Second)
	}
	t.Fatal("the submission was never accepted")
	return nil
}

func TestNothingIsLostWhenStoresFail(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 600
	}
	for seed := range uint64(4) {
		for _, delivery := range []spillway.Delivery{spillway.AtLeastOnce, spillway.AtMostOnce} {
			t.Run(fmt.Sprint(delivery, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l, q := newFaults(t, seed, 0.05, 0.05, 0.1), newFaults(t, seed+100, 0.05, 0.05, 0.1)
					b := bulktest.NewWrapped(t, bulk.Config{Workers: 8, Logger: quiet}, on(l, q))
					var ran runs
					for _, f := range []*faults{l, q} {
						f.on.Store(false) // an engine that cannot start says so
					}
					b.Handle("tag", bulk.Action{Batch: 50, Attempts: 100, Delivery: delivery, Timeout: 5 * time.Second}, ran.then(slow(100*time.Millisecond)))
					b.Start()
					l.on.Store(true)
					q.on.Store(true)
					g := persist(t, b, bulk.Submission{Action: "tag", Key: "k"}, n)
					stop := watch(t, b, 50*time.Millisecond, g.ID)
					time.Sleep(3 * time.Second)
					l.on.Store(false)
					q.on.Store(false)
					healed := time.Now()
					g = finish(t, b, g.ID)
					stop()
					if d := time.Since(healed); d > 2*time.Minute {
						t.Errorf("it took %v to mend", d)
					}
					if g.Succeeded+g.InDoubt != int64(n) || g.Total != int64(n) {
						t.Errorf("got %+v", g)
					}
					if delivery == spillway.AtLeastOnce && g.InDoubt > 0 {
						t.Errorf("in doubt: %+v", g)
					}
					once := 0
					for i := range int64(n) {
						switch x := ran.count[i]; {
						case x > 1 && delivery == spillway.AtMostOnce:
							t.Fatalf("job %d was handed out %d times", i, x)
						case x > 0:
							once++
						}
					}
					if int64(once) < g.Succeeded {
						t.Errorf("%d jobs ran, %d are said to have succeeded", once, g.Succeeded)
					}
				})
			})
		}
	}
}

// While the ledger is down nothing new is claimed and it is asked a few times a
// second at most; when it answers again, everything goes on.
func TestLedgerThatIsDownIsLeftAlone(t *testing.T) {
	for _, code := range []spillway.Code{spillway.CodeUnavailable, spillway.CodeLedgerFull} {
		t.Run(string(code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newFaults(t, 1, 0, 0, 0)
				l.code = code
				b := bulktest.NewWrapped(t, bulk.Config{Workers: 8, Logger: quiet}, on(l, nil))
				var began atomic.Int64
				var ran runs
				b.Handle("tag", bulk.Action{Batch: 10}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
					began.Add(1)
					ran.note(x)
					return slow(50*time.Millisecond)(ctx, x)
				})
				b.Start()
				ids := []spillway.GroupID{}
				for range 5 {
					ids = append(ids, b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(400)).ID)
				}
				time.Sleep(500 * time.Millisecond)
				l.down.Store(true)
				time.Sleep(2 * time.Second)
				before, calls := began.Load(), l.calls.Load()
				time.Sleep(10 * time.Minute)
				if n := began.Load() - before; n > 0 {
					t.Errorf("%d deliveries began while the ledger was down", n)
				}
				if n := l.calls.Load() - calls; n > 600*5 {
					t.Errorf("%d calls in ten minutes of a ledger that is down", n)
				}
				if err := b.Ready(); err == nil {
					t.Error("the engine says that it is ready")
				}
				l.down.Store(false)
				for _, id := range ids {
					if g := finish(t, b, id); g.Succeeded != 400 {
						t.Errorf("got %+v", g)
					}
				}
				for i, n := range ran.count {
					if n != 5 { // once in each group: what ran was kept until it could be recorded
						t.Fatalf("job %d ran %d times in 5 groups", i, n)
					}
				}
			})
		})
	}
}

// A ledger that fails one read, when nothing else would write, is tried again.
func TestOneFailedReadDoesNotStopTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFaults(t, 1, 0, 0, 0)
		b := bulktest.NewWrapped(t, bulk.Config{Workers: 1, Logger: quiet}, on(l, nil))
		b.Handle("tag", bulk.Action{Batch: 10}, ok)
		b.Handle("pulled", bulk.Action{Batch: 10, Pull: true}, nil)
		b.Start()
		at := time.Now().Add(time.Second)
		g := b.Submit(bulk.Submission{Action: "tag", NotBefore: at}, bulktest.Numbers(50))
		time.Sleep(999 * time.Millisecond)
		l.down.Store(true)
		time.Sleep(10 * time.Millisecond)
		l.down.Store(false)
		if g = finish(t, b, g.ID); g.Succeeded != 50 || time.Since(at) > 10*time.Second {
			t.Errorf("after %v: %+v", time.Since(at), g)
		}
	})
}

// Answers of claims that are lost cost no attempt and no time.
func TestLostAnswersOfClaimsAreAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFaults(t, 3, 0, 0.5, 0)
		q.on.Store(false)
		b := bulktest.NewWrapped(t, bulk.Config{Workers: 4, Logger: quiet}, on(nil, q))
		b.Handle("tag", bulk.Action{Batch: 10, Attempts: 1}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			if x.Jobs[0].Attempt != 1 {
				t.Errorf("attempt %d", x.Jobs[0].Attempt)
			}
			return slow(time.Second)(ctx, x)
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(400))
		q.on.Store(true)
		time.Sleep(10 * time.Second)
		q.on.Store(false)
		if g = finish(t, b, g.ID); g.Succeeded != 400 {
			t.Errorf("got %+v", g)
		}
		if m := b.Metrics(); m.Reclaimed > 0 {
			t.Errorf("%d leases were left to expire", m.Reclaimed)
		}
	})
}

// appending is a ledger whose answers to uploads are often lost.
type appending struct {
	ledger.Ledger
	f *faults
}

func (l appending) Append(ctx context.Context, now time.Time, x []ledger.Append) ([]ledger.Appended, error) {
	return answer(ctx, l.f, "append", func() ([]ledger.Appended, error) { return l.Ledger.Append(ctx, now, x) })
}

func TestLostAnswersOfUploadsAreFoundOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaults(t, 6, 0.2, 0.4, 0)
		b := bulktest.NewWrapped(t, bulk.Config{Workers: 8, Logger: quiet}, func(l ledger.Ledger, q queue.Queue) (ledger.Ledger, queue.Queue) {
			return appending{l, f}, q
		})
		var ran runs
		b.Handle("tag", bulk.Action{Batch: 100}, ran.then(ok))
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(20_000))
		if g = finish(t, b, g.ID); g.Total != 20_000 || g.Succeeded != 20_000 || len(ran.count) != 20_000 {
			t.Errorf("got %+v", g)
		}
	})
}

// A queue that does not hear of a retry, until the lease has expired, costs the
// job no second attempt: the ledger knows that its worker did answer.
func TestUnheardRetryCostsOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFaults(t, 1, 0, 0, 0)
		b := bulktest.NewWrapped(t, bulk.Config{Workers: 4, Logger: quiet}, on(nil, q))
		var d deliveries
		b.Handle("tag", bulk.Action{Batch: 10, Backoff: 50 * time.Second}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			if d.note(x) == 1 {
				time.Sleep(time.Second)
				q.down.Store(true)
				return nil, &bulk.Failure{Status: spillway.Retry, Reason: "no"}
			}
			return nil, nil
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(10))
		time.Sleep(33 * time.Second)
		q.down.Store(false)
		if g = finish(t, b, g.ID); g.Succeeded != 10 || len(d.all[3]) != 2 || d.all[3][1].attempt != 2 {
			t.Errorf("delivered as %v: %+v", d.all[3], g)
		}
	})
}

// unreadable is a ledger that often cannot read payloads.
type unreadable struct {
	ledger.Ledger
	f *faults
}

func (l unreadable) Payload(ctx context.Context, j []ledger.JobSet) ([]ledger.Payload, error) {
	return answer(ctx, l.f, "payload", func() ([]ledger.Payload, error) { return l.Ledger.Payload(ctx, j) })
}

// What was never handed out is never in doubt, although its intent was recorded.
func TestWhatWasNotHandedOutIsNotInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaults(t, 5, 0.3, 0, 0)
		b := bulktest.NewWrapped(t, bulk.Config{Workers: 8, Logger: quiet}, func(l ledger.Ledger, q queue.Queue) (ledger.Ledger, queue.Queue) {
			return unreadable{l, f}, q
		})
		var ran runs
		b.Handle("send", bulk.Action{Batch: 10, Delivery: spillway.AtMostOnce}, ran.then(slow(10*time.Millisecond)))
		b.Start()
		g := b.Submit(bulk.Submission{Action: "send"}, bulktest.Numbers(1000))
		if g = finish(t, b, g.ID); g.Succeeded != 1000 {
			t.Errorf("got %+v", g)
		}
		for i, n := range ran.count {
			if n != 1 {
				t.Fatalf("job %d was handed out %d times", i, n)
			}
		}
	})
}
