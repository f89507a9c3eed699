package sim

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spillway/spillway/internal/chart"
)

// picture writes a chart into docs/charts if -update is given.
func picture(t *testing.T, name string, p chart.Plot) {
	t.Helper()
	if !*update {
		return
	}
	dir := filepath.Join("..", "docs", "charts")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".svg"), []byte(p.SVG()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// rates is a series as a curve of amounts per second, averaged over n bins.
func rates(s Series, bin float64, n, bins int) (x, y []float64) {
	for b := 0; b+n <= bins; b += n {
		x = append(x, float64(b)*bin)
		y = append(y, float64(s.Sum(b, b+n))/(bin*float64(n)))
	}
	return x, y
}

func spikePicture(t *testing.T, ours, theirs Series) {
	t.Helper()
	p := chart.Plot{
		Title: "The spike: 15,000 jobs at 30/s", XLabel: "seconds since the spike", YLabel: "jobs started per second (mean of 5 s)",
		Note: "three tenants, 5,000 jobs each, submitted at once; simulated", XMax: 800, YMax: 35,
		Bound: 30, BoundName: "limit",
	}
	x, y := rates(ours, 1, 5, 520)
	p.Lines = append(p.Lines, chart.Line{Name: "Spillway", X: x, Y: y, Step: true})
	x, y = rates(theirs, 1, 5, 760)
	p.Lines = append(p.Lines, chart.Line{Name: "the original's law", X: x, Y: y, Step: true})
	picture(t, "spike", p)
}

func fairPicture(t *testing.T, r *Result) {
	t.Helper()
	p := chart.Plot{
		Title: "One million jobs beside 99 × 100", XLabel: "seconds", YLabel: "jobs granted in each second",
		Note: "a resource of 1,000/s; the small tenants are done when their fair share says so; simulated", XMax: 20, YMax: 1200,
		Bound: 1000, BoundName: "limit",
	}
	var small Series
	for id, s := range r.Tenants {
		for b := range s {
			if id != tenant(0) {
				small = small.add(b, s[b])
			}
		}
	}
	x, y := rates(r.Tenants[tenant(0)], 0.1, 10, 210)
	big := chart.Line{Name: "the big tenant", X: x, Y: y, Step: true}
	x, y = rates(small, 0.1, 10, 210)
	p.Lines = append(p.Lines, chart.Line{Name: "99 small tenants together", X: x, Y: y, Step: true}, big)
	picture(t, "fairness", p)
}

func shortPicture(t *testing.T, f shortFigures) {
	t.Helper()
	p := chart.Plot{
		Title: "Short groups first", XLabel: "slowdown: time ÷ time alone", YLabel: "part of the groups, %",
		Note: "10,000 groups of 10 to 1,000,000 jobs (Pareto, α = 1), 100 tenants, load 80 %; simulated",
		XMin: 1, XMax: 10_000, YMax: 100, LogX: true, Bound: 99, BoundName: "99 %",
	}
	for i, xs := range [][]float64{f.slowdowns, f.fifoSlowdowns} {
		l := chart.Line{Name: []string{"Spillway", "first in, first out"}[i]}
		for k := 0; k <= 1000; k++ {
			v := xs[min(len(xs)-1, k*len(xs)/1000)]
			l.X = append(l.X, min(p.XMax, max(p.XMin, v)))
			l.Y = append(l.Y, float64(k)/10)
		}
		p.Lines = append(p.Lines, l)
	}
	picture(t, "slowdown", p)
}
