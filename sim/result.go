package sim

import (
	"time"

	"github.com/spillway/spillway"
)

// Result is what a scenario came to. Times are since Start.
type Result struct {
	// End is when the last thing happened.
	End time.Duration
	// Jobs have a final outcome; Failed of them after their last attempt.
	Jobs, Failed int64
	// Delivered counts jobs handed to workers: Jobs if none was repeated.
	Delivered int64
	// Leases handed out, and Claims made for them.
	Leases, Claims int64
	// Vain counts claims that granted nothing although the queue had said
	// that it was time.
	Vain int64
	// MaxRunning is the most workers that were busy at once.
	MaxRunning int
	Groups     map[spillway.GroupID]*Group
	// Tenants and Resources are the granted cost per bin.
	Tenants   map[spillway.TenantID]Series
	Resources map[spillway.ResourceName]Series
	// Log is every grant of a resource, if asked for.
	Log map[spillway.ResourceName][]Grant
}

// Group is what became of a group.
type Group struct {
	Arrival
	// First is when its first job was handed out, Done when its last was
	// final; -1 if never.
	First, Done time.Duration
	// Series is the granted cost per bin, if asked for.
	Series Series
	next   int64
	final  int64
	retry  map[int64]*retry
}

// Time is how long the group took from its arrival.
func (g *Group) Time() time.Duration { return g.Done - g.At }

// Grant is a lease's stamp and charge.
type Grant struct {
	At   time.Duration
	Cost int64
}

// Series is amounts per bin.
type Series []int64

func (s Series) add(bin int, n int64) Series {
	for len(s) <= bin {
		s = append(s, 0)
	}
	s[bin] += n
	return s
}

// Sum is the amount of the bins [from, to).
func (s Series) Sum(from, to int) (n int64) {
	for i := from; i < min(to, len(s)); i++ {
		n += s[i]
	}
	return n
}

// Peak is the greatest bin.
func (s Series) Peak() (n int64) {
	for _, x := range s {
		n = max(n, x)
	}
	return n
}
