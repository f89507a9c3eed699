package flow

import (
	"math"
	"time"
)

const (
	// BoostMax is the boost of a sealed group with nothing left: how much older
	// a group has to be so that no completion boost overtakes it.
	BoostMax = 10 * time.Hour
	// boostHalf is how many jobs remaining halve the boost.
	boostHalf = 1000
	// OldestEvery is which grant of a tenant goes to its oldest group whatever
	// the scores: every 4th, so that nothing starves.
	OldestEvery = 4
	// evenDouble is how much config doubles an EvenWeight, and evenMost the
	// most it can weigh.
	evenDouble = time.Hour
	evenMost   = 16
)

// Priority orders one tenant's groups: age, plus what its owner adds, plus a
// boost that grows as a group comes closer to done. The boost is bounded, so
// that age wins in the end.
type Priority struct {
	Submitted Time
	// Config is age to add; negative waits behind younger groups.
	Config time.Duration
	// Remaining is the jobs that are not final.
	Remaining int64
	// Sealed says that Remaining is known: an unfinished upload has no boost.
	Sealed bool
}

// Score is −submitted + config + boost in seconds; the highest goes first.
// float64 holds it to a quarter of a microsecond.
func (p Priority) Score() float64 {
	score := p.Config.Seconds() - float64(p.Submitted)/1e6
	if p.Sealed {
		score += BoostMax.Seconds() / (1 + float64(max(0, p.Remaining))/boostHalf)
	}
	return score
}

// EvenWeight is the weight of a group among a tenant's groups that are served
// evenly: 2^(config ÷ 1 h), within 1/16 … 16.
func EvenWeight(config time.Duration) float64 {
	return min(evenMost, max(1.0/evenMost, math.Exp2(config.Hours()/evenDouble.Hours())))
}
