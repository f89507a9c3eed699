package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
)

// finish says what became of every row, and picks the exit code.
func (r *runner) finish(ctx context.Context, e end) error {
	if refused(e.upload) {
		r.rep.close()
		return usagef("%s: %w; to begin a new run, leave --key out or give another one", r.in.name, e.upload)
	}
	if g, err := r.engine.Group(ctx, r.group.ID); err == nil {
		r.group = g
	}
	top, ferr := r.readFailures(r.stops.untilHard(ctx))
	r.rep.close()
	code, why := r.verdict(e)
	if code == exitDone && ferr != nil {
		code, why = exitUnreachable, ferr
	}
	if code >= exitInterrupted && r.a.json {
		_ = r.a.emit(event{Type: "stopped", Group: r.group.ID, Key: r.group.Key, Message: why.Error(), Resume: r.plan.resumeLine})
	}
	// A closed standard output does not change what became of the work.
	if r.a.json {
		_ = r.a.emit(r.group)
	} else if !r.a.quiet {
		r.summary(top)
	}
	switch {
	case code == exitDone:
		return nil
	case code >= exitInterrupted:
		return &exitError{code, fmt.Errorf("%w\nto go on: %s%s", why, r.mend(e), r.plan.resumeLine)}
	case ferr != nil:
		return &exitError{code, ferr}
	}
	return &exitError{code: code}
}

// verdict is the exit code and, for what can be resumed, the reason.
func (r *runner) verdict(e end) (int, error) {
	g := r.group
	switch {
	case g.State.Ended() && g.Failed+g.InDoubt+g.Cancelled > 0:
		return exitSomeFailed, nil
	case g.State.Ended():
		return exitDone, nil
	case e.stuck != nil:
		return exitUnreachable, fmt.Errorf("the ledger %s has taken no writes for %s: %w", r.plan.ledgerURL, brief(stuckAfter), e.stuck)
	case e.engine != nil:
		return exitUnreachable, e.engine
	case errors.Is(e.upload, spillway.CodeUnavailable), errors.Is(e.upload, spillway.CodeLedgerFull):
		return exitUnreachable, e.upload
	case e.upload != nil:
		return exitInterrupted, fmt.Errorf("%s: %w; %s", r.in.name, e.upload, before(g.Total))
	case g.State == spillway.Paused && g.PausedBy == "max_failures":
		return exitInterrupted, fmt.Errorf("paused: more than %s of the jobs failed (%s failed, %s done)", g.MaxFailures, count(g.Failed), count(g.Final()))
	case g.State == spillway.Paused:
		return exitInterrupted, fmt.Errorf("paused by %s", g.PausedBy)
	}
	return exitInterrupted, fmt.Errorf("interrupted: %s of %s so far done, nothing is lost", count(g.Final()), many(g.Total, "row"))
}

// before says that what was read stands.
func before(rows int64) string {
	if rows == 1 {
		return "the row before stands"
	}
	return fmt.Sprintf("the %s rows before stand", count(rows))
}

// atRow is how the errors of a broken structure begin.
var atRow = regexp.MustCompile(`^row [0-9]+\b`)

// mend is what to do before going on, or nothing.
func (r *runner) mend(e end) string {
	switch place := ""; {
	case errors.Is(e.upload, spillway.CodeInvalid):
		if place = atRow.FindString(e.upload.Error()); place != "" {
			place += " of "
		}
		return fmt.Sprintf("mend %s%s, then: ", place, r.in.name)
	case r.group.State == spillway.Paused && r.group.PausedBy == "max_failures":
		return "mend what makes the rows fail, or allow more of them, then: "
	}
	return ""
}

// readFailures counts failures by reason and writes the file of them.
func (r *runner) readFailures(ctx context.Context) ([]reasonCount, error) {
	g := r.group
	var reasons tally
	if g.Failed+g.Skipped+g.InDoubt > 0 {
		for job, err := range r.engine.Failures(ctx, g.ID, 0) {
			if err != nil {
				return reasons.top(5), err
			}
			reasons.add(job.Error, 1)
		}
	}
	if r.failures == nil {
		return reasons.top(5), nil
	}
	return reasons.top(5), r.failures.write(func() jobs { return r.engine.Failures(ctx, g.ID, 0) })
}

// summary says it for people.
func (r *runner) summary(top []reasonCount) {
	g := r.group
	took := time.Since(r.began)
	line := fmt.Sprintf("%s: %s", g.State, many(g.Total, "row"))
	if done := g.Final() - r.doneAt; done > 0 {
		line += fmt.Sprintf(" (%s in this run, %s, %s)", count(done), brief(took), perSecond(float64(done)/max(took.Seconds(), 0.001)))
	}
	_ = r.a.say("%s", line)
	for _, c := range counts(g) {
		if c.n > 0 || c.always {
			_ = r.a.say("  %-10s %12s", c.what, count(c.n))
		}
	}
	if len(g.Result) > 0 {
		_ = r.a.say("  %-10s %12s", "result", g.Result)
	}
	if len(top) == 0 {
		return
	}
	_ = r.a.say("most frequent reasons:")
	for _, t := range top {
		_ = r.a.say("  %s", shorten(t.String(), 150))
	}
	if path, err := ledgerPath(r.plan.ledgerURL); err == nil {
		_ = r.a.say("see them all: spillway groups failures %s --db %s", g.ID, shellWord(path))
	}
}

type groupCount struct {
	what   string
	n      int64
	always bool
}

// counts is what became of a group's rows.
func counts(g *bulk.Group) []groupCount {
	return []groupCount{
		{"succeeded", g.Succeeded, true},
		{"failed", g.Failed, true},
		{"skipped", g.Skipped, false},
		{"in doubt", g.InDoubt, false},
		{"cancelled", g.Cancelled, false},
		{"retrying", g.Retrying, false},
		{"in flight", g.InFlight, false},
		{"pending", g.Pending, false},
	}
}
