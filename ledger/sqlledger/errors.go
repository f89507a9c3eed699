package sqlledger

import (
	"context"
	"errors"

	"github.com/spillway/spillway"
)

// fault is what kind of failure a database reports.
type fault int

const (
	faultOther fault = iota
	faultFull
	faultBusy
	faultIO
	faultDamaged
)

// explain turns what went wrong into an error with a code, in words that say
// what to do. Errors that have a code already, and those of a context, pass.
func (l *Ledger) explain(err error) error {
	var known *spillway.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	switch l.dialect.classify(err) {
	case faultFull:
		return spillway.Errorf(spillway.CodeLedgerFull,
			"the disk of the ledger %s is full: free some space, the work then goes on (%w)", l.path, err)
	case faultBusy:
		return spillway.Errorf(spillway.CodeUnavailable,
			"another program holds a lock on the ledger %s: end its transaction or close it, then try again (%w)", l.path, err)
	case faultIO:
		return spillway.Errorf(spillway.CodeUnavailable,
			"the ledger %s cannot be read or written: check the disk and the rights to the file and its folder, then try again (%w)", l.path, err)
	case faultDamaged:
		return spillway.Errorf(spillway.CodeInternal,
			"the ledger %s is damaged: stop, copy the file with its -wal, and restore it from a backup or with sqlite3's .recover (%w)", l.path, err)
	}
	return spillway.Errorf(spillway.CodeInternal, "the ledger %s failed: %w", l.path, err)
}

// abort makes the fault of a request that has changed something already into
// one that undoes the transaction.
func abort(err error) error {
	if err == nil || isStore(err) {
		return err
	}
	return &storeError{"change", err}
}

// damaged is an error about a record that cannot be decoded.
func damaged(what string, pos int64, cause error) error {
	return spillway.Errorf(spillway.CodeInternal,
		"the ledger's record of %s at group %d, job %d is damaged: restore it from a backup (%w)",
		what, seqOf(pos), indexOf(pos), cause)
}

func errNotFound(g spillway.GroupID) error {
	return spillway.Errorf(spillway.CodeNotFound, "no group %q", g)
}

func errState(g spillway.GroupID, s spillway.State, doing string) error {
	return spillway.Errorf(spillway.CodeState, "group %q is %s: it cannot be %s", g, s, doing)
}
