package flow

import "time"

// Limiter says when n tokens may be taken under a rate. The rate is passed to
// each call because it may change between two of them; what was granted before
// keeps counting. A limiter holds only what was spent: its zero value has spent
// nothing. It is not safe for concurrent use, and a copy shares its state.
//
// An unlimited rate is always granted and never logged. Asking for more than
// r.N is answered with Never; asking for less than one token takes nothing and
// is granted.
//
// A now earlier than the latest grant counts as the time of that grant. State
// more than a period ahead of now (a clock that was set back) counts as spent
// at now, so that no clock can stop a limiter for longer than a period.
type Limiter interface {
	// StartSpent forgets everything and starts as if r.N had been spent at at.
	StartSpent(r Rate, at Time)
	// When is the earliest time from now on at which Take(n) is granted if
	// nothing else is taken before. It changes nothing.
	When(r Rate, now Time, n int64) Time
	// Fit is the earliest time from now on at which a claim of up to n should be
	// made, and its size: n, or less where waiting for n would leave room idle.
	// Take(size) at that time is granted. It changes nothing.
	Fit(r Rate, now Time, n int64) (size int64, at Time)
	// Take takes n tokens if n have accumulated, else none.
	Take(r Rate, now Time, n int64) Decision
	// Refund gives back n tokens of the Take that was granted at stamp. What is
	// too old to count any more is ignored, and no more comes back than is
	// logged there.
	Refund(r Rate, stamp Time, n int64)
	// Spent is how many tokens count against the rate at now.
	Spent(r Rate, now Time) int64
}

// Decision answers a Take.
type Decision struct {
	Granted bool
	// At is the stamp of the grant, for Refund; if not granted, when to ask again
	// for as many, or Never if that is more than a period holds.
	At Time
	// Remaining is how many more could be taken at the same time.
	Remaining int64
}

var (
	_ Limiter = (*Sliding)(nil)
	_ Limiter = (*Window)(nil)
)

// unbounded reports whether a limiter grants everything under r.
func (r Rate) unbounded() bool { return r.N <= 0 || r.Per <= 0 }

// micros is the period in the unit of Time, at least one.
func (r Rate) micros() Time { return max(1, Time(r.Per/time.Microsecond)) }

// spacing is the time in which one token accumulates, in microseconds.
func (r Rate) spacing() float64 { return float64(r.micros()) / float64(r.N) }
