package post

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"code.dny.dev/ssrf"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/internal/wire"
)

// retry is an uncertain failure.
func retry(format string, args ...any) *bulk.Failure {
	return &bulk.Failure{Status: spillway.Retry, Reason: fmt.Sprintf(format, args...)}
}

// broken judges a request that got no answer. Without a connection nothing
// reached the server. A dial that failed after an earlier connection follows
// only upon one to which nothing was written (see newTransport).
func (h *handler) broken(ctx context.Context, began time.Time, connected bool, err error) error {
	f := retry("%v", err)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		f.Reason = "the connection broke off before there was an answer"
	}
	dialled := failedDial(err)
	f.Certain = !connected || dialled
	switch reason := wire.StopReason(ctx, began); {
	case forbidden(err):
		f.Status, f.Reason = spillway.Failed, privateAddress(h.url.Hostname()).Error()
	case reason != "":
		f.Reason = reason
	case dialled:
		f.Down = true
	}
	return f
}

// failedDial reports whether no connection came about: refused, unreachable,
// timed out, or no such host.
func failedDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, new(*net.DNSError))
}

// forbidden reports whether the guard against private addresses refused.
func forbidden(err error) bool {
	return errors.Is(err, ssrf.ErrProhibitedIP) || errors.Is(err, ssrf.ErrProhibitedNetwork)
}
