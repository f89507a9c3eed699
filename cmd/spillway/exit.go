package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/spillway/spillway"
)

// The exit codes, which scripts act upon.
const (
	exitDone        = 0
	exitSomeFailed  = 1
	exitUsage       = 2
	exitInterrupted = 3
	exitUnreachable = 4
)

// exitError ends the command with a code. A nil cause prints nothing: what
// there was to say has been said.
type exitError struct {
	code  int
	cause error
}

func (e *exitError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.cause.Error()
}

func (e *exitError) Unwrap() error { return e.cause }

func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func unreachablef(format string, args ...any) error {
	return &exitError{exitUnreachable, fmt.Errorf(format, args...)}
}

// exitCode is the code that an error ends the command with.
func exitCode(err error) int {
	var exit *exitError
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return exitDone
	case errors.As(err, &exit):
		return exit.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	switch spillway.CodeOf(err) {
	case spillway.CodeInvalid, spillway.CodeNotFound, spillway.CodeKeyConflict, spillway.CodeOffset,
		spillway.CodeSourceChanged, spillway.CodeSealed, spillway.CodeState, spillway.CodeTooLarge,
		spillway.CodeLimit, spillway.CodeUnknownAction, spillway.CodePrivateAddress:
		return exitUsage
	}
	return exitUnreachable
}
