package ledger

import (
	"encoding/json"
	"time"

	"github.com/spillway/spillway"
)

// Check asks which jobs of a lease are still to run.
type Check struct {
	Group spillway.GroupID
	// Jobs are all of one chunk.
	Jobs   spillway.Spans
	Intend bool
}

// Verdict answers a Check.
type Verdict struct {
	// State is "" for an unknown group.
	State   spillway.State
	Version int64
	// Run is what to deliver; empty unless State.Runs.
	Run spillway.Spans
	// Final are those of the jobs that have an outcome, in doubt included.
	Final spillway.Spans
	// Plans are the jobs of Run that were delivered before, in order of their
	// first job. What is in none is in its first delivery, with attempt 1.
	Plans []Plan
}

// Plan is what the ledger knows of jobs to be delivered again.
type Plan struct {
	Jobs spillway.Spans
	// Attempt is the attempt that the next delivery is, from 1.
	Attempt int
	// Delivery counts deliveries, from 1, used attempt or not: it is what a
	// retry outcome is accepted for.
	Delivery int
	// Lost counts deliveries that died with their worker.
	Lost      int
	NotBefore time.Time
}

// JobSet names jobs of one chunk.
type JobSet struct {
	Group spillway.GroupID
	Jobs  spillway.Spans
}

// Settlement is outcomes of jobs of one chunk.
type Settlement struct {
	Group spillway.GroupID
	Chunk int64
	// Outcomes name each job at most once.
	Outcomes []Outcome
}

// Outcome is what became of jobs that fared alike.
type Outcome struct {
	Jobs   spillway.Spans
	Status spillway.Status
	Reason string
	// Value is the result of the one job in Jobs; nil for none.
	Value json.RawMessage
	// Plan is the next delivery, for Retry and Throttled: Delivery is that of
	// the delivery which this outcome is of, Attempt and Lost those of the
	// next. Jobs is not used.
	Plan Plan
}

// Merged answers a Settlement with what it newly added.
type Merged struct {
	// Finished are the jobs that newly hold completion up no longer, and
	// Succeeded … InDoubt how many of them are what.
	Finished                            spillway.Spans
	Succeeded, Failed, Skipped, InDoubt int64
	// Planned are the jobs of which a retry or throttled outcome was accepted.
	Planned spillway.Spans
	// Changed counts jobs whose outcome changed at all, late ones that replace
	// in doubt included.
	Changed int64
	// Ready says that the group has nothing left to run: it may complete.
	Ready bool
}

// Waiting is jobs of one chunk to be delivered again.
type Waiting struct {
	Jobs      spillway.Spans
	NotBefore time.Time
	Lost      int
	// Failed: they wait because their delivery failed; they count as retrying.
	Failed bool
}

// JobQuery selects jobs.
type JobQuery struct {
	Group spillway.GroupID
	// Statuses selects by final or in-doubt outcome; nil selects every job,
	// those without an outcome too.
	Statuses []spillway.Status
	// Values selects only jobs that have a value.
	Values bool
	// Data reads the payload too.
	Data bool
	// From is the first index to look at.
	From int64
	// Limit bounds the page; 0 is 1,000.
	Limit int
}

// JobRecord is a job and what became of it.
type JobRecord struct {
	Index int64
	// Done says that the job has an outcome, Status; without it, the job waits
	// or runs.
	Done   bool
	Status spillway.Status
	Reason string
	Value  json.RawMessage
	// Attempt is that of the last delivery, or of the next one of a job that
	// waits to be delivered again; 1 for the first.
	Attempt int
	// NotBefore is the planned time of the next delivery, zero if none is.
	NotBefore time.Time
	Data      json.RawMessage
}

// Callback is a delivery to be made.
type Callback struct {
	// ID is group and completion number; it never changes for a completion.
	ID       string
	Group    spillway.GroupID
	URL      string
	Attempts int
	Created  time.Time
}

// Marked is an attempt at a callback.
type Marked struct {
	ID       string
	Accepted bool
	// GiveUp ends the attempts; otherwise NotBefore is when the next is due.
	GiveUp    bool
	NotBefore time.Time
	Error     string
}

// The states of a callback.
const (
	CallbackPending  = "pending"
	CallbackAccepted = "accepted"
	CallbackGivenUp  = "given_up"
)

// Setting is one named record.
type Setting struct {
	Kind, Name string
	Value      json.RawMessage
	By         string
	At         time.Time
}
