// Package bulktest runs a real engine in a test: memory queue, SQLite ledger
// in a temporary folder, stopped and checked at the end of the test. It works
// inside a testing/synctest bubble, where hours of backoff pass in
// milliseconds.
package bulktest

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/ledger/sqlledger"
	"github.com/spillway/spillway/queue"
	"github.com/spillway/spillway/queue/memqueue"
)

// Bench is an engine under test. Its stores can be stopped and started again,
// as a process would be.
type Bench struct {
	*bulk.Engine
	Ledger *sqlledger.Ledger
	Queue  *memqueue.Queue

	t          testing.TB
	path       string
	config     bulk.Config
	wrap       Wrap
	actions    map[spillway.ActionName]registered
	stop, kill func()
}

type registered struct {
	action  bulk.Action
	handler bulk.Handler
}

// New makes an engine that is not running yet: register actions, then Start.
// Ledger and Queue of the config are filled in.
func New(t testing.TB, c bulk.Config) *Bench {
	t.Helper()
	return NewWrapped(t, c, func(l ledger.Ledger, q queue.Queue) (ledger.Ledger, queue.Queue) { return l, q })
}

// Wrap decorates the stores that an engine is given, after a Restart too.
type Wrap func(ledger.Ledger, queue.Queue) (ledger.Ledger, queue.Queue)

// NewWrapped is New with stores that fail as a test wants.
func NewWrapped(t testing.TB, c bulk.Config, wrap Wrap) *Bench {
	t.Helper()
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	b := &Bench{t: t, config: c, wrap: wrap, path: filepath.Join(t.TempDir(), "ledger.db"), actions: map[spillway.ActionName]registered{}}
	b.open(true)
	t.Cleanup(b.Close)
	return b
}

// testWriter sends logs to the test.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(string(p[:len(p)-1]))
	return len(p), nil
}

func (b *Bench) open(fresh bool) {
	b.t.Helper()
	var err error
	b.Ledger, err = sqlledger.OpenSQLite(context.Background(), b.path, sqlledger.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	b.Queue = memqueue.New(memqueue.Options{Epoch: time.Now(), Fresh: fresh})
	c := b.config
	c.Ledger, c.Queue = b.wrap(b.Ledger, b.Queue)
	if b.Engine, err = bulk.New(context.Background(), c); err != nil {
		b.t.Fatal(err)
	}
	for name, r := range b.actions {
		if err := b.Engine.Handle(name, r.action, r.handler); err != nil {
			b.t.Fatal(err)
		}
	}
}

// Handle registers an action, for this engine and those after a Restart.
func (b *Bench) Handle(name spillway.ActionName, a bulk.Action, h bulk.Handler) {
	b.t.Helper()
	b.actions[name] = registered{a, h}
	if err := b.Engine.Handle(name, a, h); err != nil {
		b.t.Fatal(err)
	}
}

// Start runs the engine until Stop, Kill or the end of the test.
func (b *Bench) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	hard, done := make(chan struct{}), make(chan error, 1)
	e := b.Engine
	go func() { done <- e.Run(ctx, hard) }()
	stopped := false
	end := func(now bool) {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if now {
			close(hard)
		}
		if err := <-done; err != nil {
			b.t.Errorf("Run: %v", err)
		}
	}
	b.stop = func() { end(false) }
	b.kill = func() { end(true) }
	for e.Ready() != nil {
		select {
		case err := <-done:
			stopped = true
			b.t.Fatalf("Run ended at once: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
}

// Stop drains the engine.
func (b *Bench) Stop() {
	if b.stop != nil {
		b.stop()
	}
}

// Restart stops the engine at once, throws the queue away and starts a new one
// on the same ledger, as after a crash of the process.
func (b *Bench) Restart() {
	b.t.Helper()
	b.Close()
	b.open(false)
	b.Start()
}

// Close stops the engine at once and closes its stores.
func (b *Bench) Close() {
	if b.kill != nil {
		b.kill()
		b.stop, b.kill = nil, nil
	}
	if err := b.Queue.Close(); err != nil {
		b.t.Errorf("closing the queue: %v", err)
	}
	if err := b.Ledger.Close(); err != nil {
		b.t.Errorf("closing the ledger: %v", err)
	}
}

// Wait waits for a group to end and returns it. It gives up after a minute of
// the clock in use.
func (b *Bench) Wait(id spillway.GroupID) *bulk.Group {
	b.t.Helper()
	return b.Until(id, func(g *bulk.Group) bool { return g.State.Ended() && g.FinishedAt != nil })
}

// Until waits for a group to be as wanted, checking at every look that its
// counts add up.
func (b *Bench) Until(id spillway.GroupID, ok func(*bulk.Group) bool) *bulk.Group {
	b.t.Helper()
	var g *bulk.Group
	for range 12_000 {
		var err error
		if g, err = b.Group(context.Background(), id); err != nil {
			b.t.Fatal(err)
		}
		Sum(b.t, g)
		if ok(g) {
			return g
		}
		time.Sleep(5 * time.Millisecond)
	}
	why, _ := b.Why(context.Background(), id)
	b.t.Fatalf("group did not get there: %+v\nwhy: %+v", g, why)
	return nil
}

// Sum checks that a group's counts add up.
func Sum(t testing.TB, g *bulk.Group) {
	t.Helper()
	sum := g.Succeeded + g.Failed + g.Skipped + g.Cancelled + g.Retrying + g.InFlight + g.Pending + g.InDoubt
	if sum != g.Total {
		t.Fatalf("counts do not add up: %d of %d: %+v", sum, g.Total, g)
	}
}

// Numbers is a source of n rows {"i":0}, {"i":1}, ….
func Numbers(n int) bulk.Source { return &numbers{n: n} }

type numbers struct {
	i, n int
	buf  []byte
}

func (s *numbers) Next() (bulk.Row, error) {
	if s.i == s.n {
		return bulk.Row{}, io.EOF
	}
	s.buf = append(strconv.AppendInt(append(s.buf[:0], `{"i":`...), int64(s.i), 10), '}')
	s.i++
	return bulk.Row{Data: s.buf}, nil
}

// Submit submits a group and fails the test if that fails.
func (b *Bench) Submit(s bulk.Submission, src bulk.Source) *bulk.Group {
	b.t.Helper()
	g, _, err := b.Engine.Submit(context.Background(), s, src)
	if err != nil {
		b.t.Fatal(err)
	}
	return g
}
