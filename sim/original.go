package sim

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// Original models the law that Spillway's first form ran under (spec A4, A9),
// to compare with: a worker takes a job from the ready queue first and asks for
// capacity then. Each party (a resource, or a tenant on a shared one) has Rate
// per fixed second. A job that finds its window used up is put back and waits
// 1 s + floor(waiting ÷ rate), where waiting counts the party's jobs that are
// waiting then. A dispatcher sweeps what is due to the end of the ready queue,
// and a job that runs holds its worker for Service.
//
// What it loses: sweeps and windows drift against each other, so that a window
// gets none, one or two sweeps of work. The second is throttled, and because
// the line shrinks as fast as time passes, all that is throttled on the way
// comes back together, when the others are done.
type Original struct {
	Seed    uint64
	Parties int
	Jobs    int64 // of each party
	Rate    int64 // of each party, per second
	Workers int
	// Check is how long a worker is busy with a job that it puts back, and
	// Service with one that it runs: evenly from half to one and a half of it.
	Check, Service time.Duration
	// Sweep is the mean time between the dispatcher's sweeps, each from half to
	// one and a half of it.
	Sweep time.Duration
	// Fixed replaces the staggered wait by a fixed delay, if not 0.
	Fixed time.Duration
}

// OriginalResult is what it came to.
type OriginalResult struct {
	End       time.Duration // when the last job was done
	Throttles int64
	Peak      int64    // most jobs started in a second of the clock
	PerSecond Series   // jobs started, of all parties
	Deliver   int64    // jobs handed to workers
	Shares    []Series // of each party
}

// visit is a job's return to ready.
type visit struct {
	at    time.Duration
	order int64
	party int
}

type visits []visit

func (v visits) Len() int { return len(v) }
func (v visits) Less(i, j int) bool {
	return v[i].at < v[j].at || v[i].at == v[j].at && v[i].order < v[j].order
}
func (v visits) Swap(i, j int) { v[i], v[j] = v[j], v[i] }
func (v *visits) Push(x any)   { *v = append(*v, x.(visit)) }
func (v *visits) Pop() any {
	s := *v
	x := s[len(s)-1]
	*v = s[:len(s)-1]
	return x
}

// Run simulates it.
func (o Original) Run() OriginalResult {
	rng := rand.New(rand.NewPCG(o.Seed, 0xa9))
	out := OriginalResult{Shares: make([]Series, o.Parties)}
	var ready []int // parties, in the order of their jobs
	for range o.Jobs {
		for p := range o.Parties {
			ready = append(ready, p)
		}
	}
	workers := make(visits, o.Workers) // when each is free again
	waiting := make([]int64, o.Parties)
	used := make([]int64, o.Parties)
	var later visits
	var order int64
	window, tick := time.Duration(-1), time.Duration(0)
	for len(ready)+len(later) > 0 {
		w := heap.Pop(&workers).(visit)
		now := w.at
		for tick <= now {
			for len(later) > 0 && later[0].at <= tick {
				v := heap.Pop(&later).(visit)
				waiting[v.party]--
				ready = append(ready, v.party)
			}
			tick += o.Sweep/2 + time.Duration(rng.Int64N(int64(o.Sweep)+1))
		}
		if s := now.Truncate(time.Second); s != window {
			window = s
			clear(used)
		}
		busy := o.Check
		if len(ready) == 0 {
			busy = tick - now
		} else {
			p := ready[0]
			ready = ready[1:]
			out.Deliver++
			if used[p] < o.Rate {
				used[p]++
				sec := int(now / time.Second)
				out.PerSecond = out.PerSecond.add(sec, 1)
				out.Shares[p] = out.Shares[p].add(sec, 1)
				busy = o.Service/2 + time.Duration(rng.Int64N(int64(o.Service)+1))
				out.End = max(out.End, now+busy)
			} else {
				out.Throttles++
				wait := time.Second + time.Duration(waiting[p]/o.Rate)*time.Second
				if o.Fixed > 0 {
					wait = o.Fixed
				}
				waiting[p]++
				order++
				heap.Push(&later, visit{now + wait, order, p})
			}
		}
		heap.Push(&workers, visit{at: now + busy, order: w.order})
	}
	out.Peak = out.PerSecond.Peak()
	return out
}
