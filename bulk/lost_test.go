package bulk_test

import (
	"context"
	"errors"
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

// deaf is a queue whose leases cannot be extended while it is deaf: they
// expire although their workers live.
type deaf struct {
	queue.Queue
	on *atomic.Bool
}

func (q deaf) Extend(ctx context.Context, now time.Time, x []queue.Extension) ([]bool, error) {
	if q.on.Load() {
		return nil, spillway.Errorf(spillway.CodeUnavailable, "extend: no answer")
	}
	return q.Queue.Extend(ctx, now, x)
}

func newDeaf(t *testing.T, c bulk.Config) (*bulktest.Bench, *atomic.Bool) {
	var on atomic.Bool
	on.Store(true)
	c.Logger = quiet
	return bulktest.NewWrapped(t, c, func(l ledger.Ledger, q queue.Queue) (ledger.Ledger, queue.Queue) { return l, deaf{q, &on} }), &on
}

// deliveries notes how each delivery of a job looked.
type deliveries struct {
	mu  sync.Mutex
	all map[int64][]seen
}

type seen struct{ attempt, jobs int }

func (d *deliveries) note(b *bulk.Batch) (nth int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[int64][]seen{}
	}
	for _, j := range b.Jobs {
		d.all[j.Index] = append(d.all[j.Index], seen{j.Attempt, len(b.Jobs)})
	}
	return len(d.all[b.Jobs[0].Index])
}

// A lease expires under a worker that goes on: its jobs are delivered again
// with the next attempt, and whoever comes first has the only say.
func TestLostLeaseIsDeliveredAgainAndCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, deaf := newDeaf(t, bulk.Config{Workers: 4})
		var d deliveries
		value := func(x *bulk.Batch, v string) (out []spillway.Outcome) {
			for _, j := range x.Jobs {
				out = append(out, spillway.Outcome{Index: j.Index, Value: []byte(v)})
			}
			return out
		}
		b.Handle("tag", bulk.Action{Batch: 10, Timeout: time.Hour}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			if d.note(x) == 1 && x.Jobs[0].Index < 20 {
				time.Sleep(100 * time.Second) // ignores its context
				if x.Jobs[0].Index < 10 {
					return nil, errors.New("late and failed")
				}
				return value(x, `"late"`), nil
			}
			return value(x, `"again"`), nil
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(100))
		stop := watch(t, b, time.Second, g.ID)
		time.Sleep(50 * time.Second)
		deaf.Store(false)
		if g = finish(t, b, g.ID); g.Succeeded != 100 {
			t.Errorf("got %+v", g)
		}
		time.Sleep(5 * time.Minute) // the first workers wake up
		if again, err := b.Group(t.Context(), g.ID); err != nil || again.Succeeded != 100 || *again.FinishedAt != *g.FinishedAt {
			t.Errorf("the late outcomes changed it to %+v, %v", again, err)
		}
		stop()
		for i := range int64(20) {
			if a := d.all[i]; len(a) != 2 || a[0].attempt != 1 || a[1].attempt != 2 {
				t.Fatalf("job %d was delivered as %v", i, a)
			}
		}
		for j, err := range b.Results(t.Context(), g.ID, 0) {
			if err != nil || string(j.Value) != `"again"` {
				t.Fatalf("job %d: %s, %v", j.Index, j.Value, err)
			}
		}
	})
}

// The late worker comes first: its final outcomes count, and the redelivery
// that is planned already is dropped before it reaches a handler.
func TestLateOutcomeBeforeTheRedeliveryCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, deaf := newDeaf(t, bulk.Config{Workers: 1})
		var d deliveries
		b.Handle("tag", bulk.Action{Batch: 10, Timeout: time.Hour}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			d.note(x)
			time.Sleep(45 * time.Second) // the lease is lost after 30 s, and the only worker busy
			return nil, nil
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(10))
		stop := watch(t, b, time.Second, g.ID)
		if g = finish(t, b, g.ID); g.Succeeded != 10 || len(d.all[0]) != 1 {
			t.Errorf("delivered %v: %+v", d.all[0], g)
		}
		deaf.Store(false)
		time.Sleep(time.Minute)
		stop()
	})
}

// A late worker that says retry or throttled says it of a delivery that is not
// the present one: nothing is planned twice and nothing is forgotten.
func TestLateRetryNeitherDoublesNorLosesJobs(t *testing.T) {
	for _, late := range []time.Duration{29500, 30000, 30100, 30500, 31000, 31100, 32000, 45000} {
		synctest.Test(t, func(t *testing.T) {
			b, deaf := newDeaf(t, bulk.Config{Workers: 4})
			var d deliveries
			b.Handle("tag", bulk.Action{Batch: 10, Timeout: time.Hour, Backoff: time.Second}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
				if d.note(x) > 1 {
					return nil, nil
				}
				time.Sleep(late * time.Millisecond)
				return nil, &bulk.Failure{Status: spillway.Retry, Reason: "no"}
			})
			b.Start()
			g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(30))
			stop := watch(t, b, time.Second, g.ID)
			time.Sleep(35 * time.Second)
			deaf.Store(false)
			began := time.Now()
			if g = finish(t, b, g.ID); g.Succeeded != 30 || time.Since(began) > 30*time.Second {
				t.Errorf("late by %v: after %v more: %+v", late*time.Millisecond, time.Since(began), g)
			}
			stop()
			time.Sleep(time.Minute) // the last of the late
			for i, a := range d.all {
				if len(a) != 2 {
					t.Errorf("job %d was delivered as %v", i, a)
				}
			}
		})
	}
}

// The job that kills its workers is found: after two deaths its batch is
// delivered singly, and after the fifth it fails as worker_lost, alone.
func TestJobThatKillsItsWorkersIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newDeaf(t, bulk.Config{Workers: 8})
		var d deliveries
		b.Handle("tag", bulk.Action{Batch: 10, Attempts: 20, Timeout: time.Hour}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			d.note(x)
			for _, j := range x.Jobs {
				if j.Index == 17 {
					time.Sleep(20 * time.Minute) // dead, to the queue
				}
			}
			return nil, nil
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(50))
		stop := watch(t, b, time.Second, g.ID)
		g = finish(t, b, g.ID)
		stop()
		time.Sleep(time.Hour) // the dead wake up
		if g.Succeeded != 49 || g.Failed != 1 {
			t.Errorf("got %+v", g)
		}
		if j, err := b.Job(t.Context(), g.ID, 17); err != nil || j.Error != string(spillway.CodeWorkerLost) {
			t.Errorf("job 17: %+v, %v", j, err)
		}
		want := []seen{{1, 10}, {2, 10}, {3, 1}, {4, 1}, {5, 1}}
		for k, a := range d.all[17] {
			if k >= len(want) || a != want[k] {
				t.Fatalf("job 17 was delivered as %v, want %v", d.all[17], want)
			}
		}
		if len(d.all[17]) != len(want) {
			t.Errorf("job 17 was delivered as %v, want %v", d.all[17], want)
		}
		if a := d.all[18]; len(a) != 3 || a[2].jobs != 1 {
			t.Errorf("its neighbour was delivered as %v", a)
		}
	})
}

// A worker that is lost uses an attempt: with two attempts a job fails after
// two.
func TestLostWorkersUseAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newDeaf(t, bulk.Config{Workers: 8})
		b.Handle("tag", bulk.Action{Batch: 10, Attempts: 2, Timeout: time.Hour}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			time.Sleep(10 * time.Minute)
			return nil, nil
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(10))
		g = finish(t, b, g.ID)
		if g.Failed != 10 || g.FinishedAt.Sub(g.CreatedAt) > 90*time.Second {
			t.Errorf("got %+v", g)
		}
		time.Sleep(time.Hour) // the late OK comes after the final outcome
		if g, err := b.Group(t.Context(), g.ID); err != nil || g.Failed != 10 || g.Succeeded != 0 {
			t.Errorf("the late outcome changed it to %+v, %v", g, err)
		}
	})
}

// At most once, a lost worker leaves its jobs in doubt, and its late word
// settles them.
func TestLostWorkerLeavesDoubtThatItsLateWordSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newDeaf(t, bulk.Config{Workers: 4})
		var d deliveries
		b.Handle("send", bulk.Action{Batch: 10, Timeout: time.Hour, Delivery: spillway.AtMostOnce}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			d.note(x)
			time.Sleep(2 * time.Minute)
			return nil, nil
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "send"}, bulktest.Numbers(10))
		if g = finish(t, b, g.ID); g.InDoubt != 10 {
			t.Errorf("got %+v", g)
		}
		time.Sleep(2 * time.Minute)
		if g, err := b.Group(t.Context(), g.ID); err != nil || g.InDoubt != 0 || g.Succeeded != 10 || len(d.all[0]) != 1 {
			t.Errorf("after the late word: delivered %v: %+v, %v", d.all[0], g, err)
		}
	})
}
