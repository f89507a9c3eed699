package sqlledger_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/ledger/sqlledger"
)

var ctx = context.Background()

func open(t *testing.T, path string, o sqlledger.Options) *sqlledger.Ledger {
	t.Helper()
	l, err := sqlledger.OpenSQLite(ctx, path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// refused checks that a file cannot be opened, why, and that it was left as it
// was.
func refused(t *testing.T, path string, o sqlledger.Options, want spillway.Code, words ...string) {
	t.Helper()
	before, _ := os.ReadFile(path) // a missing file has no content
	l, err := sqlledger.OpenSQLite(ctx, path, o)
	if err == nil {
		_ = l.Close()
		t.Fatalf("opened; want code %s", want)
	}
	if !errors.Is(err, want) {
		t.Errorf("error %v, want code %s", err, want)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the file was touched")
	}
}

// some makes a ledger with a group of 10 jobs, one of them done.
func some(t *testing.T, path string) {
	t.Helper()
	l, err := sqlledger.OpenSQLite(ctx, path, sqlledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fillSome(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func fillSome(t *testing.T, l *sqlledger.Ledger) {
	t.Helper()
	if _, err := l.Create(ctx, time.Now(), []ledger.NewGroup{{ID: "g", Tenant: "t", Action: "a", Resource: "r"}}); err != nil {
		t.Fatal(err)
	}
	if out, err := l.Append(ctx, time.Now(), []ledger.Append{{Group: "g", Rows: crashRows(0, 10)}}); err != nil || out[0].Err != nil {
		t.Fatal(err, out)
	}
	settleOne(t, l, 0)
}

func settleOne(t *testing.T, l *sqlledger.Ledger, i int64) {
	t.Helper()
	if _, err := l.Settle(ctx, time.Now(), []ledger.Settlement{one(i)}); err != nil {
		t.Fatal(err)
	}
}

func one(i int64) ledger.Settlement {
	return ledger.Settlement{Group: "g", Chunk: spillway.ChunkOf(i), Outcomes: []ledger.Outcome{{Jobs: spillway.Of(i), Status: spillway.Failed, Reason: "so"}}}
}

// raw opens the file as any program could.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_busy_timeout=1000")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() }) // closed twice where the test has to
	return db
}

func run(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	if _, err := db.Exec(text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func TestNotALedger(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database at all\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(dir, "short")
	if err := os.WriteFile(short, []byte("SQLite format 3\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.db")
	db := raw(t, other)
	run(t, db, "CREATE TABLE songs (title TEXT)")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, o := range []sqlledger.Options{{}, {ReadOnly: true}} {
		refused(t, text, o, spillway.CodeInvalid, text, "not a database")
		refused(t, short, o, spillway.CodeInvalid, "not a database")
		refused(t, other, o, spillway.CodeInvalid, "another program")
		refused(t, dir, o, spillway.CodeInvalid, "not a file")
	}
	refused(t, filepath.Join(dir, "none", "ledger.db"), sqlledger.Options{}, spillway.CodeUnavailable, "none")
	refused(t, filepath.Join(dir, "none.db"), sqlledger.Options{ReadOnly: true}, spillway.CodeNotFound)
	if entries, err := filepath.Glob(filepath.Join(dir, "none*")); err != nil || len(entries) != 0 {
		t.Errorf("opening for reading made %v (%v)", entries, err)
	}
	refused(t, filepath.Join(dir, "x.db"), sqlledger.Options{BusyTimeout: -1}, spillway.CodeInvalid)
}

// A file with any name works, as does one that is there and empty.
func TestNames(t *testing.T) {
	for _, name := range []string{"a b.db", "100%.db", "a?b#c.db", "ledger;&=.db", "é.db", "empty"} {
		path := filepath.Join(t.TempDir(), name)
		if name == "empty" {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		some(t, path)
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
		if g, _, err := open(t, path, sqlledger.Options{}).Find(ctx, ledger.Filter{}); err != nil || len(g) != 1 {
			t.Errorf("%s opened again: %v, %v", name, g, err)
		}
	}
}

func TestNewerVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	some(t, path)
	db := raw(t, path)
	run(t, db, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)")
	run(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, o := range []sqlledger.Options{{}, {ReadOnly: true}} {
		refused(t, path, o, spillway.CodeLedgerNewer, "newer version", "99")
	}
	db = raw(t, path)
	run(t, db, "DELETE FROM goose_db_version WHERE version_id = 99")
	run(t, db, "PRAGMA user_version = 99") // as a newer version marks the file
	run(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(path + "*")
	for _, o := range []sqlledger.Options{{}, {ReadOnly: true}} {
		refused(t, path, o, spillway.CodeLedgerNewer, "newer version", "99")
	}
	if after, _ := filepath.Glob(path + "*"); fmt.Sprint(after) != fmt.Sprint(files) {
		t.Errorf("files %v, before %v", after, files)
	}
}

func TestOneOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, path, sqlledger.Options{})
	fillSome(t, l)
	pid := strconv.Itoa(os.Getpid())
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} { // the same file by another name
		if _, err := sqlledger.OpenSQLite(ctx, name, sqlledger.Options{}); !errors.Is(err, spillway.CodeLedgerInUse) ||
			!strings.Contains(err.Error(), pid) || !strings.Contains(err.Error(), "--server") {
			t.Errorf("a second owner: %v", err)
		}
	}
	settleOne(t, l, 1) // the first is not disturbed
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path, sqlledger.Options{})
}

// Another process holds the file; it is killed, and the file is free.
func TestOwnerKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), crashVariable+"="+path)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // it has written something
		t.Error(err)
	}
	_, err = sqlledger.OpenSQLite(ctx, path, sqlledger.Options{})
	if !errors.Is(err, spillway.CodeLedgerInUse) || !strings.Contains(err.Error(), strconv.Itoa(c.Process.Pid)) {
		t.Errorf("beside its owner: %v, want the owner's pid %d", err, c.Process.Pid)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
	open(t, path, sqlledger.Options{})
}

func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, path, sqlledger.Options{})
	fillSome(t, l)
	r := open(t, path, sqlledger.Options{ReadOnly: true})
	check := func(r *sqlledger.Ledger, failed int64) {
		t.Helper()
		g, _, err := r.Find(ctx, ledger.Filter{})
		if err != nil || len(g) != 1 || g[0].Counts.Failed != failed || g[0].Counts.Checkpoint != failed {
			t.Errorf("read: %+v, %v; want %d failed", g, err, failed)
		}
		p, err := r.Payload(ctx, []ledger.JobSet{{Group: "g", Jobs: spillway.One(0, 10)}})
		if err != nil || string(p[0].Segments[0].Rows.At(9)) != `{"row":9}` {
			t.Errorf("payload: %v, %v", p, err)
		}
	}
	check(r, 1)
	settleOne(t, l, 1)
	check(r, 2) // it follows the owner
	if _, err := r.Settle(ctx, time.Now(), []ledger.Settlement{one(2)}); !errors.Is(err, spillway.CodeState) {
		t.Errorf("Settle: %v", err)
	}
	if _, err := r.Index(ctx, time.Now(), ledger.IndexQuery{Adopt: true}); !errors.Is(err, spillway.CodeState) {
		t.Errorf("Index with Adopt: %v", err)
	}
	if x, err := r.Index(ctx, time.Now(), ledger.IndexQuery{}); err != nil || len(x) != 1 || x[0].Next != 2 {
		t.Errorf("Index: %+v, %v", x, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check(open(t, path, sqlledger.Options{ReadOnly: true}), 2) // without an owner too
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("reading changed the file (%v)", err)
	}
}

// Another program holds the lock of the database.
func TestForeignLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, path, sqlledger.Options{BusyTimeout: time.Millisecond})
	fillSome(t, l)
	db := raw(t, path)
	run(t, db, "BEGIN IMMEDIATE")
	_, err := l.Settle(ctx, time.Now(), []ledger.Settlement{one(1)})
	if !errors.Is(err, spillway.CodeUnavailable) || !strings.Contains(err.Error(), "another program") {
		t.Errorf("Settle: %v", err)
	}
	if g, _, err := l.Find(ctx, ledger.Filter{}); err != nil || g[0].Counts.Failed != 1 {
		t.Errorf("Find beside the lock: %+v, %v", g, err)
	}
	run(t, db, "ROLLBACK")
	settleOne(t, l, 1)
	if g, _, err := l.Find(ctx, ledger.Filter{}); err != nil || g[0].Counts.Failed != 2 {
		t.Errorf("after the lock: %+v, %v", g, err)
	}
}

// What is erased cannot be found in the file either.
func TestErasedFromFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, path, sqlledger.Options{})
	fillSome(t, l)
	secret := ledger.NewGroup{ID: "s", Tenant: "secret-tenant", Action: "a", Resource: "r", Key: "secret-key"}
	if _, err := l.Create(ctx, time.Now(), []ledger.NewGroup{secret}); err != nil {
		t.Fatal(err)
	}
	for at := int64(0); at < 20_000; at += 1000 {
		if _, err := l.Append(ctx, time.Now(), []ledger.Append{{Group: "s", Offset: at, Rows: chunkRows(uint64(at))}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Settle(ctx, time.Now(), []ledger.Settlement{{Group: "s", Outcomes: []ledger.Outcome{
		{Jobs: spillway.Of(3), Status: spillway.Failed, Reason: "secret-reason"},
	}}}); err != nil {
		t.Fatal(err)
	}
	holds := func() (found int) {
		t.Helper()
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(content, []byte("secret-")) + bytes.Count(content, []byte("@example.com"))
	}
	db := raw(t, path)
	run(t, db, "PRAGMA wal_checkpoint(PASSIVE)")
	if holds() == 0 {
		t.Fatal("nothing to be erased is in the file: the test is blind")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := l.Prune(ctx, time.Now(), ledger.Prune{Tenant: "secret-tenant"}); err != nil || out.More {
		t.Fatal(out, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if n := holds(); n != 0 {
		t.Errorf("%d traces of the erased tenant are in the file", n)
	}
}
