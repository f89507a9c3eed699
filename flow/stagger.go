package flow

import (
	"math"
	"math/bits"
	"time"
)

// StaggerMin is what the first in line waits.
const StaggerMin = time.Second

// Stagger is when the waiter with that rank (0 is the first in line) comes
// back: now + 1 s + floor(rank ÷ rate per second) seconds. So each coming
// second gets what the rate can serve in it, and a waiter has no reason to ask
// earlier. Unlimited: 1 s for all.
func Stagger(now Time, rank int64, r Rate) Time {
	const most = 1_000_000_000_000 // seconds: far beyond any use, short of overflow
	return now.Add(StaggerMin) + Time(min(most, staggerSecond(rank, r))*1_000_000)
}

// StaggerRun is how many ranks from rank on, at least 1, come back in the same
// second.
func StaggerRun(rank int64, r Rate) int64 {
	rank = max(0, rank)
	if r.unbounded() {
		return max(1, math.MaxInt64-rank)
	}
	// The first rank of the next second is ceil((second+1)·N·1s ÷ Per).
	next := mulDiv(uint64(staggerSecond(rank, r))+1, staggerUnit(r), uint64(r.Per), uint64(r.Per)-1)
	return max(1, next-rank)
}

// staggerSecond is floor(rank ÷ rate per second), exactly.
func staggerSecond(rank int64, r Rate) int64 {
	if r.unbounded() || rank <= 0 {
		return 0
	}
	return mulDiv(uint64(rank), uint64(r.Per), staggerUnit(r), 0)
}

// staggerUnit is N seconds in nanoseconds.
func staggerUnit(r Rate) uint64 {
	hi, lo := bits.Mul64(uint64(r.N), uint64(time.Second))
	if hi > 0 {
		return math.MaxUint64
	}
	return lo
}

// mulDiv is (a·b + add) ÷ c rounded down, at most MaxInt64.
func mulDiv(a, b, c, add uint64) int64 {
	hi, lo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, add, 0)
	hi += carry
	if hi >= c {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, c)
	return int64(min(q, math.MaxInt64))
}
