package flow_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/internal/chart"
)

// plan is what a claimer of single jobs meets at a time: a rate, and whether
// there is work.
type plan func(now flow.Time) (r flow.Rate, work bool)

// follow lets one claimer, which wakes up to 3 ms late, take what it can.
func follow(l flow.Limiter, p plan, until flow.Time) trace {
	var out trace
	late := flow.Time(0)
	for now := flow.Time(0); now < until; {
		r, work := p(now)
		if work && l.Take(r, now, 1).Granted {
			out = append(out, grant{now, 1})
			continue
		}
		next := now + 10_000 // look for work, or another rate, each 10 ms
		if at := l.When(r, now, 1); work && at < next {
			late = (late + 1_237) % 3_000
			next = at + late
		}
		now = next
	}
	return out
}

// The behaviour over seconds, as pictures: go test -update draws them anew.
func TestCharts(t *testing.T) {
	at := func(s float64) flow.Time { return flow.Time(s * 1e6) }
	fifty := flow.Rate{N: 50, Per: time.Second}
	steady := func(flow.Time) (flow.Rate, bool) { return fifty, true }
	for name, c := range map[string]struct {
		title   string
		limiter flow.Limiter
		plan    plan
		spent   bool
	}{
		"steady": {"50/s, work never lacks", &flow.Sliding{}, steady, false},
		"idle-then-burst": {
			"50/s, work until 1.5 s and again from 4 s on", &flow.Sliding{},
			func(now flow.Time) (flow.Rate, bool) { return fifty, now < at(1.5) || now >= at(4) }, false,
		},
		"rate-change": {
			"50/s, 20/s from 2.5 s on, 100/s from 5.5 s on", &flow.Sliding{},
			func(now flow.Time) (flow.Rate, bool) {
				switch {
				case now < at(2.5):
					return fifty, true
				case now < at(5.5):
					return flow.Rate{N: 20, Per: time.Second}, true
				}
				return flow.Rate{N: 100, Per: time.Second}, true
			}, false,
		},
		"restart-spent": {"50/s, all of it spent at 0", &flow.Sliding{}, steady, true},
		"window":        {"50/s in fixed windows, work from 0.9 s on", &flow.Window{}, func(now flow.Time) (flow.Rate, bool) { return fifty, now >= at(0.9) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.spent {
				c.limiter.StartSpent(fifty, 0)
			}
			const columns = 80
			real := follow(c.limiter, c.plan, at(columns/10))
			seconds := func(column int) string { return fmt.Sprintf("%ds", column/10) }
			var b strings.Builder
			fmt.Fprintf(&b, "%s\ngrants per 100 ms; %d in all, at most %d in any second\n\n", c.title,
				real.in(0, at(columns/10)), real.most(time.Second))
			b.WriteString(chart.Columns(real.per(100*time.Millisecond, columns), 10, 20, 10, seconds))
			golden(t, name, b.String())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\n%s says\n%s", got, file, want)
	}
}
