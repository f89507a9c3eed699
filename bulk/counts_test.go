package bulk_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/bulktest"
)

// watch polls groups until stop is called: at every look the counts add up, no
// count is negative, and finals never fall but by a retry or a resolve.
func watch(t *testing.T, b *bulktest.Bench, every time.Duration, ids ...spillway.GroupID) (stop func() int) {
	quit, looks := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-quit:
				looks <- n
				return
			case <-time.After(every):
			}
			for _, id := range ids {
				g, err := b.Group(context.Background(), id)
				if err != nil {
					continue // between a stop and a start
				}
				n++
				checkSum(t, g)
			}
		}
	}()
	return func() int { close(quit); return <-looks }
}

func checkSum(t *testing.T, g *bulk.Group) {
	t.Helper()
	sum := int64(0)
	for _, n := range []int64{g.Succeeded, g.Failed, g.Skipped, g.Cancelled, g.Retrying, g.InFlight, g.Pending, g.InDoubt} {
		if sum += n; n < 0 {
			t.Errorf("a count is below 0: %+v", g)
		}
	}
	if sum != g.Total || g.Checkpoint > g.Total || g.Checkpoint > g.Final() {
		t.Errorf("counts do not add up to %d: %+v", sum, g)
	}
}

// moody fares by chance: OK, failed, skipped, retry, throttled, an error, a
// panic, or a hang until its time-out.
func moody(seed uint64) bulk.Handler {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 1))
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(n)
	}
	return func(ctx context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
		if _, err := slow(time.Duration(draw(300))*time.Millisecond)(ctx, b); err != nil {
			return nil, err
		}
		switch draw(20) {
		case 0:
			return nil, errors.New("the batch failed")
		case 1:
			return nil, &bulk.Failure{Status: spillway.Throttled, Reason: "429", RetryAfter: time.Second, Certain: true}
		case 2:
			panic("a defect")
		case 3:
			<-ctx.Done()
			return nil, ctx.Err()
		}
		var out []spillway.Outcome
		for _, j := range b.Jobs {
			o := spillway.Outcome{Index: j.Index, Error: "by chance"}
			switch n := draw(10); n {
			case 0:
				o.Status = spillway.Failed
			case 1:
				o.Status = spillway.Skipped
			case 2:
				o.Status = spillway.Retry
			case 3:
				o.Status, o.RetryAfter = spillway.Throttled, time.Duration(draw(3000))*time.Millisecond
			default:
				o.Error, o.Value = "", []byte(`{"n":1}`)
			}
			if draw(2) == 0 {
				b.Report(o)
			} else {
				out = append(out, o)
			}
		}
		return out, nil
	}
}

func TestCountsAddUpWhileEverythingMoves(t *testing.T) {
	for _, delivery := range []spillway.Delivery{spillway.AtLeastOnce, spillway.AtMostOnce} {
		t.Run(string(delivery), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := bulktest.New(t, bulk.Config{Workers: 16})
				b.Handle("tag", bulk.Action{Batch: 20, Attempts: 3, Backoff: time.Second, Timeout: 5 * time.Second, Delivery: delivery}, moody(7))
				b.Start()
				n := 2000
				if testing.Short() {
					n = 500
				}
				g := b.Submit(bulk.Submission{Tenant: "a", Action: "tag"}, bulktest.Numbers(n))
				c := b.Submit(bulk.Submission{Tenant: "b", Action: "tag"}, bulktest.Numbers(n))
				stop := watch(t, b, 7*time.Millisecond, g.ID, c.ID)
				time.Sleep(1500 * time.Millisecond)
				if _, err := b.Cancel(t.Context(), c.ID); err != nil {
					t.Fatal(err)
				}
				for round := range 3 {
					if g = finish(t, b, g.ID); g.State != spillway.Completed || g.Final() != int64(n) {
						t.Fatalf("round %d: %+v", round, g)
					}
					if _, err := b.Retry(t.Context(), g.ID); err != nil {
						t.Fatal(err)
					}
					if _, err := b.Resolve(t.Context(), g.ID, nil, []spillway.Status{spillway.Retry, spillway.OK, spillway.Failed}[round]); err != nil {
						t.Fatal(err)
					}
				}
				finish(t, b, g.ID)
				c = finish(t, b, c.ID)
				if c.State != spillway.Cancelled || c.Cancelled == 0 || c.InFlight != 0 {
					t.Errorf("cancelled: %+v", c)
				}
				if looks := stop(); looks < 100 {
					t.Errorf("only %d looks", looks)
				}
			})
		})
	}
}

// A job in flight counts only there, one that waits after a failure is
// retrying, and one that was throttled is pending.
func TestCountsSayWhereEachJobIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 8})
		var throttle atomic.Bool
		b.Handle("tag", bulk.Action{Batch: 10, Backoff: 2 * time.Second}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			if x.Jobs[0].Attempt > 1 || x.Jobs[0].Index >= 20 {
				return slow(10*time.Second)(ctx, x)
			}
			if throttle.Load() {
				return nil, &bulk.Failure{Status: spillway.Throttled, RetryAfter: time.Minute}
			}
			return nil, errors.New("no")
		})
		b.Start()
		look := func(id spillway.GroupID, pending, retrying, inFlight int64) {
			t.Helper()
			g, err := b.Group(t.Context(), id)
			if err != nil || g.Pending != pending || g.Retrying != retrying || g.InFlight != inFlight {
				t.Errorf("want %d pending, %d retrying, %d in flight: %+v, %v", pending, retrying, inFlight, g, err)
			}
		}
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(200))
		time.Sleep(time.Second)
		look(g.ID, 120, 20, 60) // 6 workers of 8
		time.Sleep(10 * time.Second)
		look(g.ID, 80, 0, 60) // 20 of them redelivered, hence no longer retrying
		finish(t, b, g.ID)
		throttle.Store(true)
		g = b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(20))
		time.Sleep(time.Second)
		look(g.ID, 20, 0, 0)
	})
}
