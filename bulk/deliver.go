package bulk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// deliver takes one lease through its life: verify, run, settle.
func (e *Engine) deliver(ctx context.Context, l queue.Lease) {
	defer e.leases.remove(l.ID)
	d, err := e.prepare(ctx, l)
	if err != nil {
		e.notDelivered(ctx, l, d, err)
		return
	}
	if len(d.batch.Jobs) == 0 {
		e.settler.end(context.WithoutCancel(ctx), d)
		return
	}
	// What was said is recorded, whatever ends meanwhile; the settler's own end
	// bounds it.
	record := context.WithoutCancel(ctx)
	start := time.Now()
	stopFlush := d.flushWhileRunning(record)
	results, err := e.call(ctx, d)
	stopFlush()
	e.metrics.delivery.observe(time.Since(start))
	if ctx.Err() != nil && err != nil {
		// Stopped hard: what was certified is kept. The rest has no outcome, and
		// the next start finds it so; a handler that ended well had the last word.
		d.add(results)
		d.flush(record)
		return
	}
	d.finish(results, err)
	e.observe(d, err)
	e.settler.end(record, d)
}

// prepare verifies a lease and reads its payloads. Beside an error it answers
// the delivery if the intent to run its jobs is recorded already.
func (e *Engine) prepare(ctx context.Context, l queue.Lease) (*delivery, error) {
	m, err := e.meta(ctx, l.Group)
	if err != nil {
		return nil, err
	}
	a, err := e.action(l.Action)
	if err != nil {
		return nil, err
	}
	once := m.spec.Delivery == spillway.AtMostOnce
	verdicts, err := e.ledger.Verify(ctx, time.Now(), []ledger.Check{{Group: l.Group, Jobs: l.Jobs, Intend: once}})
	if err != nil {
		return nil, err
	}
	v := verdicts[0]
	if !v.State.Runs() {
		return nil, &stateError{state: v.State}
	}
	d := newDelivery(e, l, m, a, v)
	var intended *delivery
	if once {
		intended = d
		// Jobs that someone else intended, without an outcome: uncertain.
		d.doubt(l.Jobs.Minus(v.Run).Minus(v.Final))
	}
	if len(v.Run) == 0 {
		d.refund = l.Charged
		return d, nil
	}
	payloads, err := e.ledger.Payload(ctx, []ledger.JobSet{{Group: l.Group, Jobs: v.Run}})
	if err != nil {
		return intended, err
	}
	if ctx.Err() != nil {
		return intended, context.Cause(ctx)
	}
	d.load(&payloads[0])
	e.refund(ctx, d, l.Charged-payloads[0].Cost(v.Run))
	return d, nil
}

// refund gives back what was charged above the true cost, before the work. If
// the queue does not answer, the rate loses that much.
func (e *Engine) refund(ctx context.Context, d *delivery, tokens int64) {
	if tokens <= 0 {
		return
	}
	if _, err := e.queue.Extend(ctx, time.Now(), []queue.Extension{{Ref: d.lease.Ref, Refund: tokens}}); err != nil {
		e.warn(ctx, "the queue does not answer; the unused part of a lease's cost is lost", err, "group", d.lease.Group)
		return
	}
	e.bell.ring()
}

// notDelivered ends a lease whose jobs did not reach a handler. Where their
// intent is recorded (d is not nil), the ledger has to know that they did not.
func (e *Engine) notDelivered(ctx context.Context, l queue.Lease, d *delivery, err error) {
	if d == nil {
		e.giveBack(ctx, l, err)
		return
	}
	e.warn(ctx, "a lease could not be delivered", err, "group", l.Group)
	d.unrun = true
	out := d.doubtful()
	for _, p := range d.byPlan(d.run) {
		p.NotBefore = time.Now()
		out = append(out, ledger.Outcome{Jobs: p.Jobs, Status: spillway.Throttled, Plan: p})
	}
	e.settler.send(context.WithoutCancel(ctx), d, out, true)
}

// stateError says that a group does not run, though the queue thought so.
type stateError struct{ state spillway.State }

func (s *stateError) Error() string { return fmt.Sprintf("the group is %q", string(s.state)) }

// giveBack returns a lease that cannot be delivered. Its jobs have no outcome
// and are ready again at once, unless the group was stopped meanwhile.
func (e *Engine) giveBack(ctx context.Context, l queue.Lease, err error) {
	if ctx.Err() != nil {
		return // the lease expires, or the queue ends with this process
	}
	ctx = context.WithoutCancel(ctx)
	end := queue.Settlement{Ref: l.Ref, Return: l.Jobs}
	var stopped *stateError
	if errors.As(err, &stopped) || errors.Is(err, spillway.CodeNotFound) {
		e.reindex(ctx, l.Group)
	} else {
		if repeatable(err) {
			e.noteLedger(err)
		} else {
			// Something of this group is damaged: it lets others go first.
			end.Return, end.Retries = nil, []queue.Retry{{Jobs: l.Jobs, NotBefore: time.Now().Add(damagedWait)}}
		}
		e.log.Warn("a lease could not be delivered", "group", l.Group, "err", err)
		sleep(ctx, 100*time.Millisecond)
	}
	if _, err := e.queue.Settle(ctx, time.Now(), []queue.Settlement{end}); err != nil {
		e.log.Warn("a lease could not be given back; it will expire", "group", l.Group, "err", err)
	}
	e.bell.ring()
	e.watch.check(l.Group)
}

// damagedWait is how long jobs wait that the ledger cannot read; less than
// queue.MaxEntryWait, since the ledger does not know that they wait.
const damagedWait = queue.MaxEntryWait / 2

// call runs the handler. A panic is the handler's error.
func (e *Engine) call(ctx context.Context, d *delivery) (results []spillway.Outcome, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e.leases.cancels(d.lease.ID, cancel)
	ctx, stop := context.WithTimeoutCause(ctx, d.action.Timeout, &Failure{
		Status: spillway.Retry, Reason: fmt.Sprintf("timed out after %v", d.action.Timeout),
	})
	defer stop()
	overdue := time.AfterFunc(d.action.Timeout+overdueAfter, func() {
		e.log.Error("a handler goes on after its time-out; it keeps its worker until it returns", "action", d.action.name, "group", d.lease.Group)
	})
	defer overdue.Stop()
	defer func() {
		if r := recover(); r != nil {
			e.log.Error("a handler panicked", "action", d.action.name, "group", d.lease.Group, "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("the handler panicked: %v", r)
		}
	}()
	results, err = d.action.handler(ctx, &d.batch)
	var f *Failure
	if cause := context.Cause(ctx); err != nil && errors.As(cause, &f) && !errors.As(err, new(*Failure)) {
		err = f // the time-out, rather than what it led to
	}
	return results, err
}

// overdueAfter is how long after its time-out a handler is complained about.
const overdueAfter = 5 * time.Second
