package sqlledger

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spillway/spillway"
)

// applicationID stands in the header of our files: "Splw".
const applicationID = 0x53706c77

// Offsets in the header of an SQLite file (https://www.sqlite.org/fileformat.html).
const (
	headerSize      = 100
	offsetVersion   = 60 // PRAGMA user_version: the schema's, for us
	offsetAppID     = 68
	headerMagic     = "SQLite format 3\x00"
	modeNotRegular  = os.ModeDir | os.ModeDevice | os.ModeNamedPipe | os.ModeSocket
	selectVersion   = `SELECT COALESCE(MAX(version_id), 0) FROM ` + versionTable
	selectOurTables = `SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = $1`
	selectTables    = `SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
)

// checkHeader looks at a file without opening it as a database, so that one
// which is not ours, or is newer than we are, is not touched at all. exists is
// false for a file that is not there or empty.
func checkHeader(path string) (exists bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, errFile(path, err)
	}
	defer f.Close()
	if i, err := f.Stat(); err == nil && i.Mode()&modeNotRegular != 0 {
		return false, spillway.Errorf(spillway.CodeInvalid, "%s is not a file: name a file for the ledger", path)
	}
	h := make([]byte, headerSize)
	n, err := io.ReadFull(f, h)
	switch {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return false, errFile(path, err)
	case n < headerSize || string(h[:len(headerMagic)]) != headerMagic:
		return false, errForeign(path, "not a database")
	}
	if binary.BigEndian.Uint32(h[offsetAppID:]) == applicationID {
		return true, checkVersion(path, int64(binary.BigEndian.Uint32(h[offsetVersion:])))
	}
	return true, nil
}

// checkIdentity looks into an existing database, by a connection that cannot
// write: is it ours, and what version? The header may lag behind the log.
func checkIdentity(ctx context.Context, path string, db *sql.DB) (version int64, err error) {
	var versioned, tables, app int64
	if err := db.QueryRowContext(ctx, selectOurTables, versionTable).Scan(&versioned); err != nil {
		return 0, err
	}
	if err := db.QueryRowContext(ctx, selectTables).Scan(&tables); err != nil {
		return 0, err
	}
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return 0, err
	}
	if app != applicationID && tables > versioned {
		var ours int64 // created by us, but interrupted before it was marked
		if err := db.QueryRowContext(ctx, selectOurTables, "outcomes").Scan(&ours); err != nil {
			return 0, err
		}
		if versioned == 0 || ours == 0 {
			return 0, errForeign(path, "a database of another program")
		}
	}
	if versioned == 0 {
		return 0, nil
	}
	if err := db.QueryRowContext(ctx, selectVersion).Scan(&version); err != nil {
		return 0, err
	}
	return version, checkVersion(path, version)
}

func checkVersion(path string, version int64) error {
	if have := latestVersion(); version > have {
		return spillway.Errorf(spillway.CodeLedgerNewer,
			"the ledger %s was written by a newer version of Spillway (schema %d, this one knows %d): use that version; the file was not touched",
			path, version, have)
	}
	return nil
}

// markFile writes who we are into the header, and the header into the file.
func markFile(ctx context.Context, db *sql.DB) error {
	for _, text := range []string{
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", latestVersion()),
		"PRAGMA wal_checkpoint(PASSIVE)",
	} {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

func errForeign(path, what string) error {
	return spillway.Errorf(spillway.CodeInvalid,
		"%s is %s, not a Spillway ledger: name another file; it was not touched", path, what)
}

func errFile(path string, err error) error {
	return spillway.Errorf(spillway.CodeUnavailable,
		"the ledger %s cannot be opened: check the path and the rights to the file and its folder (%w)", path, err)
}
