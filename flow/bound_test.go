package flow_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spillway/spillway/flow"
)

func drawRate(t *rapid.T, label string) flow.Rate {
	n := rapid.OneOf(rapid.Int64Range(1, 20), rapid.Int64Range(1, 1000), rapid.Int64Range(1, 100_000)).Draw(t, label+".n")
	per := rapid.SampledFrom([]time.Duration{
		time.Millisecond, 7 * time.Millisecond, 100 * time.Millisecond,
		time.Second, time.Minute, time.Hour,
	}).Draw(t, label+".per")
	return flow.Rate{N: n, Per: per}
}

// drawStep moves the clock: mostly by what a few claims take to accumulate, at
// times by up to two periods, at times back.
func drawStep(t *rapid.T, r flow.Rate, back bool) flow.Time {
	per := flow.Time(r.Per / time.Microsecond)
	switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
	case kind == 0:
		return flow.Time(rapid.Int64Range(0, 2*int64(per)).Draw(t, "long"))
	case kind == 1 && back:
		return -flow.Time(rapid.Int64Range(0, int64(per)/2).Draw(t, "back"))
	case kind < 4:
		return 0
	}
	return flow.Time(rapid.Int64Range(0, max(1, int64(per)/10)).Draw(t, "short"))
}

// No interval of a period's length ever holds more than N, wherever it lies;
// what is refunded was not granted.
func TestSlidingBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t, "rate")
		var s flow.Sliding
		var real trace
		now := flow.Time(rapid.SampledFrom([]int64{0, 1_800_000_000_000_000}).Draw(t, "start"))
		latest := now
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			now = max(now+drawStep(t, r, true), latest.Add(-r.Per))
			latest = max(latest, now)
			n := rapid.Int64Range(1, max(1, r.N/rapid.SampledFrom([]int64{1, 5, 100, 1000}).Draw(t, "part"))).Draw(t, "n")
			if rapid.IntRange(0, 9).Draw(t, "refund") == 0 && len(real) > 0 {
				g := &real[rapid.IntRange(0, len(real)-1).Draw(t, "which")]
				n = min(n, g.n)
				s.Refund(r, g.at, n)
				g.n -= n
				continue
			}
			if d := s.Take(r, now, n); d.Granted {
				if len(real) > 0 && d.At < real[len(real)-1].at {
					t.Fatalf("a grant at %d after one at %d", d.At, real[len(real)-1].at)
				}
				real = append(real, grant{d.At, n})
			}
			if s.Slots() > flow.MaxSlots {
				t.Fatalf("%d slots", s.Slots())
			}
		}
		if most := real.most(r.Per); most > r.N {
			t.Fatalf("%s: %d within a period", r, most)
		}
	})
}

// When is the earliest time: not a microsecond before, and then for sure. Fit's
// claim is granted at its time. Neither changes anything.
func TestSlidingWhenAndFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t, "rate")
		var s flow.Sliding
		now := flow.Time(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += drawStep(t, r, false)
			n := rapid.Int64Range(1, r.N).Draw(t, "n")
			when := s.When(r, now, n)
			size, at := s.Fit(r, now, n)
			if size < 1 || size > n || at > when || at < now || at == when && size != n {
				t.Fatalf("Fit(%d) = %d at %d, When = %d, now = %d", n, size, at, when, now)
			}
			if got := s.When(r, at, size); got != at {
				t.Fatalf("Fit(%d) = %d at %d, but then When = %d", n, size, at, got)
			}
			if when > now {
				if d := s.Take(r, when-1, n); d.Granted || d.At != when {
					t.Fatalf("When(%d) = %d; a microsecond before: %+v", n, when, d)
				}
			}
			switch rapid.IntRange(0, 2).Draw(t, "then") {
			case 0:
				continue
			case 1:
				n, when = size, at
			}
			now = when
			before := s.Spent(r, now)
			d := s.Take(r, now, n)
			if !d.Granted || d.At != now {
				t.Fatalf("Take(%d) at its time %d: %+v", n, now, d)
			}
			if after := s.Spent(r, now); after != before+n {
				t.Fatalf("spent %d, then %d more, but counts %d", before, n, after)
			}
			if d.Remaining > 0 && s.When(r, now, d.Remaining) != now {
				t.Fatalf("%d remain at %d, but When says %d", d.Remaining, now, s.When(r, now, d.Remaining))
			}
		}
	})
}

// The log is never too low, and too high by less than a hundredth of N: exact
// up to 100. From idle, no more goes at once than a claim and the slack.
func TestSlidingLogAndPace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t, "rate")
		size := rapid.Int64Range(1, max(1, r.N/5)).Draw(t, "size")
		var s flow.Sliding
		var real trace
		now := flow.Time(0)
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			now += drawStep(t, r, false)
			n := rapid.Int64Range(1, size).Draw(t, "n")
			if s.Take(r, now, n).Granted {
				real = append(real, grant{now, n})
			}
			exact := real.in(now.Add(-r.Per)+1, now+1)
			if spent := s.Spent(r, now); spent < exact || spent > exact+(r.N-1)/100 {
				t.Fatalf("%s: spent %d, exactly %d", r, spent, exact)
			}
			for i, from := range real[max(0, len(real)-50):] {
				paced := float64(now-from.at) * float64(r.N) / float64(r.Per.Microseconds())
				burst := size + min(r.N/5, max(r.N/50, size*3/2)) + int64(paced) + 2
				if sum := real[max(0, len(real)-50)+i:].in(from.at, now+1); sum > burst {
					t.Fatalf("%s: %d in %d µs, with claims of up to %d", r, sum, now-from.at, size)
				}
			}
		}
	})
}

// When the rate changes, a grant counts all that is still logged: whatever no
// earlier grant found to be older than the period of its time.
func TestSlidingRateChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rates := []flow.Rate{drawRate(t, "a"), drawRate(t, "b"), drawRate(t, "c")}
		r := rates[0]
		var s flow.Sliding
		var real trace
		var now, forgotten flow.Time
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			if rapid.IntRange(0, 9).Draw(t, "change") == 0 {
				r = rapid.SampledFrom(rates).Draw(t, "rate")
			}
			now += drawStep(t, r, false)
			n := rapid.Int64Range(1, max(1, r.N/5)).Draw(t, "n")
			if !s.Take(r, now, n).Granted {
				continue
			}
			real = append(real, grant{now, n})
			forgotten = max(forgotten, now.Add(-r.Per))
			if sum := real.in(forgotten+1, now+1); sum > r.N {
				t.Fatalf("%s: %d since %d, at %d", r, sum, forgotten, now)
			}
			if s.Slots() > flow.MaxSlots {
				t.Fatalf("%d slots", s.Slots())
			}
		}
	})
}

// Refunds leave slots too small for a hundred of them to hold a period; joining
// them never makes the log forget.
func TestSlidingJoinsSlots(t *testing.T) {
	r := flow.Rate{N: 10_000, Per: time.Hour}
	var s flow.Sliding
	stamp := s.Take(r, 0, 100).At
	for i := range int64(300) {
		now := s.When(r, stamp+1, 100)
		s.Take(r, now, 100)
		s.Refund(r, stamp, 99)
		stamp = now
		if spent := s.Spent(r, now); spent != i+101 || s.Slots() > flow.MaxSlots {
			t.Fatalf("%d spent, %d counted, in %d slots", i+101, spent, s.Slots())
		}
	}
	if s.Slots() < flow.MaxSlots {
		t.Errorf("joined down to %d slots", s.Slots())
	}
	// The early ones are gone after a period, the late ones are not.
	if spent := s.Spent(r, stamp.Add(r.Per)-1); spent < 100 || spent > 150 {
		t.Errorf("%d counted at the end", spent)
	}
}

// Each window of its own holds at most N.
func TestWindowBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t, "rate")
		var w flow.Window
		held := map[flow.Time]int64{}
		per := flow.Time(r.Per.Microseconds())
		now := flow.Time(1_800_000_000_000_000)
		var latest flow.Time
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = max(now+drawStep(t, r, true), latest.Add(-r.Per))
			n := rapid.Int64Range(1, r.N).Draw(t, "n")
			when := w.When(r, now, n)
			size, at := w.Fit(r, now, n)
			if at > when || at < now || size < 1 || w.When(r, at, size) != at {
				t.Fatalf("Fit(%d) = %d at %d, When = %d, now = %d", n, size, at, when, now)
			}
			d := w.Take(r, now, n)
			if d.Granted != (when == max(now, latest)) || d.At != when {
				t.Fatalf("When = %d, Take = %+v", when, d)
			}
			if !d.Granted {
				continue
			}
			latest = d.At
			if held[d.At/per] += n; held[d.At/per] > r.N {
				t.Fatalf("%s: %d in a window", r, held[d.At/per])
			}
			if rapid.IntRange(0, 4).Draw(t, "refund") == 0 {
				w.Refund(r, d.At, n)
				held[d.At/per] -= n
			}
		}
	})
}
