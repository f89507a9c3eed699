package bulk_test

import (
	"context"
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
	"github.com/spillway/spillway/queue/memqueue"
)

// forgetful is a queue that drops what it is told of groups while it is told
// to.
type forgetful struct {
	queue.Queue
	drop *atomic.Bool
}

func (q forgetful) Put(ctx context.Context, now time.Time, g []queue.Group) error {
	if q.drop.Load() {
		return nil
	}
	return q.Queue.Put(ctx, now, g)
}

func TestGroupThatTheIndexLostIsFoundWithinAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var drop atomic.Bool
		b := bulktest.NewWrapped(t, bulk.Config{Logger: quiet}, func(l ledger.Ledger, q queue.Queue) (ledger.Ledger, queue.Queue) {
			return l, forgetful{q, &drop}
		})
		b.Handle("tag", bulk.Action{Batch: 10}, ok)
		b.Start()
		drop.Store(true)
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(100))
		if w, err := b.Why(t.Context(), g.ID); err != nil || w.Code != "not_indexed" {
			t.Errorf("why: %+v, %v", w, err)
		}
		drop.Store(false)
		if g = finish(t, b, g.ID); g.Succeeded != 100 || g.FinishedAt.Sub(g.CreatedAt) > 61*time.Second {
			t.Errorf("after %v: %+v", g.FinishedAt.Sub(g.CreatedAt), g)
		}
	})
}

// swapped is a queue that can be replaced by an empty one.
type swapped struct {
	mu  sync.Mutex
	now queue.Queue
}

func (s *swapped) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = memqueue.New(memqueue.Options{Epoch: time.Now()})
}

func (s *swapped) get() queue.Queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *swapped) Configure(ctx context.Context, now time.Time, x queue.Settings) error {
	return s.get().Configure(ctx, now, x)
}

func (s *swapped) Put(ctx context.Context, now time.Time, g []queue.Group) error {
	return s.get().Put(ctx, now, g)
}

func (s *swapped) Feed(ctx context.Context, now time.Time, f []queue.Feed) error {
	return s.get().Feed(ctx, now, f)
}

func (s *swapped) Claim(ctx context.Context, now time.Time, c queue.Claim) (queue.Claimed, error) {
	return s.get().Claim(ctx, now, c)
}

func (s *swapped) Extend(ctx context.Context, now time.Time, x []queue.Extension) ([]bool, error) {
	return s.get().Extend(ctx, now, x)
}

func (s *swapped) Settle(ctx context.Context, now time.Time, x []queue.Settlement) ([]bool, error) {
	return s.get().Settle(ctx, now, x)
}

func (s *swapped) Reclaim(ctx context.Context, now time.Time, n int) ([]queue.Lease, error) {
	return s.get().Reclaim(ctx, now, n)
}

func (s *swapped) Promote(ctx context.Context, now time.Time, n int) ([]queue.Due, error) {
	return s.get().Promote(ctx, now, n)
}

func (s *swapped) Stats(ctx context.Context, now time.Time, q queue.Query) (queue.Stats, error) {
	return s.get().Stats(ctx, now, q)
}
func (s *swapped) Close() error { return s.get().Close() }

// The whole index is lost in mid-run, while jobs are in flight, in retry and
// parked: everything goes on within minutes, at the same rates, for tenants
// that are paused still paused.
func TestLostIndexIsRebuiltWithItsSettings(t *testing.T) {
	for _, delivery := range []spillway.Delivery{spillway.AtLeastOnce, spillway.AtMostOnce} {
		t.Run(string(delivery), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &swapped{}
				r := perSecond(50)
				b := bulktest.NewWrapped(t, bulk.Config{Workers: 8, Logger: quiet, Resources: []bulk.ResourceRule{{Name: "tag", Rate: r}}},
					func(l ledger.Ledger, q queue.Queue) (ledger.Ledger, queue.Queue) { s.now = q; return l, s })
				var began starts
				var d deliveries
				b.Handle("tag", bulk.Action{Batch: 10, Backoff: time.Second, Delivery: delivery}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
					if _, err := began.during(700*time.Millisecond)(ctx, x); err != nil {
						return nil, err
					}
					if d.note(x) == 1 && x.Jobs[0].Index%3 == 0 {
						return all(x, spillway.Outcome{Status: spillway.Retry, Error: "once"}), nil
					}
					return nil, nil
				})
				b.Start()
				if err := b.PauseTenant(t.Context(), "paused", true, "test"); err != nil {
					t.Fatal(err)
				}
				p := b.Submit(bulk.Submission{Tenant: "paused", Action: "tag"}, bulktest.Numbers(10))
				g := b.Submit(bulk.Submission{Tenant: "a", Action: "tag"}, bulktest.Numbers(3000))
				stop := watch(t, b, 100*time.Millisecond, g.ID, p.ID)
				for range 3 {
					time.Sleep(5 * time.Second)
					s.lose()
					time.Sleep(65 * time.Second)
				}
				g = finish(t, b, g.ID)
				stop()
				if g.Succeeded+g.InDoubt != 3000 || g.InDoubt > 3*8*10 || (delivery == spillway.AtLeastOnce && g.InDoubt > 0) {
					t.Errorf("got %+v", g)
				}
				if p, err := b.Group(t.Context(), p.ID); err != nil || p.Succeeded > 0 {
					t.Errorf("the paused tenant's group ran: %+v, %v", p, err)
				}
				checkBound(t, began.of(""), r)
				if took := g.FinishedAt.Sub(g.CreatedAt); took > 6*time.Minute {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// A lease that is no longer known says that the index was lost, long before the
// reconciler looks.
func TestLostLeasesTellOfALostIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &swapped{}
		b := bulktest.NewWrapped(t, bulk.Config{Workers: 8, Logger: quiet},
			func(l ledger.Ledger, q queue.Queue) (ledger.Ledger, queue.Queue) { s.now = q; return l, s })
		b.Handle("tag", bulk.Action{Batch: 10, Backoff: time.Second}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			if x.Jobs[0].Attempt == 1 {
				_, _ = slow(time.Second)(ctx, x)
				return all(x, spillway.Outcome{Status: spillway.Retry}), nil
			}
			return nil, nil
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(600))
		time.Sleep(1500 * time.Millisecond)
		s.lose()
		if g = finish(t, b, g.ID); g.Succeeded != 600 || g.FinishedAt.Sub(g.CreatedAt) > 30*time.Second {
			t.Errorf("after %v: %+v", g.FinishedAt.Sub(g.CreatedAt), g)
		}
	})
}

// late is a ledger that does not complete groups while it is told not to.
type late struct {
	ledger.Ledger
	refuse *atomic.Bool
}

func (l late) Complete(ctx context.Context, now time.Time, c []ledger.Completion) ([]ledger.Group, error) {
	if l.refuse.Load() {
		return nil, nil
	}
	return l.Ledger.Complete(ctx, now, c)
}

// A crash between the last outcome and the completion: the sweep finds the
// group, at the next start and while the engine runs; its callback is sent once.
func TestSweepFindsWhatNobodyCompleted(t *testing.T) {
	for _, restart := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var refuse atomic.Bool
			var calls atomic.Int64
			refuse.Store(true)
			c := bulk.Config{Logger: quiet, Callbacks: func(context.Context, bulk.Message) error { calls.Add(1); return nil }}
			b := bulktest.NewWrapped(t, c, func(l ledger.Ledger, q queue.Queue) (ledger.Ledger, queue.Queue) { return late{l, &refuse}, q })
			b.Handle("tag", bulk.Action{Batch: 10}, ok)
			b.Start()
			g := b.Submit(bulk.Submission{Action: "tag", Callback: "http://example.com/"}, bulktest.Numbers(100))
			time.Sleep(10 * time.Second)
			g, err := b.Group(t.Context(), g.ID)
			if err != nil || g.Succeeded != 100 || g.State != spillway.Running {
				t.Fatal(g, err)
			}
			refuse.Store(false)
			if restart {
				b.Restart()
			}
			began := time.Now()
			finish(t, b, g.ID)
			if d := time.Since(began); d > 16*time.Second || (restart && d > time.Second) {
				t.Errorf("found after %v", d)
			}
			time.Sleep(time.Minute)
			if calls.Load() != 1 {
				t.Errorf("%d callbacks", calls.Load())
			}
		})
	}
}
