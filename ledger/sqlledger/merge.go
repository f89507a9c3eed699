package sqlledger

import (
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// The rules of outcomes, for each job by itself:
//
//	                no outcome        in doubt          final
//	ok, failed,     becomes it        becomes it        stays
//	skipped
//	in doubt        becomes it        stays             stays
//	retry,          waits, if of the  stays             stays
//	throttled       current delivery
//
// So the first final outcome wins, and settling twice changes nothing.

// accept returns those of the jobs for which the outcome counts.
func (c *chunk) accept(o *ledger.Outcome) spillway.Spans {
	switch {
	case o.Status.Final():
		return o.Jobs.Minus(c.final())
	case o.Status == spillway.InDoubt:
		return o.Jobs.Minus(c.settled())
	}
	open := o.Jobs.Minus(c.settled())
	if len(c.plans) == 0 && o.Plan.Delivery == 1 {
		return open
	}
	var current spillway.Spans
	for _, p := range c.byDeliveries(open) {
		if p.delivery == o.Plan.Delivery {
			current = current.Union(p.jobs)
		}
	}
	return current
}

// merge applies an outcome to the jobs for which it counts. It returns them,
// and those of them that newly hold completion up no longer.
func (c *chunk) merge(now time.Time, o *ledger.Outcome) (accepted, finished spillway.Spans) {
	accepted = c.accept(o)
	if len(accepted) == 0 {
		return nil, nil
	}
	c.intent = c.intent.Minus(accepted)
	if again(o.Status) {
		c.setPlan(accepted, next(now, o))
		return accepted, nil
	}
	finished = accepted.Minus(c.doubt)
	c.doubt = c.doubt.Minus(accepted)
	c.rest(accepted)
	set := c.set(o.Status)
	*set = set.Union(accepted)
	return accepted, finished
}

// again reports whether an outcome asks for another delivery.
func again(s spillway.Status) bool { return s == spillway.Retry || s == spillway.Throttled }

// next is the delivery that a retry or throttled outcome asks for.
func next(now time.Time, o *ledger.Outcome) deliveries {
	at := o.Plan.NotBefore
	if at.IsZero() {
		at = now
	}
	return deliveries{
		attempt: o.Plan.Attempt, delivery: o.Plan.Delivery + 1, lost: o.Plan.Lost,
		due: due(at), retrying: o.Status == spillway.Retry,
	}
}

// set is the set of the jobs with a final outcome, or in doubt.
func (c *chunk) set(s spillway.Status) *spillway.Spans {
	switch s {
	case spillway.OK:
		return &c.ok
	case spillway.Failed:
		return &c.failed
	case spillway.Skipped:
		return &c.skipped
	}
	return &c.doubt
}

// report adds what an outcome changed to the answer.
func report(m *ledger.Merged, s spillway.Status, accepted, finished spillway.Spans) {
	m.Changed += accepted.Len()
	if again(s) {
		m.Planned = m.Planned.Union(accepted)
		return
	}
	m.Finished = m.Finished.Union(finished)
	n := finished.Len()
	switch s {
	case spillway.OK:
		m.Succeeded += n
	case spillway.Failed:
		m.Failed += n
	case spillway.Skipped:
		m.Skipped += n
	case spillway.InDoubt:
		m.InDoubt += n
	}
}
