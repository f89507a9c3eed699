package sqlledger

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// pages sets how large the file may become: a full disk, at will.
func (l *Ledger) pages(t *testing.T, more int64) {
	t.Helper()
	err := l.write(context.Background(), &request{apply: func(b *batch) error {
		var count, limit int64
		if _, err := b.s.one([]any{&count}, "PRAGMA page_count"); err != nil {
			return err
		}
		return b.s.eachOnce(func(scan func(...any) error) error { return scan(&limit) },
			fmt.Sprintf("PRAGMA max_page_count = %d", count+more))
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func noise(n int) (r ledger.Rows) {
	x := uint64(88172645463325252)
	for range n {
		var b []byte
		for range 40 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			b = fmt.Appendf(b, "%x", x)
		}
		r.Add(b, 1)
	}
	return r
}

// The disk is full: the call says so and nothing has moved, in the file or in
// memory; with room again the same call is good.
func TestDiskFull(t *testing.T) {
	ctx, now := context.Background(), time.UnixMicro(1_000_000)
	l, err := OpenSQLite(ctx, filepath.Join(t.TempDir(), "ledger.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := l.Create(ctx, now, []ledger.NewGroup{{ID: "g", Tenant: "t", Action: "a", Resource: "r"}}); err != nil {
		t.Fatal(err)
	}
	add := func(offset int64) error {
		out, err := l.Append(ctx, now, []ledger.Append{{Group: "g", Offset: offset, Rows: noise(500), MaxBytes: 1 << 40,
			Bad: []ledger.BadRow{{Index: offset, Reason: "bad"}}}})
		if err != nil {
			return err
		}
		return out[0].Err
	}
	if err := add(0); err != nil {
		t.Fatal(err)
	}
	find := func() ledger.Group {
		t.Helper()
		g, _, err := l.Find(ctx, ledger.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		return g[0]
	}
	before := find()
	l.pages(t, 0)
	for range 3 {
		err := add(500)
		if !errors.Is(err, spillway.CodeLedgerFull) || !strings.Contains(err.Error(), "free some space") {
			t.Fatalf("on a full disk: %v", err)
		}
		if d := cmp.Diff(before, find()); d != "" {
			t.Fatalf("a failed call moved the group:\n%s", d)
		}
	}
	if held := l.tenants["t"]; held != before.Bytes {
		t.Errorf("the tenant holds %d in memory, want %d", held, before.Bytes)
	}
	l.pages(t, 10_000)
	if err := add(500); err != nil {
		t.Fatal(err)
	}
	after := find()
	if after.Total != 1000 || after.Version != before.Version+1 || after.Counts.Failed != 2 {
		t.Errorf("with room again: %+v", after)
	}
	p, err := l.Payload(ctx, []ledger.JobSet{{Group: "g", Jobs: spillway.One(500, 1000)}})
	if err != nil || p[0].Cost(spillway.One(500, 1000)) != 500 {
		t.Errorf("payload: %v, %v", len(p[0].Segments), err)
	}
}

// A call that is too large for the disk does not fail those beside it.
func TestDiskFullSpares(t *testing.T) {
	ctx, now := context.Background(), time.UnixMicro(1_000_000)
	l, err := OpenSQLite(ctx, filepath.Join(t.TempDir(), "ledger.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := l.Create(ctx, now, []ledger.NewGroup{{ID: "g", Tenant: "t", Action: "a", Resource: "r"}}); err != nil {
		t.Fatal(err)
	}
	rows := noise(10)
	if _, err := l.Append(ctx, now, []ledger.Append{{Group: "g", Rows: rows}}); err != nil {
		t.Fatal(err)
	}
	settle := func(b *batch) error {
		s := ledger.Settlement{Group: "g", Outcomes: []ledger.Outcome{{Jobs: spillway.One(0, 10)}}}
		_, err := b.settle(now, []settlement{{Settlement: &s}})
		return err
	}
	large := ledger.Append{Group: "g", Offset: 10, Rows: noise(900)}
	body := encodeRows(&large.Rows)
	add := func(b *batch) error { return b.append(&large, &packedRows{body: body}, &ledger.Appended{}) }
	l.pages(t, 1)

	// Both in one transaction, as if they had come while another was committed.
	var requests []*request
	for _, f := range []func(*batch) error{add, settle} {
		requests = append(requests, &request{apply: f, done: make(chan error, 1)})
	}
	gate := make(chan struct{})
	held := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		held <- l.write(ctx, &request{apply: func(*batch) error { close(started); <-gate; return nil }})
	}()
	<-started
	for _, r := range requests {
		l.writer.submit(r)
	}
	close(gate)
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	if err := l.explain(<-requests[0].done); !errors.Is(err, spillway.CodeLedgerFull) {
		t.Errorf("the large one: %v, want CodeLedgerFull", err)
	}
	if err := <-requests[1].done; err != nil {
		t.Errorf("the small one: %v", err)
	}
	g, _, err := l.Find(ctx, ledger.Filter{})
	if err != nil || g[0].Total != 10 || g[0].Counts.Succeeded != 10 {
		t.Errorf("found %+v, %v", g, err)
	}
}
