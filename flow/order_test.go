package flow_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spillway/spillway/flow"
)

// Flows that always have work differ, in grants per weight, by at most one
// grant of each, over any stretch of time (theorem 1 of the paper).
func TestFairShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const flows, most = 4, 50
		var f flow.Fair
		var v, weight, got, start [flows]float64
		var longest [flows]float64
		for i := range flows {
			weight[i] = rapid.Float64Range(0.1, 10).Draw(t, "weight")
		}
		from := rapid.IntRange(0, 100).Draw(t, "from")
		for step := range from + rapid.IntRange(1, 200).Draw(t, "steps") {
			if step == from {
				start = got
			}
			next := 0
			for i := range flows {
				if v[i] < v[next] {
					next = i
				}
			}
			cost := rapid.Int64Range(1, most).Draw(t, "cost")
			v[next] = f.Charge(v[next], cost, weight[next])
			got[next] += float64(cost)
			longest[next] = max(longest[next], float64(cost))
		}
		for a := range flows {
			for b := range a {
				apart := math.Abs((got[a]-start[a])/weight[a] - (got[b]-start[b])/weight[b])
				if bound := longest[a]/weight[a] + longest[b]/weight[b]; apart > bound+1e-9 {
					t.Fatalf("flows %d and %d are %v apart, more than %v", a, b, apart, bound)
				}
			}
		}
	})
}

// A flow that slept gets no more than its share, and one that joins waits for
// no more than the others' grants.
func TestFairIdlenessEarnsNothing(t *testing.T) {
	var f flow.Fair
	a, b := f.Join(0), 0.0
	for range 1000 {
		a = f.Charge(a, 1, 1)
	}
	b = f.Join(b)
	var gotA, gotB int
	for range 100 {
		if a < b {
			a = f.Charge(a, 1, 1)
			gotA++
		} else {
			b = f.Charge(b, 1, 1)
			gotB++
		}
	}
	if gotA < 49 || gotB < 49 {
		t.Errorf("%d and %d of 100", gotA, gotB)
	}
}

func TestJain(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		want   float64
	}{
		{nil, 1},
		{[]float64{0, 0}, 1},
		{[]float64{3}, 1},
		{[]float64{2, 2, 2}, 1},
		{[]float64{5, 0, 0, 0}, 0.25},
		{[]float64{1, 2}, 0.9},
	} {
		if got := flow.Jain(c.shares); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("Jain(%v) = %v, want %v", c.shares, got, c.want)
		}
	}
}

// A run ends exactly where the next second begins.
func TestStaggerRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t, "rate")
		rank := rapid.Int64Range(0, 100_000_000).Draw(t, "rank")
		run := flow.StaggerRun(rank, r)
		first := flow.Stagger(0, rank, r)
		if run < 1 || flow.Stagger(0, rank+run-1, r) != first || flow.Stagger(0, rank+run, r) == first {
			t.Fatalf("%s: rank %d is due at %d, with %d more", r, rank, first, run-1)
		}
		if exact := float64(rank) / r.PerSecond(); math.Abs(float64(first)/1e6-1-exact) > 1.001 {
			t.Fatalf("%s: rank %d is due at %d", r, rank, first)
		}
	})
}

func TestStaggerExtremes(t *testing.T) {
	slow := flow.Rate{N: 1, Per: flow.MaxRatePer}
	if got := flow.Stagger(0, math.MaxInt64, slow); got <= 0 || got == flow.Never {
		t.Errorf("the last of all comes back at %d", got)
	}
	if got := flow.StaggerRun(math.MaxInt64, slow); got != 1 {
		t.Errorf("the last of all has a run of %d", got)
	}
	if got := flow.Stagger(5, -1, slow); got != 5+1e6 {
		t.Errorf("a negative rank comes back at %d", got)
	}
}

func TestBackoff(t *testing.T) {
	b := flow.DefaultBackoff
	d := b.Base
	for attempt := 1; attempt < 1000; attempt++ {
		var sum time.Duration
		for seed := range uint64(200) {
			w := b.Wait(attempt, seed)
			if w < d/2 || w > d {
				t.Fatalf("attempt %d waits %s, want %s to %s", attempt, w, d/2, d)
			}
			if w != b.Wait(attempt, seed) {
				t.Fatalf("attempt %d, seed %d: not the same twice", attempt, seed)
			}
			sum += w
		}
		if mean := float64(sum) / 200 / float64(d); mean < 0.68 || mean > 0.82 {
			t.Errorf("attempt %d: the mean wait is %.2f of the longest", attempt, mean)
		}
		d = min(b.Max, 2*d)
	}
	for _, c := range []struct {
		b        flow.Backoff
		attempt  int
		from, to time.Duration
	}{
		{flow.Backoff{}, 3, 0, 0},
		{flow.Backoff{Base: time.Second}, 1000, 30 * time.Minute, time.Hour},
		{flow.Backoff{Base: time.Minute, Max: time.Second}, 1, time.Second / 2, time.Second},
		{flow.Backoff{Base: time.Second, Max: time.Minute}, -5, time.Second / 2, time.Second},
		{flow.Backoff{Base: 1, Max: math.MaxInt64}, 63, 1 << 61, 1 << 62},
		{flow.Backoff{Base: 1, Max: math.MaxInt64}, 64, math.MaxInt64 / 2, math.MaxInt64},
	} {
		if w := c.b.Wait(c.attempt, 1); w < c.from || w > c.to {
			t.Errorf("%+v: attempt %d waits %s, want %s to %s", c.b, c.attempt, w, c.from, c.to)
		}
	}
}
