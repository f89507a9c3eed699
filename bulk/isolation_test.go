package bulk_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/bulktest"
)

// Two broken groups on a resource are no sign of a broken resource while a
// third has work in hand there that has not failed.
func TestBrokenGroupsDoNotOpenTheBreakerForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 16})
		b.Handle("api", bulk.Action{Batch: 1, Backoff: -1, Attempts: 1000}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			if x.Tenant == "good" {
				return slow(20*time.Second)(ctx, x)
			}
			return nil, errors.New("broken")
		})
		b.Start()
		good := b.Submit(bulk.Submission{Tenant: "good", Action: "api", Concurrency: 2}, bulktest.Numbers(6))
		b.Submit(bulk.Submission{Tenant: "bad1", Action: "api"}, bulktest.Numbers(100))
		b.Submit(bulk.Submission{Tenant: "bad2", Action: "api"}, bulktest.Numbers(100))
		for range 58 {
			time.Sleep(time.Second)
			if r, err := b.Resource(t.Context(), "api"); err != nil || r.Breaker != "closed" {
				t.Fatalf("the breaker: %+v, %v", r, err)
			}
		}
		time.Sleep(4 * time.Second)
		if g, err := b.Group(t.Context(), good.ID); err != nil || g.State != spillway.Completed {
			t.Errorf("three batches of 20 s each took over a minute: %+v, %v", g, err)
		}
	})
}

// With nothing but failures on a resource, in several groups, it is down.
func TestFailuresOfAllGroupsOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 8})
		b.Handle("api", bulk.Action{Batch: 1, Backoff: -1, Attempts: 1000}, func(context.Context, *bulk.Batch) ([]spillway.Outcome, error) {
			return nil, errors.New("broken")
		})
		b.Start()
		b.Submit(bulk.Submission{Tenant: "one", Action: "api"}, bulktest.Numbers(100))
		time.Sleep(20 * time.Second)
		if r, err := b.Resource(t.Context(), "api"); err != nil || r.Breaker != "closed" {
			t.Fatalf("one broken group opened the breaker: %+v, %v", r, err)
		}
		b.Submit(bulk.Submission{Tenant: "two", Action: "api"}, bulktest.Numbers(100))
		time.Sleep(20 * time.Second)
		if r, err := b.Resource(t.Context(), "api"); err != nil || r.Breaker != "open" || r.Cause != "broken" {
			t.Errorf("two broken groups and nothing else: %+v, %v", r, err)
		}
	})
}

// A receiver of callbacks that never answers holds up its own only.
func TestDeadCallbackReceiverHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var live atomic.Int64
		send := func(ctx context.Context, m bulk.Message) error {
			if m.URL == "http://dead.example/" {
				_, err := slow(30*time.Second)(ctx, nil)
				return errors.Join(err, errors.New("timed out"))
			}
			live.Add(1)
			return nil
		}
		b := bulktest.New(t, bulk.Config{Callbacks: send, Logger: quiet})
		b.Handle("tag", bulk.Action{Batch: 100}, ok)
		b.Start()
		for range 100 {
			b.Submit(bulk.Submission{Tenant: "dead", Action: "tag", Callback: "http://dead.example/"}, bulktest.Numbers(1))
		}
		time.Sleep(5 * time.Second)
		b.Submit(bulk.Submission{Tenant: "live", Action: "tag", Callback: "http://live.example/"}, bulktest.Numbers(1))
		time.Sleep(3 * time.Second)
		if live.Load() != 1 {
			t.Errorf("%d callbacks to the receiver that lives", live.Load())
		}
	})
}

func TestResentCallbackIsTriedForAnotherDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		b := bulktest.New(t, bulk.Config{Logger: quiet, Callbacks: func(context.Context, bulk.Message) error {
			calls.Add(1)
			return errors.New("refused")
		}})
		b.Handle("tag", bulk.Action{Batch: 100}, ok)
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag", Callback: "http://example.com/"}, bulktest.Numbers(1))
		time.Sleep(26 * time.Hour)
		first := calls.Load()
		if _, err := b.ResendCallback(t.Context(), g.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(12 * time.Hour)
		if again := calls.Load() - first; again < 10 {
			t.Errorf("%d attempts in half a day after it was sent again, %d before", again, first)
		}
	})
}

func TestCancelledGroupEndsWithItsLastLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 4})
		b.Handle("tag", bulk.Action{Batch: 10}, slow(2*time.Second))
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(1000))
		time.Sleep(time.Second)
		if _, err := b.Cancel(t.Context(), g.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		if g, err := b.Group(t.Context(), g.ID); err != nil || g.FinishedAt == nil {
			t.Errorf("half a second after its last lease: %+v, %v", g, err)
		}
	})
}

// bad is a source of rows that fail by themselves, one each tenth of a second.
type bad struct{ rows bulk.Source }

func (s bad) Next() (bulk.Row, error) {
	time.Sleep(100 * time.Millisecond)
	r, err := s.rows.Next()
	r.Bad = "ragged"
	return r, err
}

func TestMaxFailuresCountsAnewForAnUploadThatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{})
		b.Handle("tag", bulk.Action{Batch: 100}, ok)
		b.Start()
		done := make(chan error, 1)
		g, _, err := b.Open(t.Context(), bulk.Submission{Action: "tag", MaxFailures: "3"})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := b.Append(context.Background(), g.ID, 0, bad{bulktest.Numbers(60)})
			done <- err
		}()
		for range 2 {
			b.Until(g.ID, func(g *bulk.Group) bool { return g.State == spillway.Paused })
			if _, err := b.Resume(t.Context(), g.ID); err != nil {
				t.Fatal(err)
			}
		}
		b.Until(g.ID, func(g *bulk.Group) bool { return g.State == spillway.Paused })
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// explosive is a reducer with a defect.
type explosive struct{}

func (explosive) Map([]bulk.JobValue) (json.RawMessage, error)            { panic("boom") }
func (explosive) Reduce(parts []json.RawMessage) (json.RawMessage, error) { return parts[0], nil }

func TestReducerThatPanicsEndsTheGroupAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Logger: quiet})
		b.Handle("tag", bulk.Action{Batch: 100, Reducer: explosive{}}, ok)
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(10))
		if g = b.Wait(g.ID); string(g.Result) != `{"error":"the reducer failed: it panicked: boom"}` {
			t.Errorf("result %s", g.Result)
		}
	})
}

// A group's rate may change while it runs, also for an upload that goes on.
func TestAdjustedBoundsHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 4})
		b.Handle("tag", bulk.Action{Batch: 1}, ok)
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag", Rate: perSecond(10), MaxFailures: "1%"}, bulktest.Numbers(2000))
		time.Sleep(10 * time.Second)
		fast, bound := perSecond(500), "50%"
		g, err := b.Adjust(t.Context(), g.ID, bulk.Bounds{Rate: &fast, MaxFailures: &bound})
		if err != nil || g.Rate != "500/s" || g.MaxFailures != "50%" || g.Succeeded > 110 {
			t.Fatalf("adjusted: %+v, %v", g, err)
		}
		time.Sleep(6 * time.Second)
		if g, err := b.Group(t.Context(), g.ID); err != nil || g.State != spillway.Completed {
			t.Errorf("1,900 jobs at 500/s took over 6 s: %+v, %v", g, err)
		}
		if _, err := b.Adjust(t.Context(), g.ID, bulk.Bounds{Rate: &fast}); !errors.Is(err, spillway.CodeState) {
			t.Errorf("adjusting a completed group: %v", err)
		}
	})
}

// A tenant that came first may hold all workers that a resource may have; why
// says so, and the next free one goes to the other tenant.
func TestWhyNamesTheWorkersOfAResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 16})
		b.Handle("tag", bulk.Action{Batch: 1, Timeout: time.Hour}, slow(20*time.Second))
		b.Start()
		b.Submit(bulk.Submission{Tenant: "first", Action: "tag"}, bulktest.Numbers(100))
		time.Sleep(time.Second)
		g := b.Submit(bulk.Submission{Tenant: "second", Action: "tag"}, bulktest.Numbers(2))
		if w, err := b.Why(t.Context(), g.ID); err != nil || w.Code != "resource_workers" {
			t.Errorf("why: %+v, %v", w, err)
		}
		time.Sleep(20 * time.Second)
		if g, err := b.Group(t.Context(), g.ID); err != nil || g.InFlight != 2 {
			t.Errorf("after the first deliveries ended: %+v, %v", g, err)
		}
	})
}
