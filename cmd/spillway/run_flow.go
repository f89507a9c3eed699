package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
)

const (
	pollEvery = 100 * time.Millisecond
	// stuckAfter is how long a run goes on without progress while the ledger
	// takes no writes.
	stuckAfter = time.Minute
	// uploadEnds is how long an upload that was cancelled is waited for.
	uploadEnds = 5 * time.Second
)

// Rows are short-lived garbage; without a bound the heap would grow to twice
// what lives between two collections. The limit is soft.
const softMemory = 128 << 20

// runner is a run under way.
type runner struct {
	a        *app
	cmd      *runCmd
	plan     *plan
	in       *input
	rows     *ahead
	engine   *bulk.Engine
	rep      reporter
	stops    *stops
	reasons  tally
	failures *failuresFile

	group    *bulk.Group
	existing bool
	began    time.Time
	doneAt   int64         // jobs that were done when this run began
	verified chan struct{} // closed when earlier rows have been compared
}

// Run does the work. Nothing is opened before the flags and the first rows
// are known to be right.
func (c *runCmd) Run(a *app) error {
	p, err := c.plan(a)
	if err != nil {
		return err
	}
	in, err := c.source(a)
	if err != nil {
		return err
	}
	defer in.Close()
	boundMemory()
	r := &runner{a: a, cmd: c, plan: p, in: in, rep: quietReporter{}, verified: make(chan struct{})}
	r.stops = catchStops(a.ctx)
	defer r.stops.release()
	if r.rows, err = readAhead(in, r.stops.soft.Done()); err != nil {
		var exit *exitError
		if errors.As(err, &exit) {
			return err
		}
		return usagef("%s: %w", in.name, err)
	}
	if c.Failures != "" {
		if r.failures, err = newFailuresFile(c.Failures); err != nil {
			return usagef("--failures: %w", err)
		}
		defer r.failures.discard()
	}
	handler, release, err := newHandler(c.Exec, c.Post, c.Secret)
	if err != nil {
		return usagef("%w", err)
	}
	defer release()
	return r.run(handler)
}

func boundMemory() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(50)
		debug.SetMemoryLimit(softMemory)
	}
}

// run opens the stores, works, and says what became of it.
func (r *runner) run(h bulk.Handler) error {
	ctx := context.WithoutCancel(r.a.ctx)
	l, err := r.a.openLedger(ctx, r.plan.ledgerURL)
	if err != nil {
		return err
	}
	defer r.a.closeLedger(l)
	q, err := openQueue(ctx, r.plan.queueURL, l)
	if err != nil {
		return err
	}
	drain := r.cmd.Drain
	if drain == 0 {
		drain = -1
	}
	r.engine, err = bulk.New(ctx, bulk.Config{Ledger: l, Queue: q, Workers: r.plan.workers, AllWorkers: true, Drain: drain, Logger: r.a.log})
	if err != nil {
		return err
	}
	if err := r.engine.Handle(r.plan.submission.Action, r.plan.action, r.tallied(h)); err != nil {
		return err
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	end := r.work(ctx)
	return r.finish(ctx, end)
}

// open makes the group, or takes up the one of the key.
func (r *runner) open(ctx context.Context) (err error) {
	s := r.plan.submission
	r.group, r.existing, err = r.engine.Open(ctx, s)
	if err != nil {
		return err
	}
	r.began, r.doneAt = time.Now(), r.group.Final()
	return nil
}

// announce begins the display and takes up the flags: once the file has been
// compared, so that a refusal is one plain line and changes nothing.
func (r *runner) announce(ctx context.Context) error {
	g, s := r.group, r.plan.submission
	r.rep = r.a.newReporter()
	started := event{Type: "started", Group: g.ID, Key: s.Key, Resume: r.plan.resumeLine, Message: fmt.Sprintf("group %s, key %s", g.ID, s.Key)}
	switch {
	case r.existing && g.State.Ended():
		started.Message += fmt.Sprintf(": was %s at %s; nothing is left to do", g.State, when(g.FinishedAt))
	case r.existing:
		started.Message += fmt.Sprintf(": goes on, %s of %s so far done", count(g.Final()), many(g.Total, "row"))
	case r.plan.keyMade:
		started.Message += " (give --key " + s.Key + " to go on with it)"
	}
	r.rep.note(started)
	if r.existing && !g.State.Ended() {
		return r.adjust(ctx)
	}
	return nil
}

// adjust gives a known group the bounds that the flags name now, and says which
// flags cannot count any more. A flag that is left out leaves what the group has.
func (r *runner) adjust(ctx context.Context) error {
	g, s := r.group, r.plan.submission
	var to bulk.Bounds
	note := func(kind, flag, text, now, group string) {
		r.rep.note(event{Type: kind, Group: g.ID, Message: fmt.Sprintf("%s: %s %q, not %q", flag, text, now, group)})
	}
	if now := s.Rate.String(); now != "" && now != g.Rate {
		to.Rate = &s.Rate
		note("adjusted", "--rate", "is now", now, g.Rate)
	}
	if now := s.MaxFailures; now != "" && now != g.MaxFailures {
		to.MaxFailures = &s.MaxFailures
		note("adjusted", "--max-failures", "is now", now, g.MaxFailures)
	}
	if now := string(r.plan.action.Delivery); now != string(g.Delivery) {
		note("warning", "--delivery", "the group keeps what it began with:", string(g.Delivery), now)
	}
	if to == (bulk.Bounds{}) {
		return nil
	}
	g, err := r.engine.Adjust(ctx, g.ID, to)
	if err == nil {
		r.group = g
	}
	return err
}

// end is why a run ended.
type end struct {
	upload error // the rest of the file could not be read
	engine error // the engine gave up
	stuck  error // the ledger takes no writes
}

// work runs the engine beside the upload until the group ends, pauses, or
// something stops it.
func (r *runner) work(ctx context.Context) end {
	if r.group.State == spillway.Cancelled {
		return end{engine: r.announce(ctx)}
	}
	running, stop := context.WithCancel(r.stops.soft)
	defer stop()
	uploaded := make(chan error, 1)
	go func(g *bulk.Group) { uploaded <- r.upload(running, g) }(r.group)
	engine := make(chan error, 1)
	var e end
	select {
	case <-r.verified:
	case e.upload = <-uploaded:
		uploaded = nil
	case <-running.Done():
	}
	if refused(e.upload) {
		return e
	}
	e.engine = r.announce(ctx)
	if e.engine != nil || running.Err() != nil || r.group.State.Ended() {
		return e
	}
	if r.group.State == spillway.Paused {
		if _, err := r.engine.Resume(ctx, r.group.ID); err != nil {
			return end{engine: err}
		}
		r.rep.note(event{Type: "resumed", Group: r.group.ID, Message: "resumed: it had been paused by " + r.group.PausedBy})
	}
	go func() { engine <- r.engine.Run(running, r.stops.hard) }()
	r.watch(ctx, &e, &uploaded, engine)
	stop()
	if uploaded != nil {
		select {
		case err := <-uploaded:
			r.uploadEnded(&e, err)
		case <-time.After(uploadEnds):
		}
	}
	return e
}

// refused reports whether the file is not the one that the group was begun
// with: nothing may run.
func refused(err error) bool { return errors.Is(err, spillway.CodeSourceChanged) }

// upload streams the file into the group and seals it.
func (r *runner) upload(ctx context.Context, g *bulk.Group) error {
	var once sync.Once
	left := g.Total
	if g.Sealed {
		left = -1 // that there are no more rows belongs to the comparison
	}
	src := &passing{Source: untilDone{ctx, r.rows}, left: left, passed: func() { once.Do(func() { close(r.verified) }) }}
	if !r.existing {
		src.passed()
	}
	_, err := r.engine.AppendFromStart(ctx, g.ID, src)
	switch {
	case errors.Is(err, spillway.CodeSealed):
		// The earlier rows are the same; there must be no others.
		if _, err := src.Source.Next(); !errors.Is(err, io.EOF) {
			return spillway.Errorf(spillway.CodeSourceChanged, "the source has changed: it has more than the %s read from it before", many(g.Total, "row"))
		}
		src.passed()
		return nil
	case err != nil:
		return err
	}
	src.passed()
	_, err = r.engine.Seal(ctx, g.ID)
	return err
}

// untilDone is a source that ends with its context.
type untilDone struct {
	ctx context.Context
	bulk.Source
}

func (u untilDone) Next() (bulk.Row, error) {
	if err := u.ctx.Err(); err != nil {
		return bulk.Row{}, err
	}
	return u.Source.Next()
}
