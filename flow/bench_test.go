package flow_test

import (
	"testing"
	"time"

	"github.com/spillway/spillway/flow"
)

// Take, each at the time it becomes due.
func BenchmarkTake(b *testing.B) {
	for name, l := range map[string]func() flow.Limiter{
		"sliding": func() flow.Limiter { return &flow.Sliding{} },
		"window":  func() flow.Limiter { return &flow.Window{} },
	} {
		for _, rate := range []string{"10/s", "100/s", "100000/s"} {
			b.Run(name+" "+rate, func(b *testing.B) {
				r, err := flow.ParseRate(rate)
				if err != nil {
					b.Fatal(err)
				}
				limiter := l()
				now := flow.Time(0)
				b.ReportAllocs()
				for b.Loop() {
					if d := limiter.Take(r, now, 1); !d.Granted {
						now = d.At
					}
				}
			})
		}
	}
}

// When, with a full log of which half has to expire.
func BenchmarkWhen(b *testing.B) {
	r := flow.Rate{N: 100, Per: time.Second}
	var s flow.Sliding
	now := flow.Time(0)
	for range 100 {
		now = s.When(r, now, 1)
		s.Take(r, now, 1)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.When(r, now, 50)
	}
}
