package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// all is the same outcome for every job of a batch.
func all(b *bulk.Batch, o spillway.Outcome) (out []spillway.Outcome) {
	for _, j := range b.Jobs {
		o.Index = j.Index
		out = append(out, o)
	}
	return out
}

func tenth(o spillway.Outcome) bool { return o.Index%10 == 0 }

// Whatever a handler does, its jobs get the outcome that the contract says, its
// reason is shown, and the engine goes on.
func TestHandlersMayMisbehave(t *testing.T) {
	type result struct{ ok, failed, skipped, doubt int64 }
	const n = 20 // in two batches
	cases := []struct {
		name    string
		handler bulk.Handler
		want    result // at least once, with two attempts
		once    result // at most once
		reason  string
	}{
		{
			"panics", func(context.Context, *bulk.Batch) ([]spillway.Outcome, error) { panic("boom") },
			result{failed: n},
			result{doubt: n},
			"panicked: boom",
		},
		{
			"errs", func(context.Context, *bulk.Batch) ([]spillway.Outcome, error) { return nil, errors.New("broken pipe") },
			result{failed: n},
			result{doubt: n},
			"broken pipe",
		},
		{"errs at length", func(context.Context, *bulk.Batch) ([]spillway.Outcome, error) {
			return nil, errors.New(strings.Repeat("é\xff", 1<<20))
		}, result{failed: n}, result{doubt: n}, "éé"},
		{"answers for a stranger", func(_ context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
			return append(slices.DeleteFunc(all(b, spillway.Outcome{}), tenth), spillway.Outcome{Index: 999}), nil
		}, result{ok: n - 2, failed: 2}, result{ok: n - 2, doubt: 2}, "handler_error: the handler answered for job 999"},
		{"answers twice", func(_ context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
			out := slices.DeleteFunc(all(b, spillway.Outcome{}), tenth)
			if len(out) == 0 {
				return nil, errors.New("handler_error: the handler answered twice for job, before") // again
			}
			return append(out, out[0]), nil
		}, result{ok: n - 2, failed: 2}, result{ok: n - 2, doubt: 2}, "handler_error: the handler answered twice for job"},
		{"says a garbage status", func(_ context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
			return all(b, spillway.Outcome{Status: 77}), nil
		}, result{failed: n}, result{doubt: n}, "a status of no handler"},
		{"says in doubt", func(_ context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
			return all(b, spillway.Outcome{Status: spillway.InDoubt}), nil
		}, result{failed: n}, result{doubt: n}, "a status of no handler"},
		{"fails with a garbage status", func(context.Context, *bulk.Batch) ([]spillway.Outcome, error) {
			return nil, &bulk.Failure{Status: 99, Reason: "odd"}
		}, result{failed: n}, result{doubt: n}, "odd"},
		{"fails without a status", func(context.Context, *bulk.Batch) ([]spillway.Outcome, error) {
			return nil, fmt.Errorf("wrapped: %w", &bulk.Failure{Reason: "which one?"})
		}, result{failed: n}, result{doubt: n}, "which one?"},
		{"gives a value that is no JSON", func(_ context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
			return all(b, spillway.Outcome{Value: []byte(`{"a":`)}), nil
		}, result{failed: n}, result{doubt: n}, "is not JSON"},
		{"gives a huge value", func(_ context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
			return all(b, spillway.Outcome{Value: []byte(`"` + strings.Repeat("x", bulk.MaxValue) + `"`)}), nil
		}, result{failed: n}, result{doubt: n}, "the limit is"},
		{"waits for its time-out", func(ctx context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, result{failed: n}, result{doubt: n}, "timed out after 2s"},
		{"answers after its time-out", func(ctx context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
			time.Sleep(5 * time.Second)
			return all(b, spillway.Outcome{Status: spillway.Skipped, Error: "late"}), nil
		}, result{skipped: n}, result{skipped: n}, "late"},
		{"ignores its context for long", func(ctx context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
			time.Sleep(10 * time.Minute)
			return nil, nil
		}, result{ok: n}, result{ok: n}, ""},
		{"asks for the past", func(ctx context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
			if b.Jobs[0].Attempt == 1 {
				return all(b, spillway.Outcome{Status: spillway.Retry, RetryAfter: -1 << 62}), nil
			}
			return nil, nil
		}, result{ok: n}, result{ok: n}, ""},
	}
	for _, c := range cases {
		for _, delivery := range []spillway.Delivery{spillway.AtLeastOnce, spillway.AtMostOnce} {
			t.Run(c.name+" "+string(delivery), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := bulktest.New(t, bulk.Config{Workers: 4, Logger: quiet})
					b.Handle("tag", bulk.Action{Batch: 10, Attempts: 2, Timeout: 2 * time.Second, Delivery: delivery}, c.handler)
					b.Start()
					g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(n))
					g = finish(t, b, g.ID)
					want := c.want
					if delivery == spillway.AtMostOnce {
						want = c.once
					}
					if got := (result{g.Succeeded, g.Failed, g.Skipped, g.InDoubt}); got != want {
						t.Errorf("got %+v, want %+v", got, want)
					}
					for j, err := range b.Failures(t.Context(), g.ID, 0) {
						if err != nil || !strings.Contains(j.Error, c.reason) || len(j.Error) > spillway.MaxReason {
							t.Fatalf("job %d failed with %q, want %q; %v", j.Index, j.Error, c.reason, err)
						}
					}
				})
			})
		}
	}
}

func TestRetryAfterIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{})
		b.Handle("tag", bulk.Action{}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			return all(x, spillway.Outcome{Status: spillway.Retry, RetryAfter: 1 << 62}), nil
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(1))
		time.Sleep(time.Second)
		j, err := b.Job(t.Context(), g.ID, 0)
		if err != nil || j.NotBefore == nil || j.NotBefore.Sub(g.CreatedAt) > 8*24*time.Hour {
			t.Errorf("got %+v, %v", j, err)
		}
	})
}

func TestReportFromManyGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 4})
		var reports atomic.Value
		b.Handle("tag", bulk.Action{Batch: 1000}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			reports.Store(x.Report)
			var w sync.WaitGroup
			for k := range 10 {
				w.Go(func() {
					for i := k; i < len(x.Jobs); i += 10 {
						if i%100 == 0 {
							time.Sleep(13 * time.Millisecond)
						}
						x.Report(spillway.Outcome{Index: x.Jobs[i].Index, Value: []byte(`1`)})
					}
				})
			}
			w.Wait()
			return nil, errors.New("what was reported stands")
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(3000))
		if g = finish(t, b, g.ID); g.Succeeded != 3000 {
			t.Errorf("got %+v", g)
		}
		reports.Load().(func(...spillway.Outcome))(spillway.Outcome{Index: 0, Status: spillway.Failed}) // after its return: not heard
		time.Sleep(time.Second)
		if g, err := b.Group(t.Context(), g.ID); err != nil || g.Failed != 0 {
			t.Errorf("got %+v, %v", g, err)
		}
	})
}

// What was reported 50 ms before a crash is never run again.
func TestReportedOutcomesSurviveACrashInMidBatch(t *testing.T) {
	for _, delivery := range []spillway.Delivery{spillway.AtLeastOnce, spillway.AtMostOnce} {
		synctest.Test(t, func(t *testing.T) {
			f := newFaults(t, 1, 0, 0, 0)
			b := bulktest.NewWrapped(t, bulk.Config{Workers: 2, Logger: quiet}, func(l ledger.Ledger, q queue.Queue) (ledger.Ledger, queue.Queue) {
				f.down.Store(false)
				return on(f, nil)(l, q)
			})
			var mu sync.Mutex
			runs := map[int64]int{}
			b.Handle("tag", bulk.Action{Batch: 1000, Timeout: time.Minute, Delivery: delivery}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
				for _, j := range x.Jobs {
					mu.Lock()
					runs[j.Index]++
					mu.Unlock()
					select {
					case <-time.After(5 * time.Millisecond):
					case <-ctx.Done():
						return nil, ctx.Err()
					}
					x.Report(spillway.Outcome{Index: j.Index})
				}
				return nil, nil
			})
			b.Start()
			g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(2000))
			kills := 0
			for range 7 {
				time.Sleep(613 * time.Millisecond)
				f.down.Store(true) // nothing is recorded from here on, as by one who is dead
				b.Restart()
				kills++
			}
			g = finish(t, b, g.ID)
			twice := 0
			for i := range int64(2000) {
				twice += max(0, runs[i]-1)
			}
			if limit := kills * 2 * 50 / 5; twice > limit {
				t.Errorf("%v: %d jobs ran twice in %d crashes, want at most %d", delivery, twice, kills, limit)
			}
			if delivery == spillway.AtMostOnce && (twice > 0 || g.Succeeded+g.InDoubt != 2000) {
				t.Errorf("%v: %d ran twice: %+v", delivery, twice, g)
			}
			if delivery == spillway.AtLeastOnce && g.Succeeded != 2000 {
				t.Errorf("got %+v", g)
			}
		})
	}
}

// What is in a worker's hands when its group expires keeps its own outcome.
func TestExpiryLeavesWhatIsInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 4})
		b.Handle("tag", bulk.Action{Batch: 10}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			if _, err := slow(4*time.Second)(ctx, x); err != nil {
				return nil, err
			}
			return []spillway.Outcome{{Index: x.Jobs[0].Index, Status: spillway.Retry, Error: "too late for another"}}, nil
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag", Expires: time.Now().Add(2 * time.Second)}, bulktest.Numbers(100))
		if g = finish(t, b, g.ID); g.Succeeded != 27 || g.Skipped != 73 {
			t.Errorf("30 were in hand at the expiry, 3 of them ask for a retry: %+v", g)
		}
	})
}
