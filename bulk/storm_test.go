package bulk_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/bulktest"
	"github.com/spillway/spillway/queue"
)

func TestThrottledJobsUseNoAttemptAndComeBackStaggered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := perSecond(20)
		b := bulktest.New(t, bulk.Config{Resources: []bulk.ResourceRule{{Name: "tag", Rate: r}}})
		var mu sync.Mutex
		at := map[int64][]time.Time{}
		b.Handle("tag", bulk.Action{Batch: 1, Attempts: 1}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			j := x.Jobs[0]
			mu.Lock()
			at[j.Index] = append(at[j.Index], time.Now())
			n := len(at[j.Index])
			mu.Unlock()
			switch {
			case j.Attempt != 1:
				t.Errorf("job %d has attempt %d", j.Index, j.Attempt)
			case n <= 3 && j.Index%2 == 0:
				return []spillway.Outcome{{Index: j.Index, Status: spillway.Throttled, RetryAfter: 5*time.Second + 350*time.Microsecond}}, nil
			case n <= 3:
				return nil, &bulk.Failure{Status: spillway.Throttled, Certain: true}
			}
			return nil, nil
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(200))
		if g = finish(t, b, g.ID); g.Succeeded != 200 {
			t.Errorf("got %+v", g)
		}
		for i, a := range at {
			for k := 1; k < len(a); k++ {
				least := time.Second // the stagger's first rank
				if i%2 == 0 {
					least = 5*time.Second + 350*time.Microsecond
				}
				if wait := a[k].Sub(a[k-1]); wait < least {
					t.Fatalf("job %d came back after %v", i, wait)
				}
			}
			if len(a) != 4 {
				t.Fatalf("job %d ran %d times", i, len(a))
			}
		}
	})
}

// A storm of retries stays bounded in the queue, is fed back, and ends right.
func TestRetryStormStaysBounded(t *testing.T) {
	const n = 100_000
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 16})
		var ran runs
		b.Handle("tag", bulk.Action{Batch: 100, Attempts: 3, Backoff: 20 * time.Second}, ran.then(
			func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
				_, _ = slow(10*time.Millisecond)(ctx, x)
				return nil, errors.New("no")
			}))
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(n))
		stop := watch(t, b, time.Second, g.ID)
		entries, parked := 0, int64(0)
		for g.FinishedAt == nil {
			time.Sleep(500 * time.Millisecond)
			s, err := b.Queue.Stats(t.Context(), time.Now(), queue.Query{Groups: []spillway.GroupID{g.ID}})
			if err != nil {
				t.Fatal(err)
			}
			entries, parked = max(entries, s.Groups[g.ID].Entries), max(parked, s.Groups[g.ID].Parked)
			if g, err = b.Group(t.Context(), g.ID); err != nil {
				t.Fatal(err)
			}
			if time.Since(g.CreatedAt) > time.Hour {
				t.Fatalf("the storm does not end: %+v", g)
			}
		}
		stop()
		if g.Failed != n || entries > queue.MaxEntries || parked == 0 {
			t.Errorf("%d entries, %d parked: %+v", entries, parked, g)
		}
		for i := range int64(n) {
			if ran.count[i] != 3 {
				t.Fatalf("job %d ran %d times", i, ran.count[i])
			}
		}
		// 6,250 jobs a second could run; the waits are 20 s and 40 s, with jitter.
		if took := g.FinishedAt.Sub(g.CreatedAt); took > 3*time.Minute {
			t.Errorf("the storm took %v", took)
		}
	})
}

// elapsed runs a group beside another that is broken or not, and answers how
// long the first one took.
func elapsed(t *testing.T, r int64, sameTenant, broken bool) (took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 16, Resources: []bulk.ResourceRule{{Name: "tag", Rate: perSecond(r)}}})
		var bad atomic.Value
		bad.Store(spillway.GroupID(""))
		b.Handle("tag", bulk.Action{Batch: 10, Attempts: 4, Backoff: 2 * time.Second}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			_, _ = slow(50*time.Millisecond)(ctx, x)
			if broken && x.Group == bad.Load() {
				return nil, errors.New("all of it is broken")
			}
			return nil, nil
		})
		b.Start()
		tenant := spillway.TenantID("b")
		if sameTenant {
			tenant = "a"
		}
		other := b.Submit(bulk.Submission{Tenant: "a", Action: "tag"}, bulktest.Numbers(8000))
		bad.Store(other.ID)
		g := b.Submit(bulk.Submission{Tenant: tenant, Action: "tag"}, bulktest.Numbers(3000))
		g = finish(t, b, g.ID)
		if g.Succeeded != 3000 {
			t.Errorf("got %+v", g)
		}
		took = g.FinishedAt.Sub(g.CreatedAt)
	})
	return took
}

func TestBrokenGroupSlowsNoOther(t *testing.T) {
	for _, same := range []bool{false, true} {
		for _, r := range []int64{200, 1_000_000} {
			sound, broken := elapsed(t, r, same, false), elapsed(t, r, same, true)
			t.Logf("rate %d/s, same tenant %v: %v beside a sound group, %v beside a broken one", r, same, sound, broken)
			if broken > sound*105/100+200*time.Millisecond {
				t.Errorf("rate %d/s, same tenant %v: %v beside a broken group, %v beside a sound one", r, same, broken, sound)
			}
		}
	}
}

// A group of which a hundredth fails runs at full speed to the end. The size is
// SPILLWAY_ROWS, if that is set: 10000000 is what is promised.
func TestFewFailuresDoNotSlowABigGroup(t *testing.T) {
	n := 200_000
	if testing.Short() {
		n = 20_000
	}
	if s := os.Getenv("SPILLWAY_ROWS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	took := func(share int64) (d time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			b := bulktest.New(t, bulk.Config{Workers: 16, AllWorkers: true})
			b.Handle("tag", bulk.Action{Batch: 100, Attempts: 3, Backoff: time.Second}, func(ctx context.Context, x *bulk.Batch) (out []spillway.Outcome, err error) {
				if _, err := slow(time.Duration(len(x.Jobs))*time.Millisecond)(ctx, x); err != nil {
					return nil, err
				}
				for _, j := range x.Jobs {
					if share > 0 && (j.Index*7)%share == 0 {
						out = append(out, spillway.Outcome{Index: j.Index, Status: spillway.Retry, Error: "no such customer"})
					}
				}
				return out, nil
			})
			b.Start()
			g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(n))
			g = finish(t, b, g.ID)
			if share > 0 && g.Failed != int64(n)/share || g.Final() != int64(n) {
				t.Errorf("got %+v", g)
			}
			d = g.FinishedAt.Sub(g.CreatedAt)
		})
		return d
	}
	sound, failing := took(0), took(100)
	t.Logf("%d jobs: %v without failures, %v with 1 %%", n, sound, failing)
	// Two more deliveries of 1 % of the jobs are 2 %, and the last wait for theirs.
	if failing > sound*103/100+10*time.Second {
		t.Errorf("%d jobs took %v without failures, and %v with 1 %%", n, sound, failing)
	}
}
