package sqlledger_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/ledger/sqlledger"
)

// A disk that is really full, with its log and all. It takes the right to
// mount; TestDiskFull proves the same without.
func TestDiskReallyFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, filepath.Join(dir, "ledger.db"), sqlledger.Options{})
	fillSome(t, l)
	total := int64(10)
	add := func() error {
		next := (total/1000 + 1) * 1000
		rows := chunkRows(uint64(total))
		n := int(next - total)
		rows.Data, rows.Ends = rows.Data[:rows.Ends[n-1]], rows.Ends[:n]
		out, err := l.Append(ctx, time.Now(), []ledger.Append{{Group: "g", Offset: total, Rows: rows}})
		if err == nil {
			err = out[0].Err
		}
		if err == nil {
			total = next
		}
		return err
	}
	var err error
	for err == nil {
		err = add()
	}
	for range 3 {
		if !errors.Is(err, spillway.CodeLedgerFull) {
			t.Fatalf("on a full disk: %v", err)
		}
		g, _, e := l.Find(ctx, ledger.Filter{})
		if e != nil || g[0].Total != total {
			t.Fatalf("a failed call moved the group: %+v, %v; want %d rows", g, e, total)
		}
		err = add()
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	before := total
	if err := add(); err != nil || total == before {
		t.Fatalf("with room again: %v", err)
	}
	settleOne(t, l, 1)
	p, err := l.Payload(ctx, []ledger.JobSet{{Group: "g", Jobs: spillway.One(before, before+1)}})
	if _, _, ok := p[0].At(before); err != nil || !ok {
		t.Errorf("payload: %v", err)
	}
}
