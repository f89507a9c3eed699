package sqlledger_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/ledger/sqlledger"
)

// touch calls everything that decodes records.
func touch(l *sqlledger.Ledger, id spillway.GroupID) []error {
	now := time.Now()
	var errs []error
	add := func(err error) { errs = append(errs, err) }
	_, _, err := l.Find(ctx, ledger.Filter{})
	add(err)
	_, _, err = l.Read(ctx, ledger.JobQuery{Group: id, Data: true})
	add(err)
	_, err = l.Payload(ctx, []ledger.JobSet{{Group: id, Jobs: spillway.One(0, 10)}})
	add(err)
	for _, intend := range []bool{false, true} {
		_, err = l.Verify(ctx, now, []ledger.Check{{Group: id, Jobs: spillway.One(0, 10), Intend: intend}})
		add(err)
	}
	_, err = l.Settle(ctx, now, []ledger.Settlement{{Group: id, Outcomes: []ledger.Outcome{{Jobs: spillway.Of(5)}}}})
	add(err)
	_, _, _, err = l.Waiting(ctx, id, now, 10)
	add(err)
	_, err = l.Change(ctx, now, ledger.Change{Group: id, Kind: ledger.RetryFailed})
	add(err)
	_, err = l.Index(ctx, now, ledger.IndexQuery{Adopt: true})
	add(err)
	return errs
}

// One record is damaged: what needs it fails with a clear error, all else and
// other groups go on.
func TestDamagedRecord(t *testing.T) {
	for _, c := range []struct {
		name, spoil string
		fails       int
	}{
		{"outcomes", "UPDATE outcomes SET sets = X'00112233445566' WHERE grp = 1", 6},
		{"outcomes cut", "UPDATE outcomes SET sets = SUBSTR(sets, 1, LENGTH(sets) - 1) WHERE grp = 1", 6},
		{"outcomes empty", "UPDATE outcomes SET sets = X'' WHERE grp = 1", 6},
		{"payload", "UPDATE segments SET body = X'0011' WHERE pos >> 34 = 1", 2},
		{"payload cut", "UPDATE segments SET body = SUBSTR(body, 1, LENGTH(body) - 1) WHERE pos >> 34 = 1", 2},
		{"payload of others", "UPDATE segments SET count = 9 WHERE pos >> 34 = 1", 2},
		{"details", "UPDATE details SET body = X'02ff' WHERE pos >> 34 = 1", 1},
		{"details unknown", "UPDATE details SET body = X'77' WHERE pos >> 34 = 1", 1},
		{"settings of a group", "UPDATE groups SET spec = '{' WHERE seq = 1", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.db")
			some(t, path)
			db := raw(t, path)
			run(t, db, c.spoil)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			l := open(t, path, sqlledger.Options{})
			if _, err := l.Create(ctx, time.Now(), []ledger.NewGroup{{ID: "h", Tenant: "t", Action: "a", Resource: "r"}}); err != nil {
				t.Fatal(err)
			}
			failed := 0
			for _, err := range touch(l, "g") {
				if err == nil {
					continue
				}
				failed++
				var e *spillway.Error
				if !errors.As(err, &e) || e.Code != spillway.CodeInternal {
					t.Errorf("error %v has no code", err)
				}
			}
			if failed < c.fails {
				t.Errorf("%d calls failed, want %d at least", failed, c.fails)
			}
			out, err := l.Append(ctx, time.Now(), []ledger.Append{{Group: "h", Rows: crashRows(0, 5)}})
			if err != nil || out[0].Err != nil {
				t.Errorf("another group: %v, %v", out, err)
			}
			// A call with a good and a damaged part does neither.
			if c.fails < 6 {
				return
			}
			h := ledger.Settlement{Group: "h", Outcomes: []ledger.Outcome{{Jobs: spillway.Of(1)}}}
			if _, err := l.Settle(ctx, time.Now(), []ledger.Settlement{h, one(1)}); err == nil {
				t.Error("settled on a damaged record")
			}
			if g, _, err := l.Find(ctx, ledger.Filter{IDs: []spillway.GroupID{"h"}}); err != nil || g[0].Counts.Succeeded != 0 {
				t.Errorf("half of a call was done: %+v, %v", g, err)
			}
		})
	}
}

// Whatever bytes of the file are wrong, nothing panics, and errors have codes.
func TestDamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	some(t, path)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 7))
	for range 25 {
		bad := append([]byte(nil), good...)
		switch r.IntN(3) {
		case 0: // cut
			bad = bad[:100+r.IntN(len(bad)-100)]
		case 1: // a page of noise, but the header
			at := 100 + r.IntN(len(bad)-600)
			for i := range 500 {
				bad[at+i] = byte(r.Uint32())
			}
		default: // some wrong bytes
			for range 20 {
				bad[100+r.IntN(len(bad)-100)] ^= byte(1 + r.IntN(255))
			}
		}
		tryDamaged(t, bad)
	}
}

func tryDamaged(t *testing.T, content []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := sqlledger.OpenSQLite(ctx, path, sqlledger.Options{})
	errs := []error{err}
	if err == nil {
		errs = touch(l, "g")
		_ = l.Close() // may fail on such a file
	}
	for _, err := range errs {
		var e *spillway.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("error %v has no code", err)
		}
	}
}
