package bulk

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// delivery is one lease being worked on: its jobs, and what became of them so
// far.
type delivery struct {
	e      *Engine
	lease  queue.Lease
	meta   *meta
	action *action
	run    spillway.Spans // the jobs to deliver
	plans  []ledger.Plan
	batch  Batch

	mu struct {
		sync.Mutex
		reported spillway.Spans     // jobs with an outcome, gathered or flushed
		fresh    []spillway.Outcome // reported, not handed to the ledger yet
		doubts   spillway.Spans     // uncertain from the start
		broken   string             // how the handler broke the protocol
		rest     *Failure           // how the jobs without an outcome fared; nil is OK
		closed   bool
	}
	whole  bool // the delivery failed as a whole
	unrun  bool // it never reached a handler
	refund int64

	// The settler's alone.
	finished int64
	heard    spillway.Spans // jobs whose outcome the ledger accepted
	retries  []queue.Retry  // accepted by the ledger
}

func newDelivery(e *Engine, l queue.Lease, m *meta, a *action, v ledger.Verdict) *delivery {
	d := &delivery{e: e, lease: l, meta: m, action: a, run: v.Run, plans: v.Plans}
	d.batch = Batch{Group: l.Group, Tenant: l.Tenant, Action: l.Action, Resource: l.Resource, Report: d.report}
	return d
}

// load makes the jobs from their payloads. A row that retention has deleted
// is null.
func (d *delivery) load(p *ledger.Payload) {
	d.batch.Jobs = make([]spillway.Job, 0, d.run.Len())
	for i := range d.run.All {
		data, cost, ok := p.At(i)
		if !ok {
			data, cost = []byte("null"), 1
		}
		d.batch.Jobs = append(d.batch.Jobs, spillway.Job{
			Index: i, Attempt: d.plan(i).Attempt, Key: spillway.IdempotencyKey(d.lease.Group, i), Cost: cost, Data: data,
		})
	}
}

// plan is which delivery of a job this is.
func (d *delivery) plan(index int64) ledger.Plan {
	for _, p := range d.plans {
		if p.Jobs.Has(index) {
			return p
		}
	}
	return ledger.Plan{Attempt: 1, Delivery: 1}
}

// report takes outcomes while the handler runs.
func (d *delivery) report(outcomes ...spillway.Outcome) { d.add(outcomes) }

// add takes outcomes, and keeps what is wrong with them.
func (d *delivery) add(outcomes []spillway.Outcome) {
	if len(outcomes) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.closed {
		return
	}
	for _, o := range outcomes {
		switch {
		case !d.run.Has(o.Index):
			d.brokenLocked("the handler answered for job %d, which it was not given", o.Index)
		case d.mu.reported.Has(o.Index):
			d.brokenLocked("the handler answered twice for job %d", o.Index)
		case o.Status > spillway.Throttled:
			d.brokenLocked("the handler answered for job %d with a status of no handler", o.Index)
		case len(o.Value) > MaxValue:
			d.brokenLocked("the handler's value for job %d has %d bytes, the limit is %d", o.Index, len(o.Value), MaxValue)
		case o.Value != nil && !json.Valid(o.Value):
			d.brokenLocked("the handler's value for job %d is not JSON", o.Index)
		default:
			d.mu.fresh = append(d.mu.fresh, o)
			d.mu.reported = insert(d.mu.reported, o.Index)
		}
	}
}

// insert adds a job to a set in place; outcomes mostly come in order.
func insert(s spillway.Spans, i int64) spillway.Spans {
	if n := len(s); n > 0 && s[n-1].To == i {
		s[n-1].To++
		return s
	} else if n == 0 || s[n-1].To < i {
		return append(s, spillway.Span{From: i, To: i + 1})
	}
	return s.Union(spillway.Of(i))
}

func (d *delivery) brokenLocked(format string, args ...any) {
	if d.mu.broken == "" {
		d.mu.broken = fmt.Sprintf(format, args...)
	}
}

// doubt marks jobs whose effect is not known, before the handler runs.
func (d *delivery) doubt(jobs spillway.Spans) { d.mu.doubts = jobs }

// finish takes the handler's last word.
func (d *delivery) finish(results []spillway.Outcome, err error) {
	d.add(results)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.rest = asFailure(err)
	if d.mu.broken != "" {
		d.e.log.Warn("a handler broke the protocol", "action", d.action.name, "group", d.lease.Group, "err", d.mu.broken)
		if d.mu.rest == nil {
			d.mu.rest = &Failure{Status: spillway.Retry, Reason: string(spillway.CodeHandler) + ": " + d.mu.broken}
		}
	}
	d.whole = err != nil && len(d.mu.reported) == 0
}

// asFailure is an error in detail; nil for nil.
func asFailure(err error) *Failure {
	if err == nil {
		return nil
	}
	var f *Failure
	switch {
	case !as(err, &f):
		return &Failure{Status: spillway.Retry, Reason: err.Error()}
	case f.Status != spillway.Failed && f.Status != spillway.Retry && f.Status != spillway.Throttled:
		g := *f // a failure that says nothing of the kind
		g.Status = spillway.Retry
		return &g
	}
	return f
}

// flushEvery is how often the reported outcomes of a running batch are
// recorded: what a crash can repeat of them.
const flushEvery = 40 * time.Millisecond

// flushWhileRunning records what is reported until the answer is called.
func (d *delivery) flushWhileRunning(ctx context.Context) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(flushEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				d.flush(ctx)
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

// flush records the outcomes reported since the last one.
func (d *delivery) flush(ctx context.Context) {
	d.mu.Lock()
	fresh := d.mu.fresh
	d.mu.fresh = nil
	d.mu.Unlock()
	if len(fresh) > 0 {
		d.e.settler.merge(ctx, d, d.outcomes(fresh))
	}
}
