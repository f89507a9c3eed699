package sqlledger

import (
	"context"
	"errors"

	"github.com/spillway/spillway"
)

// open begins a call, unless the ledger is closed; l.inUse.Done ends it.
func (l *Ledger) open(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return spillway.Errorf(spillway.CodeUnavailable, "the ledger %s is closed", l.path)
	}
	l.inUse.Add(1)
	return nil
}

// Close waits for the calls that were begun and releases the file. Closing
// twice is harmless.
func (l *Ledger) Close() error {
	l.mu.Lock()
	closed := l.mu.closed
	l.mu.closed = true
	l.mu.Unlock()
	if closed {
		return nil
	}
	l.inUse.Wait()
	var errs []error
	errs = append(errs, l.readers.close())
	if l.writer != nil {
		errs = append(errs, l.writer.close())
	}
	return errors.Join(append(errs, l.lock.release())...)
}
