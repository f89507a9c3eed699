package flow_test

import (
	"testing"
	"time"

	"github.com/spillway/spillway/flow"
)

// 5,000 jobs at 10/s take 500 s at best. Wake-ups that are up to 8 ms late may
// cost 1 %.
func TestSlidingSpike(t *testing.T) {
	for _, wide := range []int64{1, 2} {
		c := claimers{
			rate: flow.Rate{N: 10, Per: time.Second}, count: 16, late: 8 * time.Millisecond,
			busy: 20 * time.Millisecond, size: constant(wide),
		}
		var s flow.Sliding
		jobs := int64(0)
		for _, g := range c.run(&s, 520, 1) {
			if jobs += g.n; jobs < 5000 {
				continue
			}
			if took := g.at.Sub(0); took > 505*time.Second {
				t.Errorf("claims of %d: %s", wide, took)
			}
			t.Logf("claims of %d: %s", wide, g.at.Sub(0))
			break
		}
		if jobs < 5000 {
			t.Errorf("claims of %d: only %d jobs in 520 s", wide, jobs)
		}
	}
}

// A changed rate is fully used from one period after the change on: N higher
// or lower, Per longer or shorter.
func TestSlidingYieldAfterChange(t *testing.T) {
	rates := []string{"50/s", "1000/s", "20/s", "300/100ms", "600/m", "10/s", "5000/250ms", "7/s"}
	var s flow.Sliding
	now := flow.Time(0)
	old := time.Duration(0)
	for _, text := range rates {
		r, err := flow.ParseRate(text)
		if err != nil {
			t.Fatal(err)
		}
		from := now.Add(max(old, r.Per))
		end := from.Add(20 * r.Per)
		var real trace
		for now < end {
			if d := s.Take(r, now, 1); d.Granted {
				real = append(real, grant{now, 1})
			} else {
				now = d.At
			}
		}
		if got := real.in(from, end); got < 20*r.N*98/100 || real.most(r.Per) > r.N {
			t.Errorf("%s: %d in 20 periods, at most %d in one", r, got, real.most(r.Per))
		}
		old = r.Per
	}
}
