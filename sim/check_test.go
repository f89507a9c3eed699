package sim

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/spillway/spillway/flow"
)

// randomLog is grants at random times of a coarse grid, so that many coincide
// or lie exactly a period apart.
func randomLog(rng *rand.Rand) (log []Grant) {
	at := time.Duration(0)
	for range 5 + rng.IntN(60) {
		at += time.Duration(rng.IntN(4)) * 250 * time.Millisecond
		log = append(log, Grant{at, 1 + rng.Int64N(3)})
	}
	return log
}

func in(log []Grant, from, to time.Duration) (n int64) { // [from, to)
	for _, g := range log {
		if g.At >= from && g.At < to {
			n += g.Cost
		}
	}
	return n
}

// TestWindowChecks compares the checks of this package with looking at every
// interval of a fine grid.
func TestWindowChecks(t *testing.T) {
	const fine = 125 * time.Millisecond
	for seed := range uint64(300) {
		log := randomLog(rand.New(rand.NewPCG(seed, 0)))
		r := flow.Rate{N: 4, Per: 1500 * time.Millisecond}
		end := log[len(log)-1].At
		most, least := int64(-1<<62), int64(1<<62)
		for from := -2 * time.Second; from <= end; from += fine {
			most = max(most, in(log, from, from+r.Per)-r.N)
		}
		if got, _ := Excess(log, []Limit{{0, r}}); got != most {
			t.Fatalf("seed %d: Excess is %d, want %d of %v", seed, got, most, log)
		}
		for from := time.Duration(0); from+3*r.Per < end; from += fine {
			least = min(least, in(log, from, from+3*r.Per))
		}
		if end <= 3*r.Per {
			continue
		}
		if got, want := Yield(log, r, 3, 0, end), float64(least)/12; got != want {
			t.Fatalf("seed %d: Yield is %v, want %v of %v", seed, got, want, log)
		}
	}
}

func TestExcessCountsGrantsUnderOlderRates(t *testing.T) {
	log := []Grant{{0, 10}, {900 * time.Millisecond, 1}, {1500 * time.Millisecond, 5}}
	limits := []Limit{{0, perSecond(11)}, {time.Second, flow.Rate{N: 12, Per: 2 * time.Second}}}
	if over, at := Excess(log, limits); over != 4 || at != 1500*time.Millisecond {
		t.Errorf("excess %d at %v, want 4 at 1.5s", over, at)
	}
}

func TestSharingIsExact(t *testing.T) {
	a := []Arrival{
		Job(0, "a", "t0", "x", "r", 100),
		Job(0, "b", "t1", "x", "r", 100),
		Job(2*time.Second, "c", "t1", "x", "r", 10),
	}
	// At 10/s: until 2 s a and b get 10 each; then c has a quarter of the rate
	// and needs 4 s, in which b gets 10 more; then a, with 70 left, and b, with
	// 80, have half each until a is done, and b has all.
	want := []time.Duration{20 * time.Second, 21 * time.Second, 6 * time.Second}
	if got := Sharing(a, 10); !reflect.DeepEqual(got, want) {
		t.Errorf("done at %v, want %v", got, want)
	}
	want = []time.Duration{10 * time.Second, 20 * time.Second, 21 * time.Second}
	if got := FIFO(a, 10); !reflect.DeepEqual(got, want) {
		t.Errorf("first in, first out: done at %v, want %v", got, want)
	}
}

// TestRunIsDeterministic: the same seed gives the same result, random failures
// and all.
func TestRunIsDeterministic(t *testing.T) {
	s := spike(true)
	s.Lateness = time.Millisecond
	s.Fails = failSome
	a, b := run(t, s), run(t, s)
	if !reflect.DeepEqual(a.Log, b.Log) || a.Delivered != b.Delivered || a.End != b.End {
		t.Error("two runs of one seed differ")
	}
	if a.Delivered <= 15_000 || a.Jobs != 15_000 {
		t.Errorf("%d deliveries of %d jobs: want all of 15000, some of them repeated", a.Delivered, a.Jobs)
	}
	s.Seed++
	if c := run(t, s); reflect.DeepEqual(a.Log, c.Log) {
		t.Error("another seed gave the same run")
	}
}
