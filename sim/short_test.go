package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// A stream of groups: sizes from a bounded Pareto distribution (α = 1, 10 to
// 1,000,000 jobs), tenants at random of 100, Poisson arrivals at
// 80 % of a resource of 1,000/s.
const (
	shortRate   = 1000.0
	shortGroups = 10_000
)

func paretoStream(seed uint64, groups int) []Arrival {
	rng := rand.New(rand.NewPCG(seed, 0xa1))
	out := make([]Arrival, groups)
	ats := make([]float64, groups)
	at, jobs := 0.0, 0.0
	for i := range out {
		at += rng.ExpFloat64()
		ats[i] = at
		size := int64(10 / (1 - rng.Float64()*(1-1e-5))) // inverse of F(x) = (1 − 10/x) ÷ (1 − 10⁻⁵)
		out[i] = Job(0, groupID(i), tenant(rng.IntN(100)), "a", "r", size)
		jobs += float64(size)
	}
	// A sample's mean size is far from the distribution's: what is 80 % is the
	// load of the sample itself.
	for i := range out {
		out[i].At = seconds(ats[i] / at * jobs / (0.8 * shortRate))
	}
	return out
}

// shortFigures are what one seed came to.
type shortFigures struct {
	mean, fifo, p99, largest float64
	slowdowns, fifoSlowdowns []float64
}

func shortRun(seed uint64, groups int) (f shortFigures, err error) {
	s := Scenario{Seed: seed, Settings: settings(perSecond(shortRate), 50, ""), Arrivals: paretoStream(seed, groups)}
	r, err := Run(s)
	if err != nil {
		return f, err
	}
	fifo, ideal := FIFO(s.Arrivals, shortRate), Sharing(s.Arrivals, shortRate)
	big := 0
	for i, a := range s.Arrivals {
		took, alone := r.Groups[a.ID].Time(), seconds(float64(a.Total)/shortRate)
		f.mean += took.Seconds() / float64(groups)
		f.fifo += (fifo[i] - a.At).Seconds() / float64(groups)
		f.slowdowns = append(f.slowdowns, float64(took)/float64(alone))
		f.fifoSlowdowns = append(f.fifoSlowdowns, float64(fifo[i]-a.At)/float64(alone))
		if a.Total > s.Arrivals[big].Total {
			big = i
		}
	}
	slices.Sort(f.slowdowns)
	slices.Sort(f.fifoSlowdowns)
	f.p99 = f.slowdowns[groups*99/100]
	g := r.Groups[s.Arrivals[big].ID]
	f.largest = float64(g.Time()) / float64(ideal[big]-s.Arrivals[big].At)
	return f, nil
}

// TestShortGroupsFirst: short groups are not held up by long ones, and the
// long ones hardly pay for it.
func TestShortGroupsFirst(t *testing.T) {
	seeds, groups := 10, shortGroups
	if testing.Short() {
		seeds, groups = 3, 2000
	}
	figures := make([]shortFigures, seeds)
	var wg sync.WaitGroup
	for i := range figures {
		wg.Go(func() {
			var err error
			if figures[i], err = shortRun(uint64(i+1), groups); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, f := range figures {
		t.Logf("seed %2d: mean %7.2f s, FIFO %7.2f s (1/%.1f); p99 slowdown %6.2f; largest ÷ ideal %.3f", i+1, f.mean, f.fifo, f.fifo/f.mean, f.p99, f.largest)
	}
	shortPicture(t, figures[0])
	atMost(t, "mean completion ÷ FIFO's, median", medianOf(figures, func(f shortFigures) float64 { return f.mean / f.fifo }), 0.2)
	atMost(t, "99th percentile of slowdown, median", medianOf(figures, func(f shortFigures) float64 { return f.p99 }), 20)
	atMost(t, "largest group ÷ under ideal tenant-fair sharing, median", medianOf(figures, func(f shortFigures) float64 { return f.largest }), 1.1)
}

func medianOf(fs []shortFigures, of func(shortFigures) float64) float64 {
	xs := make([]float64, len(fs))
	for i, f := range fs {
		xs[i] = of(f)
	}
	slices.SortFunc(xs, cmp.Compare[float64])
	return (xs[(len(xs)-1)/2] + xs[len(xs)/2]) / 2
}
