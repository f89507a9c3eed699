package sqlledger

import (
	"context"
	"errors"
	"fmt"
	"os"
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

// opened is a ledger with a group g, of 10 jobs.
func opened(t *testing.T) *Ledger {
	t.Helper()
	ctx := context.Background()
	l, err := OpenSQLite(ctx, filepath.Join(t.TempDir(), "ledger.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := l.Create(ctx, then, []ledger.NewGroup{{ID: "g", Tenant: "t", Action: "a", Resource: "r"}}); err != nil {
		t.Fatal(err)
	}
	if err := add(l, 0, 10); err != nil {
		t.Fatal(err)
	}
	return l
}

var then = time.UnixMicro(1_000_000)

// add appends rows, the first of which is bad.
func add(l *Ledger, offset int64, n int) error {
	out, err := l.Append(context.Background(), then, []ledger.Append{{
		Group: "g", Offset: offset, Rows: noise(n), MaxBytes: 1 << 40, Bad: []ledger.BadRow{{Index: offset, Reason: "bad"}},
	}})
	if err != nil {
		return err
	}
	return out[0].Err
}

func found(t *testing.T, l *Ledger) ledger.Group {
	t.Helper()
	g, _, err := l.Find(context.Background(), ledger.Filter{})
	if err != nil || len(g) != 1 {
		t.Fatal(g, err)
	}
	return g[0]
}

// unmoved checks that a failed call moved nothing, in the file or in memory.
func unmoved(t *testing.T, l *Ledger, before ledger.Group) {
	t.Helper()
	if d := cmp.Diff(before, found(t, l)); d != "" {
		t.Fatalf("a failed call moved the group:\n%s", d)
	}
	if held := l.tenants["t"]; held != before.Bytes {
		t.Errorf("the tenant holds %d in memory, want %d", held, before.Bytes)
	}
}

// The disk is full: the call says so and nothing has moved; with room again
// the same call is good.
func TestDiskFull(t *testing.T) {
	l := opened(t)
	before := found(t, l)
	l.pages(t, 0)
	values := ledger.Settlement{Group: "g"}
	random := noise(400).Data
	for i := range 9 {
		value := fmt.Appendf(nil, "%q", random[i*20_000:(i+1)*20_000])
		values.Outcomes = append(values.Outcomes, ledger.Outcome{Jobs: spillway.Of(int64(i) + 1), Value: value})
	}
	settle := func() error {
		_, err := l.Settle(context.Background(), then, []ledger.Settlement{values})
		return err
	}
	for range 2 {
		for what, err := range map[string]error{"Append": add(l, 10, 500), "Settle": settle()} {
			if !errors.Is(err, spillway.CodeLedgerFull) || !strings.Contains(err.Error(), "free some space") {
				t.Fatalf("%s on a full disk: %v", what, err)
			}
		}
		unmoved(t, l, before)
	}
	l.pages(t, 10_000)
	if err := errors.Join(add(l, 10, 500), settle()); err != nil {
		t.Fatal(err)
	}
	after := found(t, l)
	if after.Total != 510 || after.Version != before.Version+1 || after.Counts.Failed != 2 || after.Counts.Succeeded != 9 {
		t.Errorf("with room again: %+v", after)
	}
	p, err := l.Payload(context.Background(), []ledger.JobSet{{Group: "g", Jobs: spillway.One(10, 510)}})
	if err != nil || p[0].Cost(spillway.One(10, 510)) != 500 {
		t.Errorf("payload: %v, %v", len(p[0].Segments), err)
	}
}

// The commit itself fails: here by a foreign key that is checked only then.
func TestCommitFails(t *testing.T) {
	l := opened(t)
	before := found(t, l)
	if err := l.writer.session.control("PRAGMA foreign_keys = ON"); err != nil {
		t.Fatal(err)
	}
	s := ledger.Settlement{Group: "g", Outcomes: []ledger.Outcome{{Jobs: spillway.One(0, 10)}}}
	rows := noise(5)
	err := l.write(context.Background(), &request{apply: func(b *batch) error {
		for _, text := range []string{
			"CREATE TABLE parent (id INTEGER PRIMARY KEY)",
			"CREATE TABLE child (id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)",
			"INSERT INTO child VALUES (1)",
		} {
			if _, err := b.s.exec(text); err != nil {
				return err
			}
		}
		p := packedRows{body: encodeRows(&rows), cached: ledger.Segment{First: 10, Rows: &rows}}
		if err := b.append(&ledger.Append{Group: "g", Offset: 10, Rows: rows}, &p, &ledger.Appended{}); err != nil {
			return err
		}
		_, err := b.settle(then, []settlement{{Settlement: &s}})
		return err
	}})
	if !errors.Is(err, spillway.CodeInternal) {
		t.Fatalf("error %v, want CodeInternal", err)
	}
	unmoved(t, l, before)
	p, err := l.Payload(context.Background(), []ledger.JobSet{{Group: "g", Jobs: spillway.Of(10)}})
	if _, _, ok := p[0].At(10); ok || err != nil {
		t.Errorf("a row of the failed call is there (%v)", err)
	}
	if _, err := l.Settle(context.Background(), then, []ledger.Settlement{s}); err != nil {
		t.Fatal(err)
	}
	if n := found(t, l).Counts.Succeeded; n != 9 {
		t.Errorf("%d succeeded, want 9", n)
	}
}

// What was answered must be on the disk, not in its cache.
func TestDurableSettings(t *testing.T) {
	l := opened(t)
	for name, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "page_size": fmt.Sprint(pageSize)} {
		var got string
		if _, err := l.writer.session.one([]any{&got}, "PRAGMA "+name); err != nil || got != want {
			t.Errorf("PRAGMA %s is %s (%v), want %s", name, got, err, want)
		}
	}
}

// Nothing is left of a tenant that was erased.
func TestErasedWhole(t *testing.T) {
	l := opened(t)
	s := ledger.Settlement{Group: "g", Outcomes: []ledger.Outcome{{Jobs: spillway.One(0, 10), Status: spillway.Failed, Reason: "so"}}}
	if _, err := l.Settle(context.Background(), then, []ledger.Settlement{s}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Prune(context.Background(), then, ledger.Prune{Tenant: "t"}); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"groups", "segments", "outcomes", "details", "outbox"} {
		var n int
		if _, err := l.writer.session.one([]any{&n}, "SELECT COUNT(*) FROM "+table); err != nil || n != 0 {
			t.Errorf("%d rows left in %s (%v)", n, table, err)
		}
	}
}

// A call that is too large for the disk does not fail those beside it.
func TestDiskFullSpares(t *testing.T) {
	l := opened(t)
	settle := func(b *batch) error {
		s := ledger.Settlement{Group: "g", Outcomes: []ledger.Outcome{{Jobs: spillway.One(0, 10)}}}
		_, err := b.settle(then, []settlement{{Settlement: &s}})
		return err
	}
	large := ledger.Append{Group: "g", Offset: 10, Rows: noise(900)}
	body := encodeRows(&large.Rows)
	upload := func(b *batch) error { return b.append(&large, &packedRows{body: body}, &ledger.Appended{}) }
	l.pages(t, 1)

	// Both in one transaction, as if they had come while another was committed.
	var requests []*request
	for _, f := range []func(*batch) error{upload, settle} {
		requests = append(requests, &request{apply: f, done: make(chan error, 1)})
	}
	gate := make(chan struct{})
	held := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		held <- l.write(context.Background(), &request{apply: func(*batch) error { close(started); <-gate; return nil }})
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
	if g := found(t, l); g.Total != 10 || g.Counts.Succeeded != 9 {
		t.Errorf("found %+v", g)
	}
}

// The log is emptied by force when it has grown too long, while others read.
func TestLogBounded(t *testing.T) {
	l := opened(t)
	l.writer.walLimit = 1 << 20
	stop, done := make(chan struct{}), make(chan error)
	for range readerSessions {
		go func() {
			for {
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
				if _, err := l.Verify(context.Background(), then, []ledger.Check{{Group: "g", Jobs: spillway.One(0, 10)}}); err != nil {
					done <- err
					return
				}
			}
		}()
	}
	for i := range tidyEvery + 1 {
		if err := add(l, 10+int64(i)*10, 10); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	for range readerSessions {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	i, err := os.Stat(l.path + "-wal")
	if err != nil || i.Size() > l.writer.walLimit {
		t.Errorf("the log is %d bytes long (%v), want %d at most", i.Size(), err, l.writer.walLimit)
	}
}
