package bulk_test

import (
	"context"
	"errors"
	"io"
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

func TestStopDrainsAndRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 4})
		var began atomic.Int64
		b.Handle("tag", bulk.Action{Batch: 10}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			began.Add(int64(len(x.Jobs)))
			return slow(5*time.Second)(ctx, x)
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(1000))
		time.Sleep(time.Second)
		start := time.Now()
		b.Stop()
		if took := time.Since(start); took != 4*time.Second {
			t.Errorf("the drain took %v, want the 4s that the deliveries needed", took)
		}
		if g, err := b.Group(t.Context(), g.ID); err != nil || g.Succeeded != 30 || began.Load() != 30 {
			t.Errorf("%d began: %+v, %v", began.Load(), g, err)
		}
	})
}

// The drain is bounded, and handlers that do not hear are left behind.
func TestDrainIsBounded(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := bulktest.New(t, bulk.Config{Workers: 4, Drain: 10 * time.Second, Logger: quiet})
			b.Handle("tag", bulk.Action{Batch: 10, Timeout: time.Hour}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
				x.Report(spillway.Outcome{Index: x.Jobs[0].Index})
				if deaf {
					time.Sleep(30 * time.Minute)
				}
				return slow(30*time.Minute)(ctx, x)
			})
			b.Start()
			g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(1000))
			time.Sleep(time.Second)
			start := time.Now()
			b.Stop()
			if took := time.Since(start); took < 10*time.Second || took > 16*time.Second {
				t.Errorf("the stop took %v", took)
			}
			if g, err := b.Group(t.Context(), g.ID); err != nil || g.Succeeded != 3 {
				t.Errorf("what was reported is not recorded: %+v, %v", g, err)
			}
			time.Sleep(time.Hour)
		})
	}
}

func TestHardStopIsAtOnceAndKeepsTheLastWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 4})
		b.Handle("tag", bulk.Action{Batch: 10, Timeout: time.Hour}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			<-ctx.Done()
			return all(x, spillway.Outcome{Status: spillway.Skipped, Error: "cut off"})[:7], ctx.Err()
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(1000))
		time.Sleep(time.Second)
		start := time.Now()
		b.Restart()
		if took := time.Since(start); took > 10*time.Millisecond {
			t.Errorf("the stop took %v", took)
		}
		if g, err := b.Group(t.Context(), g.ID); err != nil || g.Skipped != 21 || g.Failed > 0 {
			t.Errorf("got %+v, %v", g, err)
		}
	})
}

// piped is a source that blocks until it is given rows or closed.
type piped struct {
	rows chan bulk.Row
}

func (p piped) Next() (bulk.Row, error) {
	r, ok := <-p.rows
	if !ok {
		return bulk.Row{}, io.EOF
	}
	return r, nil
}

func row(i int) bulk.Row { return bulk.Row{Data: []byte{'"', byte('a' + i%26), '"'}} }

// A stop while an upload streams keeps what was accepted; the same source read
// from its start goes on from there, and the result is as if nothing had been.
func TestRestartInMidUploadGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 4})
		var ran runs
		b.Handle("tag", bulk.Action{Batch: 10}, ran.then(slow(time.Millisecond)))
		b.Start()
		g, _, err := b.Open(t.Context(), bulk.Submission{Action: "tag", Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		const n = 5000
		for stops := range 4 {
			src := piped{make(chan bulk.Row)}
			ctx, cancel := context.WithCancel(t.Context())
			type end struct {
				total int64
				err   error
			}
			ended := make(chan end)
			go func() {
				total, err := b.AppendFromStart(ctx, g.ID, src)
				ended <- end{total, err}
			}()
			for i := range n * (stops + 1) / 4 {
				src.rows <- row(i)
				if i%100 == 99 {
					time.Sleep(time.Millisecond)
				}
			}
			if stops < 3 {
				time.Sleep(time.Second) // what waits is written
				cancel()
			}
			close(src.rows)
			x := <-ended
			cancel()
			if want := int64(n * (stops + 1) / 4); x.total != want || (stops < 3) != errors.Is(x.err, context.Canceled) {
				t.Fatalf("upload %d: total %d, want %d; %v", stops, x.total, want, x.err)
			}
			b.Restart()
		}
		if _, err := b.Seal(t.Context(), g.ID); err != nil {
			t.Fatal(err)
		}
		if g = finish(t, b, g.ID); g.Succeeded != n {
			t.Errorf("got %+v", g)
		}
		for i := range int64(n) {
			if ran.count[i] == 0 {
				t.Fatalf("job %d never ran", i)
			}
		}
	})
}

// leaving is a ledger whose client goes away while rows are being added.
type leaving struct {
	ledger.Ledger
	leave func()
}

func (l leaving) Append(ctx context.Context, now time.Time, rows []ledger.Append) ([]ledger.Appended, error) {
	out, err := l.Ledger.Append(ctx, now, rows)
	l.leave()
	time.Sleep(time.Second) // reading has ended by then
	return out, err
}

// An upload whose client goes away is never taken for the whole.
func TestCutUploadIsNotTakenForTheWhole(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			b := bulktest.NewWrapped(t, bulk.Config{Logger: quiet}, func(l ledger.Ledger, q queue.Queue) (ledger.Ledger, queue.Queue) {
				return leaving{l, func() { leave() }}, q
			})
			b.Handle("tag", bulk.Action{Batch: 10}, ok)
			b.Start()
			src := trickle{bulktest.Numbers(100), 50 * time.Millisecond}
			g, _, err := b.Open(ctx, bulk.Submission{Action: "tag"})
			if err != nil {
				t.Fatal(err)
			}
			if total, err := b.Append(ctx, g.ID, 0, src); err == nil {
				t.Fatalf("%d rows of 100 were taken for all", total)
			}
			ctx, leave = context.WithCancel(t.Context())
			defer leave()
			if g, _, err := b.Engine.Submit(ctx, bulk.Submission{Action: "tag"}, src); err == nil || (g != nil && g.Sealed) {
				t.Fatalf("a part was sealed: %+v, %v", g, err)
			}
		})
	}
}

// An upload that stalls holds nothing else up.
func TestStalledUploadHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 4})
		b.Handle("tag", bulk.Action{Batch: 10}, ok)
		b.Start()
		src := piped{make(chan bulk.Row)}
		stalled, _, err := b.Open(t.Context(), bulk.Submission{Action: "tag"})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { _, err := b.Append(t.Context(), stalled.ID, 0, src); ended <- err }()
		src.rows <- row(1)
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(1000))
		if g = finish(t, b, g.ID); g.FinishedAt.Sub(g.CreatedAt) > time.Second {
			t.Errorf("the other group took %v", g.FinishedAt.Sub(g.CreatedAt))
		}
		b.Until(stalled.ID, func(g *bulk.Group) bool { return g.Succeeded == 1 && g.State == spillway.Receiving })
		close(src.rows)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
