package bulk_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/bulktest"
	"github.com/spillway/spillway/flow"
)

// slow is a handler that takes a while and stops when told to.
func slow(d time.Duration) bulk.Handler {
	return func(ctx context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
		select {
		case <-time.After(d):
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func perSecond(n int64) flow.Rate { return flow.Rate{N: n, Per: time.Second} }

func TestPauseStopsHandingOutAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 4})
		var started atomic.Int64
		b.Handle("tag", bulk.Action{Batch: 1}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			started.Add(1)
			return slow(10*time.Millisecond)(ctx, x)
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(1000))
		time.Sleep(300 * time.Millisecond)
		p, err := b.Pause(t.Context(), g.ID, "lunch")
		if err != nil || p.State != spillway.Paused {
			t.Fatal(p, err)
		}
		// Deliveries that were claimed before may still begin; claims don't.
		time.Sleep(20 * time.Millisecond)
		n := started.Load()
		time.Sleep(time.Hour)
		if started.Load() != n || n == 0 || n > 200 {
			t.Errorf("%d deliveries at the pause, %d an hour later", n, started.Load())
		}
		if w, err := b.Why(t.Context(), g.ID); err != nil || w.Code != "paused" {
			t.Errorf("why: %+v, %v", w, err)
		}
		b.Restart()
		time.Sleep(time.Minute)
		if started.Load() != n {
			t.Error("the pause did not survive a restart")
		}
		if _, err := b.Resume(t.Context(), g.ID); err != nil {
			t.Fatal(err)
		}
		if g = b.Wait(g.ID); g.Succeeded != 1000 {
			t.Errorf("got %+v", g)
		}
	})
}

func TestCancelEndsWhenNothingIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 4})
		b.Handle("tag", bulk.Action{Batch: 10}, slow(2*time.Second))
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(1000))
		time.Sleep(time.Second)
		c, err := b.Cancel(t.Context(), g.ID)
		if err != nil || c.State != spillway.Cancelled || c.InFlight != 30 || c.FinishedAt != nil {
			t.Fatalf("cancelled: %+v, %v", c, err)
		}
		c = b.Wait(g.ID)
		if c.Succeeded != 30 || c.Cancelled != 970 {
			t.Errorf("got %+v", c)
		}
		if _, err := b.Resume(t.Context(), g.ID); !errors.Is(err, spillway.CodeState) {
			t.Errorf("resuming a cancelled group: %v", err)
		}
	})
}

func TestMaxFailuresPausesAndResumeCountsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 2})
		b.Handle("tag", bulk.Action{Batch: 10, Attempts: 1}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			if x.Jobs[0].Index < 500 {
				return nil, errors.New("bad")
			}
			return slow(time.Millisecond)(ctx, x)
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag", MaxFailures: "20%"}, bulktest.Numbers(2000))
		p := b.Until(g.ID, func(g *bulk.Group) bool { return g.State == spillway.Paused })
		if p.Failed < 100 || p.Failed > 160 {
			t.Errorf("paused after %d failures, want about 100", p.Failed)
		}
		if w, err := b.Why(t.Context(), g.ID); err != nil || w.Code != "max_failures" {
			t.Errorf("why: %+v, %v", w, err)
		}
		pauses := 0
		for g = p; g.State == spillway.Paused; pauses++ {
			if _, err := b.Resume(t.Context(), g.ID); err != nil {
				t.Fatal(err)
			}
			g = b.Until(g.ID, func(g *bulk.Group) bool { return g.State == spillway.Paused || g.State.Ended() })
		}
		if g.Failed != 500 || g.Succeeded != 1500 || pauses < 3 {
			t.Errorf("%d pauses: %+v", pauses, g)
		}
		r, err := b.Retry(t.Context(), g.ID)
		if err != nil || r.State != spillway.Running || r.Failed != 0 {
			t.Fatalf("retry: %+v, %v", r, err)
		}
	})
}

func TestCallbackIsRetriedUntilAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		var ids atomic.Value
		send := func(ctx context.Context, m bulk.Message) error {
			if old := ids.Swap(m.ID); old != nil && old != m.ID {
				t.Errorf("the callback's id changed from %v to %v", old, m.ID)
			}
			if calls.Add(1) < 5 {
				return errors.New("503")
			}
			return nil
		}
		b := bulktest.New(t, bulk.Config{Callbacks: send})
		b.Handle("tag", bulk.Action{Batch: 100}, ok)
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag", Callback: "http://example.com/done"}, bulktest.Numbers(10))
		time.Sleep(2 * time.Minute)
		g = b.Until(g.ID, func(g *bulk.Group) bool { return g.Callback.State == "accepted" })
		if calls.Load() != 5 || g.Callback.Attempts != 5 {
			t.Errorf("%d calls, %+v", calls.Load(), g.Callback)
		}
	})
}

func TestCallbackIsGivenUpAfterADayAndCanBeSentAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("a day has half a million ticks")
	}
	synctest.Test(t, func(t *testing.T) {
		var dead atomic.Bool
		dead.Store(true)
		send := func(ctx context.Context, m bulk.Message) error {
			if dead.Load() {
				return errors.New("refused")
			}
			return nil
		}
		b := bulktest.New(t, bulk.Config{Callbacks: send})
		b.Handle("tag", bulk.Action{Batch: 100}, ok)
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag", Callback: "http://example.com/done"}, bulktest.Numbers(10))
		time.Sleep(26 * time.Hour)
		g, err := b.Group(t.Context(), g.ID)
		if err != nil || g.Callback.State != "given_up" {
			t.Fatalf("a day later: %+v, %v", g.Callback, err)
		}
		dead.Store(false)
		if _, err := b.ResendCallback(t.Context(), g.ID); err != nil {
			t.Fatal(err)
		}
		b.Until(g.ID, func(g *bulk.Group) bool { return g.Callback.State == "accepted" })
	})
}

func TestExpiredGroupSkipsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 2})
		b.Handle("tag", bulk.Action{Batch: 10}, slow(100*time.Millisecond))
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag", Expires: time.Now().Add(3 * time.Second)}, bulktest.Numbers(5000))
		g = b.Wait(g.ID)
		if g.State != spillway.Completed || g.Succeeded < 250 || g.Succeeded > 350 || g.Succeeded+g.Skipped != 5000 {
			t.Errorf("got %+v", g)
		}
	})
}

func TestNotBeforeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{})
		var first atomic.Int64
		b.Handle("tag", bulk.Action{Batch: 10}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			first.CompareAndSwap(0, time.Now().UnixNano())
			return nil, nil
		})
		b.Start()
		at := time.Now().Add(3 * time.Hour)
		g := b.Submit(bulk.Submission{Action: "tag", NotBefore: at}, bulktest.Numbers(50))
		if w, err := b.Why(t.Context(), g.ID); err != nil || w.Code != "not_before" || w.Until == nil {
			t.Errorf("why: %+v, %v", w, err)
		}
		time.Sleep(3*time.Hour + time.Second)
		b.Wait(g.ID)
		if late := time.Unix(0, first.Load()).Sub(at); late < 0 || late > 10*time.Millisecond {
			t.Errorf("the first job ran %v after not_before", late)
		}
	})
}

func TestReducers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{})
		value := func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			var out []spillway.Outcome
			for _, j := range x.Jobs {
				out = append(out, spillway.Outcome{Index: j.Index, Value: []byte(`{"plan":"` + string("ab"[j.Index%2]) + `","paid":2}`)})
			}
			return out, nil
		}
		wants := map[string]string{
			"count":      `{"count":2500}`,
			"sum:paid":   `{"count":2500,"sum":5000}`,
			"group:plan": `{"count":2500,"groups":{"a":1250,"b":1250}}`,
		}
		for name := range wants {
			r, err := bulk.ReducerNamed(name)
			if err != nil {
				t.Fatal(err)
			}
			b.Handle(spillway.ActionName(name), bulk.Action{Batch: 100, Reducer: r}, value)
		}
		b.Start()
		for name, want := range wants {
			g := b.Submit(bulk.Submission{Action: spillway.ActionName(name)}, bulktest.Numbers(2500))
			if g = b.Wait(g.ID); string(g.Result) != want {
				t.Errorf("%s: got %s, want %s", name, g.Result, want)
			}
		}
	})
}

func TestHungResourceLeavesWorkersToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 8})
		b.Handle("hang", bulk.Action{Batch: 1, Timeout: 10 * time.Hour}, slow(9*time.Hour))
		var at atomic.Int64
		b.Handle("quick", bulk.Action{Batch: 1}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			at.CompareAndSwap(0, time.Now().UnixNano())
			return nil, nil
		})
		b.Start()
		b.Submit(bulk.Submission{Action: "hang"}, bulktest.Numbers(100))
		time.Sleep(time.Minute)
		start := time.Now()
		g := b.Submit(bulk.Submission{Action: "quick"}, bulktest.Numbers(100))
		b.Wait(g.ID)
		if d := time.Unix(0, at.Load()).Sub(start); d > time.Second {
			t.Errorf("the other resource's first job started after %v", d)
		}
	})
}

func TestDeadResourceIsProbedAndUsesNoAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 8})
		var dead atomic.Bool
		var calls atomic.Int64
		dead.Store(true)
		b.Handle("api", bulk.Action{Batch: 10, Attempts: 2}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			calls.Add(1)
			if dead.Load() {
				return nil, &bulk.Failure{Status: spillway.Retry, Reason: "connection refused", Down: true, Certain: true}
			}
			return nil, nil
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "api"}, bulktest.Numbers(1000))
		time.Sleep(time.Minute)
		if n := calls.Load(); n < 50 || n > 80 {
			t.Errorf("%d calls in a minute, want about one a second", n)
		}
		if w, err := b.Why(t.Context(), g.ID); err != nil || w.Code != "resource_down" {
			t.Errorf("why: %+v, %v", w, err)
		}
		dead.Store(false)
		if g = b.Wait(g.ID); g.Succeeded != 1000 {
			t.Errorf("got %+v", g)
		}
	})
}
