package sqlledger

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var dialectSQLite = dialect{
	goose: goose.DialectSQLite3,
	words: strings.NewReplacer(
		"{{id}}", "INTEGER", // the alias of the rowid must be spelt so; it is 64 bits wide
		"{{sequence}}", "INTEGER PRIMARY KEY AUTOINCREMENT", // a number is never given twice
		"{{blob}}", "BLOB",
	),
	begin:    "BEGIN IMMEDIATE", // a read that turns into a write would fail, not wait
	tidy:     tidySQLite,
	classify: classifySQLite,
}

func classifySQLite(err error) fault {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return faultOther
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return faultFull
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return faultBusy
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY,
		sqlite3.SQLITE_PERM, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOMEM:
		return faultIO
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return faultDamaged
	}
	return faultOther
}

// access is how a connection uses the file.
type access int

const (
	accessWrite  access = iota // create, if need be, and write
	accessBeside               // read in the process that writes
	accessRead                 // read only, in any process
)

const (
	// pageSize: blobs of payload are some 10 KB, rows of outcomes some 100 B.
	pageSize = 8192
	// walPages is where a commit moves the log into the file: 32 MB.
	walPages = 4096
	// walBytes is what the log is cut to after it grew longer.
	walBytes = 64 << 20
	// walLimit is the size above which the log is emptied by force.
	walLimit = 4 * walBytes
	// writerCache and readerCache are SQLite's page caches, in KiB.
	writerCache, readerCache = 16 << 10, 2 << 10
)

// dsnSQLite is the data source name of a file.
func dsnSQLite(path string, a access, busy time.Duration) string {
	q := url.Values{"_busy_timeout": {milliseconds(busy)}}
	pragma := func(name string, value int) {
		q.Add("_pragma", name+"("+strconv.Itoa(value)+")")
	}
	switch a {
	case accessWrite:
		q.Set("mode", "rwc")
		q.Set("_txlock", "immediate")
		pragma("page_size", pageSize)
		pragma("cache_size", -writerCache)
		pragma("secure_delete", 1) // what is erased is overwritten; only pruning deletes
		pragma("wal_autocheckpoint", walPages)
		pragma("journal_size_limit", walBytes)
		q.Set("_journal_mode", "WAL")
		q.Set("_synchronous", "FULL")
	case accessBeside:
		q.Set("mode", "rw")
		pragma("cache_size", -readerCache)
		q.Set("_query_only", "1")
	case accessRead:
		q.Set("mode", "ro")
		pragma("cache_size", -readerCache)
		q.Set("_query_only", "1")
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
