package sim

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// TestFairness: one tenant's 1,000,000 jobs and 99 tenants' 100 on a resource
// of 1,000/s.
func TestFairness(t *testing.T) {
	batches := []int64{1, 50, 1000}
	if testing.Short() {
		batches = batches[1:]
	}
	for _, batch := range batches {
		s := Scenario{Settings: settings(perSecond(1000), batch, ""), Bin: 100 * time.Millisecond}
		s.Arrivals = []Arrival{Job(0, groupID(0), tenant(0), "a", "r", 1_000_000)}
		for i := 1; i < 100; i++ {
			s.Arrivals = append(s.Arrivals, Job(0, groupID(i), tenant(i), "a", "r", 100))
		}
		r := run(t, s)
		slowest := time.Duration(0)
		var series []Series
		for i := range 100 {
			series = append(series, r.Tenants[tenant(i)])
			if i > 0 {
				slowest = max(slowest, r.Groups[groupID(i)].Done)
			}
		}
		// 100 jobs at a hundredth of 1,000/s.
		atMost(t, fmt.Sprintf("batch %d: slowest small tenant ÷ its fair share alone", batch), slowest.Seconds()/10, 2)
		worst, at := 1.0, 0
		for n := 10; n <= 90; n += 5 {
			j, b := Jain(series, func(i int) (int, int) { return 0, lastBin(series[i]) }, n, 10)
			if j < worst {
				worst, at = j, b
			}
		}
		atLeast(t, fmt.Sprintf("batch %d: worst Jain, periods of 1 to 9 s (at bin %d)", batch, at), worst, 0.99)
		alone := float64(series[0].Sum(150, 9000)) / (8850 * 100)
		atLeast(t, fmt.Sprintf("batch %d: a tenant alone, part of the capacity", batch), alone, 0.99)
		if r.Jobs != 1_009_900 || r.Delivered != r.Jobs {
			t.Errorf("%d jobs, %d deliveries", r.Jobs, r.Delivered)
		}
		if batch == 50 {
			fairPicture(t, r)
		}
	}
}

// lastBin is the last bin with something, exclusive: work ended within it.
func lastBin(s Series) int {
	for i := len(s) - 1; i > 0; i-- {
		if s[i] > 0 {
			return i
		}
	}
	return 0
}

// TestIdleGainsNothing: a tenant that comes back after a long idleness gets
// its share and no more.
func TestIdleGainsNothing(t *testing.T) {
	s := Scenario{Settings: settings(perSecond(100), 10, ""), Until: 400 * time.Second}
	for i := range 4 {
		s.Arrivals = append(s.Arrivals, Job(0, groupID(i), tenant(i), "a", "r", 20_000))
	}
	// The fifth did little at first, and returns at 200 s.
	s.Arrivals = append(s.Arrivals, Job(0, "early", "late", "a", "r", 10), Job(200*time.Second, "again", "late", "a", "r", 20_000))
	r := run(t, s)
	for _, n := range []int{5, 10, 50, 200} {
		got := float64(r.Tenants["late"].Sum(200, 200+n)) / float64(20*n)
		atMost(t, fmt.Sprintf("its first %d s after the idleness ÷ its share", n), got, 1+4.0/float64(20*n)+0.1/float64(n))
		atLeast(t, fmt.Sprintf("its first %d s after the idleness ÷ its share", n), got, 1-4.0/float64(20*n)-0.1/float64(n))
	}
}

// TestWeights: shares follow weights.
func TestWeights(t *testing.T) {
	s := Scenario{Settings: settings(perSecond(1000), 20, ""), Until: 60 * time.Second}
	weights := []float64{1, 2, 0.5, 6}
	for i, w := range weights {
		s.Settings.Tenants = append(s.Settings.Tenants, queue.Tenant{ID: tenant(i), Weight: w})
		s.Arrivals = append(s.Arrivals, Job(0, groupID(i), tenant(i), "a", "r", 1_000_000))
	}
	r := run(t, s)
	var series []Series
	for i, w := range weights {
		scaled := Series{}
		for b, x := range r.Tenants[tenant(i)] {
			scaled = scaled.add(b, int64(float64(x)*12/w))
		}
		series = append(series, scaled[:60])
	}
	for _, n := range []int{1, 5, 10} {
		j, _ := Jain(series, func(int) (int, int) { return 0, 60 }, n, 10)
		atLeast(t, fmt.Sprintf("worst Jain of amounts ÷ weights, periods of %d s", n), j, 0.99)
	}
}

// TestEvenGroups: with order fair, 400 groups of one tenant progress together.
func TestEvenGroups(t *testing.T) {
	for _, c := range []struct{ rate, batch int64 }{{100, 1}, {100, 50}, {1000, 50}, {10_000, 1000}} {
		s := Scenario{Seed: 400, Settings: settings(perSecond(c.rate), c.batch, queue.Even), ByGroup: true, Until: 150 * time.Second}
		rng := rand.New(rand.NewPCG(400, 1))
		for i := range 400 {
			a := Job(time.Duration(rng.Int64N(int64(5*time.Second))), groupID(i), "t", "a", "r", 1_000_000)
			s.Arrivals = append(s.Arrivals, a)
		}
		r := run(t, s)
		series := make([]Series, 400)
		for i := range 400 {
			series[i] = r.Groups[groupID(i)].Series
		}
		j, at := Jain(series, func(int) (int, int) { return 6, 150 }, 30, 5)
		atLeast(t, fmt.Sprintf("%d/s, batch %d: worst Jain of 400 groups in any 30 s (at %d s)", c.rate, c.batch, at), j, 0.98)
		if at < 0 && j < 1 {
			t.Error("nothing was compared")
		}
	}
}

// TestHang: every handler of one resource hangs; another resource's next job
// starts within a second.
func TestHang(t *testing.T) {
	s := Scenario{Until: time.Minute, Service: func(_ *rand.Rand, l queue.Lease) time.Duration {
		if l.Resource == "dead" {
			return time.Hour
		}
		return 20 * time.Millisecond
	}}
	for i := range 20 {
		s.Arrivals = append(s.Arrivals, Job(0, groupID(i), tenant(i), "a", "dead", 100_000))
	}
	for i := range 30 {
		at := time.Duration(i)*time.Second + 137*time.Millisecond
		s.Arrivals = append(s.Arrivals, Job(at, spillway.GroupID(fmt.Sprintf("live%d", i)), tenant(i), "b", "live", 10))
	}
	r := run(t, s)
	worst := time.Duration(0)
	for _, g := range r.Groups {
		if g.Resource == "live" {
			if g.First < 0 || g.Done < 0 {
				t.Fatalf("%s never ran", g.ID)
			}
			worst = max(worst, g.First-g.At)
		}
	}
	atMost(t, "seconds until a job of the living resource starts, worst of 30", worst.Seconds(), 1)
}

// TestBrokenGroup: a group whose every job fails slows no other, of its own
// tenant or of others.
func TestBrokenGroup(t *testing.T) {
	scenario := func(broken bool) Scenario {
		s := Scenario{Seed: 5, Settings: settings(perSecond(100), 10, ""), Service: func(*rand.Rand, queue.Lease) time.Duration {
			return 100 * time.Millisecond
		}}
		if broken {
			s.Fails = func(_ *rand.Rand, l queue.Lease, _ int64) bool { return l.Group == "broken" }
		}
		s.Arrivals = []Arrival{
			Job(0, "broken", "t0", "a", "r", 3000),
			Job(time.Second, "sibling", "t0", "a", "r", 3000),
			Job(time.Second, "small", "t0", "a", "r", 100),
			Job(0, "other1", "t1", "a", "r", 3000),
			Job(0, "other2", "t2", "a", "r", 3000),
		}
		return s
	}
	whole, broken := run(t, scenario(false)), run(t, scenario(true))
	for id, bound := range map[spillway.GroupID]float64{
		"other1": 1.01, "other2": 1.01, "small": 1.01,
		// Retries are work of the same tenant: as its oldest group they may have
		// every fourth grant, and no more.
		"sibling": 4.0 / 3,
	} {
		atMost(t, fmt.Sprintf("%s beside a broken group ÷ beside the same group whole", id),
			broken.Groups[id].Time().Seconds()/whole.Groups[id].Time().Seconds(), bound)
	}
	if broken.Failed != 3000 || broken.Jobs != 12_100 {
		t.Errorf("%d failed of %d final jobs, want 3000 of 12100", broken.Failed, broken.Jobs)
	}
	t.Logf("deliveries %d, the broken group was done at %v", broken.Delivered, broken.Groups["broken"].Done)
}

// TestOldGroupGoesForward: under a steady stream of short groups of the same
// tenant that alone would take more than the whole resource, an old long group
// still goes forward.
func TestOldGroupGoesForward(t *testing.T) {
	s := Scenario{Settings: settings(perSecond(100), 10, ""), Until: 300 * time.Second, ByGroup: true}
	s.Arrivals = []Arrival{Job(0, "old", "t", "a", "r", 1_000_000)}
	for i := range 12 * 300 {
		s.Arrivals = append(s.Arrivals, Job(time.Duration(i)*time.Second/12, groupID(i), "t", "a", "r", 10))
	}
	r := run(t, s)
	worst := 1.0
	for b := 10; b+10 <= 300; b++ {
		worst = min(worst, float64(r.Groups["old"].Series.Sum(b, b+10))/1000)
	}
	atLeast(t, "least part of any 10 s that the old group gets", worst, 0.2)
}

// TestFailingRowsKeepPace: a group with one failing row in a hundred runs at
// full speed to the end of its rows, its retries beside it.
func TestFailingRowsKeepPace(t *testing.T) {
	const jobs, rate = 600_000, 10_000
	s := Scenario{Seed: 100, Settings: settings(perSecond(rate), 100, ""), Log: true, Attempts: 3}
	s.Fails = func(_ *rand.Rand, _ queue.Lease, job int64) bool { return job%100 == 7 }
	s.Arrivals = []Arrival{Job(0, "g", "t", "a", "r", jobs)}
	r := run(t, s)
	atLeast(t, "part of the rate in any 10 s until the last row was handed out",
		Yield(r.Log["r"], perSecond(rate), 10, 0, jobs/rate*time.Second), 0.98)
	over, _ := Excess(r.Log["r"], []Limit{{0, perSecond(rate)}})
	atMost(t, "excess in any window", float64(over), 0)
	if r.Failed != jobs/100 || r.Jobs != jobs || r.Delivered != jobs+2*jobs/100 {
		t.Errorf("%d failed of %d final jobs in %d deliveries", r.Failed, r.Jobs, r.Delivered)
	}
}
