package flow_test

import (
	"time"

	"github.com/spillway/spillway/flow"
)

// trace is what a limiter really granted, in order of time; the tests judge by
// it and never by the limiter's own log.
type trace []grant

type grant struct {
	at flow.Time
	n  int64
}

// in is the sum of what was granted in [from, to).
func (t trace) in(from, to flow.Time) int64 {
	sum := int64(0)
	for i := len(t) - 1; i >= 0 && t[i].at >= from; i-- {
		if t[i].at < to {
			sum += t[i].n
		}
	}
	return sum
}

// most is the greatest sum of any half-open interval of that length. It is
// reached by one that begins with a grant.
func (t trace) most(per time.Duration) int64 {
	var sum, most int64
	end := 0
	for _, g := range t {
		for end < len(t) && t[end].at < g.at.Add(per) {
			sum += t[end].n
			end++
		}
		most = max(most, sum)
		sum -= g.n
	}
	return most
}

// least is the least sum of any half-open interval of that length within
// [from, to). It is reached by one that begins just after a grant.
func (t trace) least(from, to flow.Time, length time.Duration) int64 {
	least := t.in(from, from.Add(length))
	var sum int64
	end := 0
	for i, g := range t {
		for end < len(t) && t[end].at < g.at.Add(length)+1 {
			sum += t[end].n
			end++
		}
		sum -= g.n // (g.at, g.at+length]
		next := i + 1
		if (next == len(t) || t[next].at > g.at) && g.at+1 >= from && g.at.Add(length)+1 <= to {
			least = min(least, sum)
		}
	}
	return least
}

// per sums the trace into columns of that width, from 0.
func (t trace) per(width time.Duration, columns int) []int64 {
	sums := make([]int64, columns)
	for _, g := range t {
		if i := int(g.at.Sub(0) / width); i < columns {
			sums[i] += g.n
		}
	}
	return sums
}
