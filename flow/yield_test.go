package flow_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway/spillway/flow"
)

// claimers is work that never lacks: each claimer asks, waits until it is told
// to ask again, wakes late, and is busy for a while after a grant.
type claimers struct {
	rate  flow.Rate
	count int
	// late is the greatest lateness of a wake-up.
	late time.Duration
	// busy is the mean time between a grant and the next claim.
	busy time.Duration
	// size is how much the next claim asks for, widest the most that it does.
	size   func(*rand.Rand) int64
	widest int64
	// whole claims don't shrink to what fits.
	whole bool
}

// run lets the claimers work for that many periods.
func (c claimers) run(l flow.Limiter, periods int, seed uint64) trace {
	rng := rand.New(rand.NewPCG(seed, 0))
	var out trace
	var line wakeups
	for range c.count {
		heap.Push(&line, wakeup{0, c.size(rng)})
	}
	for line[0].at < flow.Time(0).Add(time.Duration(periods)*c.rate.Per) {
		w := heap.Pop(&line).(wakeup)
		size, at := w.size, l.When(c.rate, w.at, w.size)
		if !c.whole {
			size, at = l.Fit(c.rate, w.at, w.size)
		}
		if at > w.at {
			w.at = at.Add(time.Duration(rng.Int64N(int64(c.late) + 1)))
			heap.Push(&line, w)
			continue
		}
		if !l.Take(c.rate, w.at, size).Granted {
			panic("a claim that was due is not granted")
		}
		out = append(out, grant{w.at, size})
		busy := time.Duration(rng.ExpFloat64() * float64(c.busy))
		heap.Push(&line, wakeup{w.at.Add(busy), c.size(rng)})
	}
	return out
}

type wakeup struct {
	at   flow.Time
	size int64
}

type wakeups []wakeup

func (w wakeups) Len() int           { return len(w) }
func (w wakeups) Less(i, j int) bool { return w[i].at < w[j].at }
func (w wakeups) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *wakeups) Push(x any)        { *w = append(*w, x.(wakeup)) }
func (w *wakeups) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}

func constant(n int64) func(*rand.Rand) int64 { return func(*rand.Rand) int64 { return n } }

func upTo(n int64) func(*rand.Rand) int64 {
	return func(rng *rand.Rand) int64 { return 1 + rng.Int64N(n) }
}

// The limiter costs no throughput: with work that never lacks, 99 % of N goes
// in the long run and 98 % in any ten periods (to within the two claims at their
// ends), while no period holds more than N.
func TestSlidingYield(t *testing.T) {
	const periods = 40
	for _, per := range []time.Duration{time.Millisecond, time.Second, time.Hour} {
		for _, n := range []int64{1, 2, 3, 7, 10, 19, 50, 99, 100, 101, 150, 199, 1000, 9_999, 100_000} {
			if testing.Short() && n > 1000 {
				continue
			}
			r := flow.Rate{N: n, Per: per}
			fifth := max(1, n/5)
			for name, c := range map[string]claimers{
				"one":       {size: constant(1), widest: 1, count: 1},
				"one late":  {size: constant(1), widest: 1, count: 1, late: per / 125},
				"64 busy":   {size: constant(1), widest: 1, count: 64, late: per / 1000, busy: 64 * per / 2 / time.Duration(n)},
				"fifth":     {size: constant(fifth), widest: fifth, count: 1, late: per / 250},
				"up to 1/5": {size: upTo(fifth), widest: fifth, count: 1, late: per / 250},
				"64 mixed":  {size: upTo(fifth), widest: fifth, count: 64, late: per / 250, busy: per / 10},
			} {
				if n > 1000 && per != time.Second && c.widest == 1 {
					continue // the same as in seconds, and slow
				}
				t.Run(fmt.Sprintf("%s %s", r, name), func(t *testing.T) {
					c.rate = r
					var s flow.Sliding
					real := c.run(&s, periods, uint64(n))
					end := flow.Time(0).Add(periods * per)
					total := float64(real.in(0, end)) / float64(periods*n)
					ten := real.least(0, end, 10*per)
					t.Logf("%.4f, least ten periods %.4f", total, float64(ten)/float64(10*n))
					if total < 0.99 {
						t.Errorf("yield %.4f", total)
					}
					if float64(ten+2*c.widest) < 0.98*float64(10*n) {
						t.Errorf("ten periods held %d", ten)
					}
					if most := real.most(per); most > n {
						t.Errorf("a period held %d", most)
					}
				})
			}
		}
	}
}
