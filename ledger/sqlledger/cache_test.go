package sqlledger

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

func TestLRU(t *testing.T) {
	c := newLRU[int, string](10)
	has := func(k int, want string) {
		t.Helper()
		if v, ok := c.get(k); v != want || ok != (want != "") {
			t.Errorf("%d is %q, %v; want %q", k, v, ok, want)
		}
	}
	c.put(1, "a", 4)
	c.put(2, "b", 4)
	has(1, "a") // used last
	c.put(3, "c", 4)
	has(2, "")
	has(1, "a")
	has(3, "c")
	c.put(1, "A", 8) // grows: 3 must go
	has(1, "A")
	has(3, "")
	c.put(4, "d", 11) // larger than the cache: nothing is left, itself included
	has(4, "")
	has(1, "")
	c.put(5, "e", 10)
	c.drop(5)
	has(5, "")
	if c.mu.cost != 0 || c.mu.order.Len() != 0 {
		t.Errorf("empty, but it costs %d for %d", c.mu.cost, c.mu.order.Len())
	}
}

// However small the cache, or without one, the rows are the same, and the
// bound holds.
func TestSegmentCacheBound(t *testing.T) {
	for _, bytes := range []int64{-1, 1, 50_000, 0} {
		ctx := context.Background()
		l, err := OpenSQLite(ctx, filepath.Join(t.TempDir(), "ledger.db"), Options{CacheBytes: bytes})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Create(ctx, then, []ledger.NewGroup{{ID: "g", Tenant: "t", Action: "a", Resource: "r"}}); err != nil {
			t.Fatal(err)
		}
		rows := noise(250)
		for at := int64(0); at < 2000; at += 250 {
			if out, err := l.Append(ctx, then, []ledger.Append{{Group: "g", Offset: at, Rows: rows}}); err != nil || out[0].Err != nil {
				t.Fatal(err, out)
			}
		}
		for _, i := range []int64{0, 1999, 600, 250, 999} {
			p, err := l.Payload(ctx, []ledger.JobSet{{Group: "g", Jobs: spillway.Of(i)}})
			if err != nil {
				t.Fatal(err)
			}
			if data, _, ok := p[0].At(i); !ok || string(data) != string(rows.At(int(i%250))) {
				t.Errorf("cache of %d: job %d: %s, %v", bytes, i, data, ok)
			}
		}
		if held := l.segments.mu.cost; held > l.segments.limit {
			t.Errorf("cache of %d holds %d", bytes, held)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
