package flow

import (
	"math/bits"
	"time"
)

// Backoff is how long a job waits before another attempt: Base after the first,
// doubling up to Max, with equal jitter: half of it is certain and half is
// random. Full jitter (Brooker, "Exponential Backoff And Jitter", AWS 2015)
// spreads wider, but may come back at once and burn the attempts on one outage;
// the spreading that it is for is Stagger's work here.
type Backoff struct {
	// Base is the longest wait after the first attempt. Zero or less: no wait.
	Base time.Duration
	// Max bounds every wait. Zero or less: that of DefaultBackoff.
	Max time.Duration
}

// DefaultBackoff reaches its longest wait after nine attempts, and a day in
// about thirty.
var DefaultBackoff = Backoff{Base: 15 * time.Second, Max: time.Hour}

// Wait is the time to wait after that attempt, counted from 1: within
// [d/2, d] where d = min(Max, Base·2^(attempt−1)). The same seed and attempt
// give the same wait, so that replaying a decision repeats it.
func (b Backoff) Wait(attempt int, seed uint64) time.Duration {
	if b.Base <= 0 {
		return 0
	}
	most := b.Max
	if most <= 0 {
		most = DefaultBackoff.Max
	}
	d := most
	if doublings := max(0, attempt-1); doublings < bits.LeadingZeros64(uint64(b.Base)) {
		d = min(most, b.Base<<doublings)
	}
	half := d / 2
	return d - half + time.Duration(scale(mix(seed+uint64(attempt)*golden), uint64(half)+1))
}

// golden is 2^64 ÷ the golden ratio, the increment of SplitMix64.
const golden = 0x9e3779b97f4a7c15

// mix is the output function of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// scale maps random bits to [0, n).
func scale(x, n uint64) uint64 {
	hi, _ := bits.Mul64(x, n)
	return hi
}
