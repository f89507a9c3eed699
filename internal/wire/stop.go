package wire

import (
	"context"
	"errors"
	"time"
)

// StopReason says why a delivery that began at the given time was broken off,
// or "" if its context has not ended: the context's own cause if it has one.
func StopReason(ctx context.Context, began time.Time) string {
	cause := context.Cause(ctx)
	switch {
	case cause == nil:
		return ""
	case errors.Is(cause, context.Canceled):
		return "broken off: the engine stopped"
	case !errors.Is(cause, context.DeadlineExceeded):
		return cause.Error()
	}
	if end, ok := ctx.Deadline(); ok {
		return "timed out after " + end.Sub(began).Round(time.Millisecond).String()
	}
	return "timed out"
}
