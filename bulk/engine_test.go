package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/bulktest"
)

func TestMain(m *testing.M) {
	if os.Getenv(chaosLedger) != "" {
		if err := chaosChild(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// once is a handler that counts deliveries and says OK.
func ok(ctx context.Context, b *bulk.Batch) ([]spillway.Outcome, error) { return nil, nil }

func TestEveryRowGetsOneOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 8})
		var deliveries [2500]atomic.Int32
		b.Handle("tag", bulk.Action{Batch: 100, Attempts: 3}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			var out []spillway.Outcome
			for _, j := range x.Jobs {
				n := deliveries[j.Index].Add(1)
				if want := fmt.Sprintf("%s-%d", x.Group, j.Index); j.Key != want || j.Attempt != int(n) {
					t.Errorf("job %d: key %s attempt %d, want %s %d", j.Index, j.Key, j.Attempt, want, n)
				}
				switch {
				case j.Index%10 == 0:
					out = append(out, spillway.Outcome{Index: j.Index, Status: spillway.Failed, Error: "no"})
				case j.Index%10 == 1:
					out = append(out, spillway.Outcome{Index: j.Index, Status: spillway.Retry, Error: "later"})
				case j.Index%10 == 2 && n == 1:
					out = append(out, spillway.Outcome{Index: j.Index, Status: spillway.Retry, Error: "once"})
				case j.Index%10 == 3:
					out = append(out, spillway.Outcome{Index: j.Index, Status: spillway.Skipped, Error: "nothing to do"})
				}
			}
			return out, nil
		})
		b.Start()
		g := b.Submit(bulk.Submission{Tenant: "acme", Action: "tag"}, bulktest.Numbers(2500))
		g = b.Wait(g.ID)
		if g.State != spillway.Completed || g.Succeeded != 1750 || g.Failed != 500 || g.Skipped != 250 {
			t.Errorf("got %+v", g)
		}
		for i := range deliveries {
			want := int32(1)
			switch i % 10 {
			case 1:
				want = 3
			case 2:
				want = 2
			}
			if n := deliveries[i].Load(); n != want {
				t.Fatalf("job %d was delivered %d times, want %d", i, n, want)
			}
		}
		for j, err := range b.Failures(t.Context(), g.ID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if want := map[int64]string{0: "no", 1: "later", 3: "nothing to do"}[j.Index%10]; j.Error != want {
				t.Fatalf("job %d failed with %q, want %q", j.Index, j.Error, want)
			}
		}
	})
}

func TestRestartRunsOnlyWhatHasNoOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 4})
		var mu sync.Mutex
		runs := map[int64]int{}
		b.Handle("tag", bulk.Action{Batch: 10}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			mu.Lock()
			for _, j := range x.Jobs {
				runs[j.Index]++
			}
			mu.Unlock()
			select {
			case <-time.After(50 * time.Millisecond):
				return nil, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag", Key: "k"}, bulktest.Numbers(3000))
		for range 5 {
			time.Sleep(730 * time.Millisecond)
			before, err := b.Group(t.Context(), g.ID)
			if err != nil {
				t.Fatal(err)
			}
			b.Restart()
			after, err := b.Group(t.Context(), g.ID)
			if err != nil || after.Succeeded < before.Succeeded {
				t.Fatalf("outcomes were lost: %+v, then %+v, %v", before, after, err)
			}
		}
		again, existing, err := b.Engine.Submit(t.Context(), bulk.Submission{Action: "tag", Key: "k"}, bulktest.Numbers(3000))
		if err != nil || !existing || again.ID != g.ID {
			t.Fatalf("the same key answered %+v, %v, %v", again, existing, err)
		}
		g = b.Wait(g.ID)
		if g.Succeeded != 3000 {
			t.Errorf("got %+v", g)
		}
		twice := 0
		for i := range int64(3000) {
			if runs[i] == 0 {
				t.Fatalf("job %d never ran", i)
			}
			twice += runs[i] - 1
		}
		if limit := 5 * 4 * 10; twice > limit {
			t.Errorf("%d jobs ran twice, more than the %d that were in the workers' hands", twice, limit)
		}
	})
}

func TestAtMostOnceNeverRepeatsTheUncertain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 4})
		var mu sync.Mutex
		runs := map[int64]int{}
		b.Handle("send", bulk.Action{Batch: 10, Delivery: spillway.AtMostOnce}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			mu.Lock()
			first := runs[x.Jobs[0].Index] == 0
			for _, j := range x.Jobs {
				runs[j.Index]++
			}
			mu.Unlock()
			switch (x.Jobs[0].Index / 10) % 4 {
			case 1:
				return nil, errors.New("broken connection")
			case 2:
				if first {
					return nil, &bulk.Failure{Status: spillway.Throttled, Reason: "429", Certain: true}
				}
			}
			select {
			case <-time.After(50 * time.Millisecond):
				return nil, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "send"}, bulktest.Numbers(2000))
		time.Sleep(500 * time.Millisecond)
		b.Restart()
		g = b.Wait(g.ID)
		if g.Succeeded+g.InDoubt != 2000 || g.InDoubt < 500 || g.InDoubt > 500+4*10 {
			t.Errorf("got %+v", g)
		}
		for i, n := range runs {
			if want := 1 + b2i((i/10)%4 == 2); n > want {
				t.Fatalf("job %d was handed out %d times", i, n)
			}
		}
		zero := int64(10)
		if g, err := b.Resolve(t.Context(), g.ID, &zero, spillway.OK); err != nil || g.Succeeded == 0 {
			t.Fatal(g, err)
		}
		g, err := b.Resolve(t.Context(), g.ID, nil, spillway.Failed)
		if err != nil || g.InDoubt != 0 || g.Succeeded+g.Failed != 2000 {
			t.Errorf("resolved: %+v, %v", g, err)
		}
	})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
