package bulk_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/bulktest"
)

func TestPullWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{})
		b.Handle("tag", bulk.Action{Batch: 100, Pull: true, Timeout: 30 * time.Second}, nil)
		b.Start()
		if p, err := b.Lease(t.Context(), bulk.PullRequest{Actions: []spillway.ActionName{"tag"}, Wait: time.Second}); p != nil || err != nil {
			t.Fatal(p, err)
		}
		g := b.Submit(bulk.Submission{Tenant: "acme", Action: "tag"}, bulktest.Numbers(250))
		if p, err := b.Lease(t.Context(), bulk.PullRequest{Actions: []spillway.ActionName{"tag"}, Tenant: "other", Wait: time.Second}); p != nil || err != nil {
			t.Fatal("another tenant's worker got", p, err)
		}
		for {
			p, err := b.Lease(t.Context(), bulk.PullRequest{Actions: []spillway.ActionName{"tag"}, Max: 50, Wait: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if p == nil {
				break
			}
			if _, err := b.SettleLease(t.Context(), p.Lease, "other", nil); !errors.Is(err, spillway.CodeNotFound) {
				t.Fatal("another tenant settled:", err)
			}
			if n, err := b.SettleLease(t.Context(), p.Lease, "", nil); err != nil || n != 50 {
				t.Fatal(n, err)
			}
		}
		if g = b.Wait(g.ID); g.Succeeded != 250 {
			t.Errorf("got %+v", g)
		}
	})
}

// A lease expires, its jobs go to another worker, and the first one wakes up
// later: no count and no value changes.
func TestLateWorkerChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{})
		b.Handle("tag", bulk.Action{Batch: 10, Pull: true, Timeout: 5 * time.Second, Backoff: -1}, nil)
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(10))
		pull := func() *bulk.Pulled {
			t.Helper()
			p, err := b.Lease(t.Context(), bulk.PullRequest{Actions: []spillway.ActionName{"tag"}, Wait: 30 * time.Second})
			if err != nil || p == nil {
				t.Fatal(p, err)
			}
			return p
		}
		settle := func(p *bulk.Pulled, value string) (int64, error) {
			var out []spillway.Outcome
			for _, j := range p.Jobs {
				out = append(out, spillway.Outcome{Index: j.Index, Value: []byte(value)})
			}
			return b.SettleLease(t.Context(), p.Lease, "", out)
		}
		first := pull()
		second := pull() // after the first has expired
		if second.Jobs[0].Attempt != 2 || second.Jobs[0].Key != first.Jobs[0].Key {
			t.Errorf("redelivered as %+v", second.Jobs[0])
		}
		if _, err := b.ExtendLease(t.Context(), first.Lease, "", time.Minute); !errors.Is(err, spillway.CodeLeaseLost) {
			t.Errorf("extending a lost lease: %v", err)
		}
		if n, err := settle(second, `"second"`); n != 10 || err != nil {
			t.Fatal(n, err)
		}
		if _, err := settle(first, `"first"`); !errors.Is(err, spillway.CodeLeaseLost) {
			t.Errorf("a late settle: %v", err)
		}
		if g = b.Wait(g.ID); g.Succeeded != 10 {
			t.Errorf("got %+v", g)
		}
		for j, err := range b.Results(t.Context(), g.ID, 0) {
			if err != nil || string(j.Value) != `"second"` {
				t.Fatal(j, err)
			}
		}
	})
}

// A late worker whose jobs have no outcome yet is heard.
func TestLateWorkerIsHeardWhereNobodyElseWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{})
		b.Handle("tag", bulk.Action{Batch: 10, Pull: true, Timeout: 5 * time.Second}, nil)
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(10))
		p, err := b.Lease(t.Context(), bulk.PullRequest{Actions: []spillway.ActionName{"tag"}})
		if err != nil || p == nil {
			t.Fatal(p, err)
		}
		time.Sleep(10 * time.Second)
		b.Restart()
		if n, err := b.SettleLease(t.Context(), p.Lease, "", nil); n != 10 || err != nil {
			t.Fatal(n, err)
		}
		if g = b.Wait(g.ID); g.Succeeded != 10 {
			t.Errorf("got %+v", g)
		}
	})
}

// trickle is a source whose rows come one at a time.
type trickle struct {
	rows bulk.Source
	gap  time.Duration
}

func (s trickle) Next() (bulk.Row, error) {
	time.Sleep(s.gap)
	return s.rows.Next()
}

func TestFirstJobRunsWhileRowsTrickleIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{})
		ran := make(chan time.Time, 100)
		b.Handle("tag", bulk.Action{Batch: 100}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			ran <- time.Now()
			return nil, nil
		})
		b.Start()
		start := time.Now()
		g := b.Submit(bulk.Submission{Action: "tag"}, trickle{bulktest.Numbers(10), time.Second})
		if d := (<-ran).Sub(start); d > 2*time.Second {
			t.Errorf("the first job ran after %v, want within a second of the first row", d)
		}
		if g = b.Wait(g.ID); g.Succeeded != 10 || len(ran) != 9 {
			t.Errorf("got %+v in %d more deliveries", g, len(ran))
		}
	})
}

// broken is a source that ends badly after its rows.
type broken struct{ rows bulk.Source }

func (s broken) Next() (bulk.Row, error) {
	r, err := s.rows.Next()
	if errors.Is(err, io.EOF) {
		err = spillway.Errorf(spillway.CodeInvalid, "row 11 is broken")
	}
	return r, err
}

func TestBrokenSourceKeepsTheRowsBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{})
		b.Handle("tag", bulk.Action{Batch: 100}, ok)
		b.Start()
		s := bulk.Submission{Action: "tag", Key: "k"}
		g, _, err := b.Engine.Submit(t.Context(), s, broken{bulktest.Numbers(10)})
		if !errors.Is(err, spillway.CodeInvalid) || g == nil || g.Sealed || g.Total != 10 {
			t.Fatalf("got %+v, %v", g, err)
		}
		if _, _, err := b.Engine.Submit(t.Context(), s, bulktest.Numbers(5)); !errors.Is(err, spillway.CodeSourceChanged) {
			t.Errorf("a shorter source: %v", err)
		}
		g, existing, err := b.Engine.Submit(t.Context(), s, bulktest.Numbers(12))
		if err != nil || !existing || !g.Sealed || g.Total != 12 {
			t.Fatalf("the mended source: %+v, %v, %v", g, existing, err)
		}
		if g = b.Wait(g.ID); g.Succeeded != 12 {
			t.Errorf("got %+v", g)
		}
	})
}
