package spillway

import (
	"errors"
	"fmt"
)

// Code is the stable name of a kind of error. Programs act upon the code, not
// upon the message: errors.Is(err, spillway.CodeNotFound) works.
type Code string

// The codes. They are part of the HTTP API ("code" in a problem document).
const (
	CodeInvalid        Code = "invalid"         // the request itself is wrong
	CodeNotFound       Code = "not_found"       // no such thing, or not yours
	CodeKeyConflict    Code = "key_conflict"    // the key belongs to a group with another action or resource
	CodeOffset         Code = "offset_mismatch" // the upload goes on elsewhere
	CodeSourceChanged  Code = "source_changed"  // the part already read differs
	CodeSealed         Code = "sealed"          // the group takes no more rows
	CodeState          Code = "wrong_state"     // the group's state does not allow it
	CodeTooLarge       Code = "too_large"       // a row, a body or a value is over its limit
	CodeLimit          Code = "limit_exceeded"  // a tenant's limit, or the server's
	CodeUnauthorized   Code = "unauthorized"    // no key, or an unknown one
	CodeForbidden      Code = "forbidden"       // the key is another tenant's, or not an admin's
	CodeLeaseLost      Code = "lease_lost"      // the lease is no longer held
	CodeUnknownAction  Code = "unknown_action"  // no such action is configured
	CodeUnavailable    Code = "unavailable"     // the ledger or the queue does not answer; try again
	CodeLedgerInUse    Code = "ledger_in_use"   // another process owns the database file
	CodeLedgerNewer    Code = "ledger_newer"    // written by a newer version
	CodeLedgerFull     Code = "ledger_full"     // the disk is full
	CodeHandler        Code = "handler_error"   // a handler broke the protocol
	CodeWorkerLost     Code = "worker_lost"     // deliveries of the job died with their worker
	CodePrivateAddress Code = "private_address" // a URL from the API resolves to a private address
	CodeInternal       Code = "internal"        // a defect of Spillway
)

// Error makes a code usable as the target of errors.Is.
func (c Code) Error() string { return string(c) }

// Error is the one error type of Spillway: what went wrong, in words that say
// what to do, under a stable code.
type Error struct {
	Code    Code
	Message string
	cause   error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Is matches the error's code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// Errorf makes an error with a code. A %w in the format keeps its cause for
// errors.Is and errors.As, as fmt.Errorf does.
func Errorf(code Code, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// CodeOf returns the code of an error, CodeInternal for an error that has
// none, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
