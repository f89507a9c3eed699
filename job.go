package spillway

import (
	"encoding/json"
	"time"
)

// Job is one unit of a group as a handler receives it.
type Job struct {
	// Index is the job's number within its group, from 0.
	Index int64
	// Attempt counts deliveries that used an attempt, from 1.
	Attempt int
	// Key is the idempotency key: the same for every delivery of the job.
	Key string
	// Cost is what the job takes from its resource's rate; 1 by default.
	Cost int64
	// Data is the payload, a JSON value. It must not be changed, and is valid
	// only until the handler returns.
	Data json.RawMessage
}

// Outcome is what became of one delivery of a job.
type Outcome struct {
	Index  int64
	Status Status
	// Error says why, for anything but OK; at most MaxReason bytes are kept.
	Error string
	// RetryAfter is the least wait before the next delivery, for Retry and
	// Throttled; 0 leaves it to the action's backoff.
	RetryAfter time.Duration
	// Value is the job's result, a JSON value; nil for none.
	Value json.RawMessage
}

// MaxReason is the number of bytes of an error text that are kept.
const MaxReason = 1000

// Status is the kind of an outcome.
type Status uint8

const (
	// OK: the job is done. It is final.
	OK Status = iota
	// Failed: the job will not be tried again. It is final.
	Failed
	// Skipped: the job needed no work, for the reason given. It is final.
	Skipped
	// Retry: the delivery failed and nothing took effect; try again until the
	// attempts are used up.
	Retry
	// Throttled: the resource is congested and nothing took effect; try again,
	// no attempt used.
	Throttled
	// InDoubt: whether it took effect is not known, and at-most-once delivery
	// forbids trying again. A person, or a late outcome, resolves it.
	InDoubt
)

var statusNames = [...]string{"ok", "failed", "skipped", "retry", "throttled", "in_doubt"}

// String returns the name that handlers use on the wire.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "unknown"
}

// Final reports whether the status ends the job.
func (s Status) Final() bool { return s == OK || s == Failed || s == Skipped }

// ParseStatus reads a status as handlers write it: ok, failed, skipped, retry
// or throttled. The empty string is ok. In-doubt is not a handler's to say.
func ParseStatus(s string) (Status, error) {
	switch s {
	case "", "ok":
		return OK, nil
	case "failed":
		return Failed, nil
	case "skipped":
		return Skipped, nil
	case "retry":
		return Retry, nil
	case "throttled":
		return Throttled, nil
	}
	return 0, Errorf(CodeHandler, "unknown status %q: use ok, failed, skipped, retry or throttled", s)
}

// Delivery is the promise that a group makes about repeating a job.
type Delivery string

const (
	// AtLeastOnce repeats what ran without its outcome being recorded.
	AtLeastOnce Delivery = "at-least-once"
	// AtMostOnce never hands a job out again unless its answer certified that
	// nothing took effect; the uncertain ones become in doubt.
	AtMostOnce Delivery = "at-most-once"
)

// State is the state of a group.
//
//	receiving ──seal──▶ running ──all final──▶ completed
//	    │  ▲               │  ▲                    │
//	    │  └──resume──┐    │  └──────retry─────────┘
//	    └──pause──▶ paused ◀─┘
//	 any but completed ──cancel──▶ cancelled
type State string

// The states of a group.
const (
	Receiving State = "receiving" // not sealed; jobs may run already
	Running   State = "running"   // sealed
	Paused    State = "paused"    // resume returns to receiving or running
	Completed State = "completed"
	Cancelled State = "cancelled"
)

// Runs reports whether jobs of a group in this state may be handed out.
func (s State) Runs() bool { return s == Receiving || s == Running }

// Ended reports whether the state is an end: completed or cancelled.
func (s State) Ended() bool { return s == Completed || s == Cancelled }
