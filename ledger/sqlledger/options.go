package sqlledger

import (
	"log/slog"
	"time"

	"github.com/spillway/spillway"
)

// Options are the settings of a ledger. The zero value is ready to use.
type Options struct {
	// ReadOnly opens the file for reading beside its owner: nothing is
	// written, migrated or locked, and methods that write answer CodeState.
	ReadOnly bool
	// CacheBytes bounds the cache of decompressed payload; 0 is 32 MB, a
	// negative value is none.
	CacheBytes int64
	// BusyTimeout is how long a statement waits for the lock of a foreign
	// program on the file; 0 is 5 s.
	BusyTimeout time.Duration
	// Logger gets what cannot be returned: migrations, failed clean-up. nil
	// discards it.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.CacheBytes == 0 {
		o.CacheBytes = 32 << 20
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	if o.BusyTimeout < time.Millisecond {
		return spillway.Errorf(spillway.CodeInvalid, "busy timeout %v: give at least 1ms", o.BusyTimeout)
	}
	return nil
}
