package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// TestRates: no half-open interval of a period's length holds more than the
// rate, and any ten periods with enough work hold at least 98 % of it.
func TestRates(t *testing.T) {
	minute := time.Minute
	cases := []struct {
		rate     flow.Rate
		batch    int64
		tenants  int
		jobs     int64 // of each tenant
		lateness time.Duration
	}{
		{flow.Rate{N: 5, Per: time.Hour}, 1, 1, 200, 0},
		{flow.Rate{N: 1, Per: 2 * time.Second}, 1, 1, 500, 0},
		{flow.Rate{N: 1, Per: 2 * time.Second}, 1, 3, 100, 0},
		{flow.Rate{N: 50, Per: 5 * time.Second}, 10, 3, 2000, time.Millisecond},
		{perSecond(10), 1, 3, 1000, time.Millisecond},
		{perSecond(10), 1000, 3, 1000, 0},
		{perSecond(2000), 1, 7, 10_000, time.Millisecond},
		{perSecond(2000), 1000, 7, 20_000, time.Millisecond},
		{perSecond(100_000), 1000, 1, 2_000_000, time.Millisecond},
		{perSecond(100_000), 1000, 64, 50_000, time.Millisecond},
		{flow.Rate{N: 600, Per: minute}, 100, 2, 10_000, 0},
	}
	for seed, c := range cases {
		name := fmt.Sprintf("%v batch %d, %d tenants, late by %v", c.rate, c.batch, c.tenants, c.lateness)
		t.Run(name, func(t *testing.T) {
			s := Scenario{Seed: uint64(seed), Settings: settings(c.rate, c.batch, ""), Log: true, Lateness: c.lateness}
			for i := range c.tenants {
				s.Arrivals = append(s.Arrivals, Job(0, groupID(i), tenant(i), "a", "r", c.jobs))
			}
			r := run(t, s)
			log := r.Log["r"]
			over, at := Excess(log, []Limit{{0, c.rate}})
			atMost(t, fmt.Sprintf("excess over %v in any window (worst at %v)", c.rate, at), float64(over), 0)
			atLeast(t, "part of the rate in any 10 periods", Yield(log, c.rate, 10, 0, r.End), 0.98)
			if r.Delivered != r.Jobs || r.Jobs != c.jobs*int64(c.tenants) {
				t.Errorf("%d of %d jobs done with %d deliveries", r.Jobs, c.jobs*int64(c.tenants), r.Delivered)
			}
		})
	}
}

// TestRateChanges raises and lowers the rate in mid-run: each grant counts all
// of the last period, whatever rate it was granted under.
func TestRateChanges(t *testing.T) {
	limits := []Limit{
		{0, perSecond(100)},
		{20 * time.Second, perSecond(1000)},
		{40 * time.Second, perSecond(10)},
		{60*time.Second + 300*time.Millisecond, flow.Rate{N: 300, Per: 5 * time.Second}},
		{100 * time.Second, perSecond(200)},
	}
	for _, batch := range []int64{1, 50, 1000} {
		s := Scenario{Settings: settings(limits[0].Rate, batch, ""), Log: true, Until: 140 * time.Second}
		for i := range 3 {
			s.Arrivals = append(s.Arrivals, Job(0, groupID(i), tenant(i), "a", "r", 100_000))
		}
		for _, l := range limits[1:] {
			s.Changes = append(s.Changes, Change{At: l.From, Settings: queue.Settings{
				Resources: []queue.Resource{{Name: "r", Rate: l.Rate}},
			}})
		}
		r := run(t, s)
		over, at := Excess(r.Log["r"], limits)
		atMost(t, fmt.Sprintf("batch %d: excess over the rate of the moment (worst at %v)", batch, at), float64(over), 0)
		for i, l := range limits {
			end := r.End
			if i+1 < len(limits) {
				end = limits[i+1].From
			}
			// What was granted before the change counts for one period.
			y := Yield(r.Log["r"], l.Rate, 10, l.From+max(l.Per, time.Second), end)
			if end-l.From > 11*l.Per {
				atLeast(t, fmt.Sprintf("batch %d: part of %v in any 10 periods", batch, l.Rate), y, 0.98)
			}
		}
	}
}

// TestRateAcrossRestart loses the queue in mid-run: its successor does not know
// what was granted, and still no window holds more than the rate.
func TestRateAcrossRestart(t *testing.T) {
	for _, c := range []struct {
		rate  flow.Rate
		batch int64
	}{{flow.Rate{N: 1, Per: 2 * time.Second}, 1}, {perSecond(10), 1}, {perSecond(2000), 1000}, {perSecond(100_000), 1000}} {
		s := Scenario{Settings: settings(c.rate, c.batch, ""), Log: true, Until: 100 * time.Second}
		s.Arrivals = []Arrival{Job(0, "g0", "t0", "a", "r", 50_000_000), Job(0, "g1", "t1", "a", "r", 50_000_000)}
		restarts := []time.Duration{30 * time.Second, 30*time.Second + 700*time.Millisecond, 60*time.Second + 123*time.Microsecond}
		for _, at := range restarts {
			s.Changes = append(s.Changes, Change{At: at, Restart: true})
		}
		r := run(t, s)
		over, at := Excess(r.Log["r"], []Limit{{0, c.rate}})
		atMost(t, fmt.Sprintf("%v, 3 restarts: excess in any window (worst at %v)", c.rate, at), float64(over), 0)
		atLeast(t, fmt.Sprintf("%v, from a period after the last restart: part of the rate", c.rate),
			Yield(r.Log["r"], c.rate, 10, restarts[2]+c.rate.Per, r.End), 0.98)
	}
}
