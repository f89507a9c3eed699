package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// How often progress is written where no bar can be drawn.
const (
	lineEvery = 2 * time.Second
	jsonEvery = time.Second
)

// jsonReporter writes events to standard output.
type jsonReporter struct {
	a    *app
	last time.Time
	seen string
}

func (r *jsonReporter) show(p *progress) {
	if p.At.Sub(r.last) >= jsonEvery || p.State != r.seen {
		r.last, r.seen = p.At, p.State
		// A closed standard output must not end the work.
		_ = r.a.emit(p)
	}
}

func (r *jsonReporter) note(e event) { _ = r.a.emit(e) }
func (r *jsonReporter) close()       {}

// lineReporter writes a line now and then.
type lineReporter struct {
	w    io.Writer
	last time.Time
	seen string
}

func (r *lineReporter) show(p *progress) {
	state := p.State
	if p.State == r.seen && p.At.Sub(r.last) < lineEvery {
		return
	}
	r.last, r.seen = p.At, state
	fmt.Fprintln(r.w, state+": "+strings.Join(progressWords(p), ", "))
}

func (r *lineReporter) note(e event) { fmt.Fprintln(r.w, e.Message) }
func (r *lineReporter) close()       {}

// perSecond writes a rate; slow ones with a digit behind the point.
func perSecond(rate float64) string {
	if rate < 10 {
		return fmt.Sprintf("%.1f/s", rate)
	}
	return fmt.Sprintf("%s/s", count(int64(rate+0.5)))
}

// progressWords says how a run goes on, in parts.
func progressWords(p *progress) []string {
	total := count(p.Total)
	if !p.Sealed {
		total += " so far"
	}
	words := []string{fmt.Sprintf("%s of %s done", count(p.Done()), total)}
	if p.Rate > 0 {
		words = append(words, perSecond(p.Rate))
	}
	if p.ETA != nil && p.Done() < p.Total {
		words = append(words, "about "+brief(time.Duration(*p.ETA*float64(time.Second)))+" left")
	}
	for _, c := range []struct {
		n    int64
		what string
	}{{p.Failed, "failed"}, {p.Skipped, "skipped"}, {p.InDoubt, "in doubt"}, {p.Retrying, "retrying"}} {
		if c.n > 0 {
			words = append(words, count(c.n)+" "+c.what)
		}
	}
	if len(p.Reasons) > 0 {
		var top []string
		for _, r := range p.Reasons {
			top = append(top, shorten(r.String(), 70))
		}
		words = append(words, "errors: "+strings.Join(top, "; "))
	}
	return words
}
