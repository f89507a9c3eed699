package sqlledger

import (
	"errors"
	"io/fs"
	"os"
)

// tidySQLite keeps the log bounded. SQLite moves the log into the file as it
// grows, but can begin it anew only at a moment when nobody reads; under steady
// reading that may never come. So above a limit we make one. A foreign program
// that reads is not waited for: the next time may do.
func tidySQLite(w *writer) error {
	i, err := os.Stat(w.l.path + "-wal")
	if errors.Is(err, fs.ErrNotExist) || err == nil && i.Size() <= w.walLimit {
		return nil
	}
	if err != nil {
		return err
	}
	if err := w.session.pragma("busy_timeout = 0"); err != nil {
		return err
	}
	defer w.l.readers.pause()()
	err = w.session.pragma("wal_checkpoint(TRUNCATE)")
	return errors.Join(err, w.session.pragma("busy_timeout = "+milliseconds(w.l.options.BusyTimeout)))
}

// pragma runs a pragma and passes over what it answers.
func (s *session) pragma(text string) error {
	return s.eachOnce(func(func(...any) error) error { return nil }, "PRAGMA "+text)
}
