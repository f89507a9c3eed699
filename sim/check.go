package sim

import (
	"time"

	"github.com/spillway/spillway/flow"
)

// Limit is a rate that holds from a time on.
type Limit struct {
	From time.Duration
	flow.Rate
}

// Excess compares every half-open interval of a period's length with the rate
// in force at its last grant, and returns the greatest excess (0 or less if the
// rate held everywhere) and where it is. It is enough to look at intervals that
// end just behind a grant.
func Excess(log []Grant, limits []Limit) (most int64, at time.Duration) {
	most = -1 << 62
	var sum int64
	oldest, k := 0, 0
	for i, g := range log {
		if k+1 < len(limits) && limits[k+1].From <= g.At {
			for k+1 < len(limits) && limits[k+1].From <= g.At {
				k++
			}
			// Another period: count anew what lies within it.
			oldest, sum = 0, 0
			for _, x := range log[:i] {
				sum += x.Cost
			}
		}
		sum += g.Cost
		for log[oldest].At <= g.At-limits[k].Per {
			sum -= log[oldest].Cost
			oldest++
		}
		if over := sum - limits[k].N; over > most {
			most, at = over, g.At
		}
	}
	return most, at
}

// Yield is the least part of the rate that is granted in any n periods within
// [from, to), where work must not lack.
func Yield(log []Grant, r flow.Rate, n int, from, to time.Duration) float64 {
	span := time.Duration(n) * r.Per
	least := int64(1 << 62)
	// The poorest intervals begin just behind a grant, or at from.
	i, j := 0, 0
	for i < len(log) && log[i].At < from {
		i++
	}
	var sum int64
	start, closed := from, true // closed: the interval is [start, start+span)
	for j = i; start+span < to; {
		for j < len(log) && (log[j].At < start+span || !closed && log[j].At == start+span) {
			sum += log[j].Cost
			j++
		}
		least = min(least, sum)
		if i >= len(log) {
			break
		}
		sum -= log[i].Cost
		start, closed = log[i].At, false
		i++
	}
	return float64(least) / float64(int64(n)*r.N)
}

// Jain is the least of Jain's index over all periods of n bins, of those
// parties whose series has work over the whole period: works tells from which
// bin to which, exclusive. Periods with fewer than two parties don't count,
// nor do those in which the mean of their amounts is below share.
func Jain(series []Series, works func(i int) (from, to int), n int, share float64) (least float64, at int) {
	least, at = 1, -1
	bins := 0
	for _, s := range series {
		bins = max(bins, len(s))
	}
	sums := make([][]int64, len(series))
	for i, s := range series {
		sums[i] = make([]int64, bins+1)
		for b := range bins {
			sums[i][b+1] = sums[i][b] + s.Sum(b, b+1)
		}
	}
	var shares []float64
	for b := 0; b+n <= bins; b++ {
		shares = shares[:0]
		total := 0.0
		for i := range series {
			if from, to := works(i); from <= b && b+n <= to {
				x := float64(sums[i][b+n] - sums[i][b])
				shares = append(shares, x)
				total += x
			}
		}
		if len(shares) < 2 || total/float64(len(shares)) < share {
			continue
		}
		if j := flow.Jain(shares); j < least {
			least, at = j, b
		}
	}
	return least, at
}
