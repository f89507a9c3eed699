package bulk

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// Engine is the bulk engine. Its methods may be called concurrently, before
// Run and while it runs; work is done only while Run is.
type Engine struct {
	cfg    Config
	ledger ledger.Ledger
	queue  queue.Queue
	log    *slog.Logger

	actions   actions
	resources resources
	tenants   tenants
	metas     metas
	leases    leases
	breakers  breakers
	events    events
	metrics   metrics

	pool     pool
	settler  settler
	watch    watcher
	bell     bell // rings when the queue may have something new
	secret   []byte
	health   health
	feed     chan struct{} // wakes the dispatcher of due work
	callback chan struct{} // wakes the outbox
}

// New makes an engine, and loads what the ledger holds of settings.
func New(ctx context.Context, c Config) (*Engine, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	e := &Engine{cfg: c, ledger: c.Ledger, queue: c.Queue, log: c.Logger}
	e.feed, e.callback = make(chan struct{}, 1), make(chan struct{}, 1)
	e.actions.byName = map[spillway.ActionName]*action{}
	e.metas.byID = map[spillway.GroupID]*meta{}
	e.leases.byID = map[spillway.LeaseID]*held{}
	e.breakers.byName = map[spillway.ResourceName]*breaker{}
	e.events.init()
	e.pool.init(c.Workers)
	e.settler.init()
	e.watch.init()
	for _, load := range []func(context.Context) error{e.loadResources, e.loadTenants, e.loadSecret} {
		if err := load(ctx); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Run recovers the index from the ledger and works until ctx ends. Then it
// claims nothing more and waits for deliveries to end, for at most
// Config.Drain or until hard is closed, and cancels what still runs. Handlers
// that ignore that for five seconds are left behind. Nothing is lost either way. The answer is nil for a stop that was asked for.
func (e *Engine) Run(ctx context.Context, hard <-chan struct{}) error {
	// What delivers outlives ctx by the drain; what settles outlives that by
	// lastWords, so that what handlers said at the end is recorded.
	work, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	defer kill(nil)
	settling, stopSettling := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSettling()
	context.AfterFunc(work, func() { time.AfterFunc(lastWords, stopSettling) })
	if err := e.recover(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	e.health.recovered.Store(true)
	defer e.health.recovered.Store(false)

	var g errgroup.Group
	g.Go(func() error { return e.settler.run(settling, e) })
	g.Go(func() error { return e.extendLoop(work) })
	background, stop := context.WithCancel(ctx)
	defer stop()
	loops := []func(context.Context) error{
		e.dueLoop, e.reclaimLoop, e.watchLoop, e.outboxLoop,
		e.reconcileLoop, e.eventLoop, e.pruneLoop,
	}
	for range reducersAtOnce {
		loops = append(loops, e.reduceLoop)
	}
	for _, loop := range loops {
		g.Go(func() error { return loop(background) })
	}
	e.pool.start(work, e)
	err := e.claimLoop(ctx)
	e.drain(hard, kill)
	kill(errStopped)
	stopSettling()
	stop()
	return errors.Join(err, g.Wait())
}

// lastWords is how long outcomes are still recorded after handlers were cut
// off.
const lastWords = 5 * time.Second

// errStopped is the cause of contexts that end because the engine stops hard.
var errStopped = errors.New("the engine stopped")

// drain waits for the workers to end, and cuts them off when time is up.
func (e *Engine) drain(hard <-chan struct{}, kill context.CancelCauseFunc) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.pool.stop()
	}()
	wait := time.NewTimer(max(e.cfg.Drain, 0))
	defer wait.Stop()
	select {
	case <-done:
		return
	case <-hard:
	case <-wait.C:
	}
	kill(errStopped)
	wait.Reset(lastWords)
	select {
	case <-done:
	case <-wait.C:
		e.log.Error("work in hand did not end in time and is left behind; what was recorded is safe", "deliveries", e.pool.busy.Load())
	}
}

// Ready says why the engine does not work now, or nil if it does.
func (e *Engine) Ready() error {
	if !e.health.recovered.Load() {
		return spillway.Errorf(spillway.CodeUnavailable, "the engine has not recovered its index yet")
	}
	return e.health.ledgerErr()
}

// Busy is the number of deliveries under way.
func (e *Engine) Busy() int { return int(e.pool.busy.Load()) }

// health is what the engine knows of the stores it stands on.
type health struct {
	recovered atomic.Bool
	mu        struct {
		sync.Mutex
		err     error
		since   time.Time
		failing int // writes that are being repeated
	}
}

// ledgerErr is why the ledger does not take outcomes now, or nil.
func (h *health) ledgerErr() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.err
}

// noteLedger keeps the ledger's last answer to a write, and says it once.
func (e *Engine) noteLedger(err error) {
	e.health.mu.Lock()
	before := e.health.mu.err
	e.health.mu.err = err
	if before == nil && err != nil {
		e.health.mu.since = time.Now()
	}
	since := e.health.mu.since
	e.health.mu.Unlock()
	switch {
	case err != nil:
		e.metrics.ledgerErrors.Add(1)
		if before == nil {
			e.log.Error("the ledger does not answer; no new work is claimed until it does", "err", err)
			e.bell.ring() // the claimer probes it
		}
	case before != nil:
		e.log.Info("the ledger answers again", "after", time.Since(since).Round(time.Millisecond))
		e.bell.ring()
	}
}

// probe asks a ledger that failed whether it takes writes again, unless a write
// that is being repeated will tell.
func (e *Engine) probe(ctx context.Context) {
	e.health.mu.Lock()
	failing := e.health.mu.failing
	e.health.mu.Unlock()
	if failing > 0 {
		return
	}
	_, err := e.ledger.Settle(ctx, time.Now(), []ledger.Settlement{{}}) // of no group: changes nothing
	if ctx.Err() == nil {
		e.noteLedger(err)
	}
}

// repeats counts a write that is being repeated, or no longer.
func (h *health) repeats(n int) {
	h.mu.Lock()
	h.mu.failing += n
	h.mu.Unlock()
}

// repeatable reports whether a call that failed may be made again later.
func repeatable(err error) bool {
	return errors.Is(err, spillway.CodeUnavailable) || errors.Is(err, spillway.CodeLedgerFull)
}

// untilWritten repeats a write while the ledger does not take it, until ctx
// ends.
func (e *Engine) untilWritten(ctx context.Context, write func() error) error {
	repeats := false
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := write()
		if err == nil {
			e.noteLedger(nil)
			return nil
		}
		if !repeatable(err) {
			return err
		}
		if ctx.Err() != nil {
			return err
		}
		if !repeats {
			repeats = true
			e.health.repeats(1)
			defer e.health.repeats(-1)
		}
		e.noteLedger(err)
		if !sleep(ctx, wait) {
			return err
		}
	}
}

// every does something each d, and whenever wake is poked (nil never is), until
// ctx ends.
func every(ctx context.Context, d time.Duration, wake <-chan struct{}, do func()) error {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-wake:
		}
		do()
	}
}

// sleep waits; false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// poke wakes the reader of a channel of capacity one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
