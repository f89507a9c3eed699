package flow_test

import (
	"fmt"
	"time"

	"github.com/spillway/spillway/flow"
)

func ExampleSliding() {
	rate := flow.Rate{N: 10, Per: time.Second}
	now := flow.At(time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC))
	var limiter flow.Sliding
	for range 4 {
		d := limiter.Take(rate, now, 1)
		fmt.Println(d.Granted, d.At.Sub(now), d.Remaining)
	}
	fmt.Println("four at", limiter.When(rate, now, 4).Sub(now))
	// Output:
	// true 0s 1
	// true 0s 0
	// false 50ms 0
	// false 50ms 0
	// four at 350ms
}

func ExampleSliding_Refund() {
	rate := flow.Rate{N: 10, Per: time.Second}
	var limiter flow.Sliding
	limiter.Take(rate, 0, 10)
	fmt.Println(limiter.When(rate, 0, 4).Sub(0))
	limiter.Refund(rate, 0, 4) // four of the ten jobs never ran
	fmt.Println(limiter.When(rate, 0, 4).Sub(0))
	// Output:
	// 1s
	// 0s
}

func ExampleWindow() {
	rate := flow.Rate{N: 10, Per: time.Second}
	end := flow.Time(0).Add(999 * time.Millisecond)
	var limiter flow.Window
	fmt.Println(limiter.Take(rate, end, 10).Granted)
	d := limiter.Take(rate, end, 10)
	fmt.Println(d.Granted, d.At.Sub(end))
	// Output:
	// true
	// false 1ms
}

func ExampleFair() {
	var f flow.Fair
	a, b := f.Join(0), f.Join(0)
	for range 6 {
		if a <= b { // the least virtual time goes first
			a = f.Charge(a, 10, 1)
			fmt.Print("a ")
		} else {
			b = f.Charge(b, 10, 2) // weighs twice as much
			fmt.Print("b ")
		}
	}
	// Output: a b b a b b
}

func ExamplePriority() {
	day := func(h int) flow.Time { return flow.At(time.Date(2030, 1, 1, h, 0, 0, 0, time.UTC)) }
	old := flow.Priority{Submitted: day(0), Remaining: 1_000_000, Sealed: true}
	short := flow.Priority{Submitted: day(9), Remaining: 10, Sealed: true}
	late := flow.Priority{Submitted: day(11), Remaining: 10, Sealed: true}
	fmt.Println("ten rows, nine hours later:", short.Score() > old.Score())
	fmt.Println("ten rows, eleven hours later:", late.Score() > old.Score())
	// Output:
	// ten rows, nine hours later: true
	// ten rows, eleven hours later: false
}

func ExampleStagger() {
	rate := flow.Rate{N: 10, Per: time.Second}
	for rank := int64(0); rank < 25; rank += flow.StaggerRun(rank, rate) {
		fmt.Println("from rank", rank, "in", flow.Stagger(0, rank, rate).Sub(0))
	}
	// Output:
	// from rank 0 in 1s
	// from rank 10 in 2s
	// from rank 20 in 3s
}

func ExampleBackoff() {
	for attempt := 1; attempt <= 4; attempt++ {
		fmt.Println(flow.DefaultBackoff.Wait(attempt, 42).Round(time.Second))
	}
	// Output:
	// 13s
	// 17s
	// 38s
	// 1m21s
}

func ExampleParseRate() {
	for _, text := range []string{"200/s", "50/5s", "5"} {
		fmt.Println(flow.ParseRate(text))
	}
	// Output:
	// 200/s <nil>
	// 50/5s <nil>
	//  "5" is no rate: no period (write 200/s, 600/m, 5/h or 50/5s)
}
