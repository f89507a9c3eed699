package main

import (
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/flow"
)

// progress is a moment of a run.
type progress struct {
	Type      string        `json:"type"`
	At        time.Time     `json:"at"`
	State     string        `json:"state"`
	Sealed    bool          `json:"sealed"`
	Total     int64         `json:"total"`
	Succeeded int64         `json:"succeeded"`
	Failed    int64         `json:"failed"`
	Skipped   int64         `json:"skipped"`
	Cancelled int64         `json:"cancelled"`
	Retrying  int64         `json:"retrying"`
	InFlight  int64         `json:"in_flight"`
	Pending   int64         `json:"pending"`
	InDoubt   int64         `json:"in_doubt"`
	Rate      float64       `json:"rate_per_second"`
	ETA       *float64      `json:"eta_seconds,omitempty"`
	Reasons   []reasonCount `json:"reasons,omitempty"`
}

// Done is the jobs that are done for good or in doubt.
func (p *progress) Done() int64 {
	return p.Succeeded + p.Failed + p.Skipped + p.Cancelled + p.InDoubt
}

// meter measures the rate of the last seconds, and of the whole run.
type meter struct {
	at    []time.Time
	done  []int64
	steps []int64 // how often done had changed before

	began time.Time
	first int64
}

const meterSpan = 10 * time.Second

// What a rate must rest on before a time left is told from it: batches end
// together, so that one step says nothing.
const (
	knownSpan  = 2 * time.Second
	knownSteps = 3
)

// rate adds a measurement and is the jobs per second over the last seconds.
func (m *meter) rate(now time.Time, done int64) float64 {
	var steps int64
	if n := len(m.at); n == 0 {
		m.began, m.first = now, done
	} else if steps = m.steps[n-1]; done != m.done[n-1] {
		steps++
	}
	m.at, m.done, m.steps = append(m.at, now), append(m.done, done), append(m.steps, steps)
	for len(m.at) > 2 && now.Sub(m.at[0]) > meterSpan {
		m.at, m.done, m.steps = m.at[1:], m.done[1:], m.steps[1:]
	}
	span := now.Sub(m.at[0]).Seconds()
	if span <= 0 {
		return 0
	}
	return max(0, float64(done-m.done[0])/span)
}

// left is how long a number of jobs takes, in seconds; false while too little
// is known. A group's own rate bounds it from below, and is the answer where
// it is too slow to be measured.
func (m *meter) left(jobs int64, own flow.Rate) (float64, bool) {
	last := len(m.at) - 1
	now, done, steps := m.at[last], m.done[last], m.steps[last]
	measured := 0.0
	if span := now.Sub(m.at[0]); span >= knownSpan && steps-m.steps[0] >= knownSteps {
		measured = float64(done-m.done[0]) / span.Seconds()
	} else if span := now.Sub(m.began); span >= knownSpan && steps >= knownSteps {
		measured = float64(done-m.first) / span.Seconds()
	}
	limit := own.PerSecond()
	switch {
	case own.Unlimited() && measured > 0:
		return float64(jobs) / measured, true
	case own.Unlimited():
		return 0, false
	case measured > 0:
		return max(float64(jobs)/measured, float64(jobs)/limit), true
	}
	return float64(jobs) / limit, limit*now.Sub(m.began).Seconds() < knownSteps
}

// moment is a group's progress now.
func (m *meter) moment(now time.Time, g *bulk.Group, reasons []reasonCount) *progress {
	p := &progress{
		Type: "progress", At: now.UTC(), State: string(g.State), Sealed: g.Sealed, Total: g.Total,
		Succeeded: g.Succeeded, Failed: g.Failed, Skipped: g.Skipped, Cancelled: g.Cancelled, Retrying: g.Retrying,
		InFlight: g.InFlight, Pending: g.Pending, InDoubt: g.InDoubt, Reasons: reasons,
	}
	p.Rate = m.rate(now, p.Done())
	own, _ := flow.ParseRate(g.Rate) // written by the engine
	if eta, known := m.left(p.Total-p.Done(), own); known && g.State == spillway.Running {
		p.ETA = &eta
	}
	return p
}

// event is something that happened in a run: a word for programs, and a text
// for people.
type event struct {
	Type    string           `json:"type"`
	Message string           `json:"message"`
	Group   spillway.GroupID `json:"group,omitempty"`
	Key     string           `json:"key,omitempty"`
	Resume  string           `json:"resume,omitempty"`
}

// reporter shows how a run goes on.
type reporter interface {
	// show is called a few times a second.
	show(p *progress)
	// note says something that happened.
	note(e event)
	// close ends the display.
	close()
}

// newReporter picks how to show progress.
func (a *app) newReporter() reporter {
	switch {
	case a.json:
		return &jsonReporter{a: a}
	case a.quiet:
		return quietReporter{}
	case isTerminal(a.stderr):
		return newBar(a)
	}
	return &lineReporter{w: a.logs}
}

type quietReporter struct{}

func (quietReporter) show(*progress) {}
func (quietReporter) note(event)     {}
func (quietReporter) close()         {}
