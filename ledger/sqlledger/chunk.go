package sqlledger

import (
	"github.com/spillway/spillway"
)

// chunk is what is known of the outcomes of a group's chunk. A job is in at
// most one of ok, failed, skipped and doubt; jobs are numbers in the group.
type chunk struct {
	pos int64 // of its first job
	// intent: at-most-once jobs that were handed to a handler whose answer is
	// not known yet.
	intent                     spillway.Spans
	ok, failed, skipped, doubt spillway.Spans
	// bad are those of failed that no retry reopens: rows that could not be read.
	bad spillway.Spans
	// plans are jobs delivered, or to be delivered, more than once.
	plans []plan
	// merges is the number of rows of details.
	merges int64

	dirty bool
}

// plan is the deliveries of jobs that fared alike. Jobs in no plan were
// delivered at most once.
type plan struct {
	jobs spillway.Spans
	deliveries
}

// deliveries is the part of a plan that is the same for all its jobs.
type deliveries struct {
	// attempt, delivery and lost are those of the next delivery while the jobs
	// wait, and of the last one when they have an outcome.
	attempt, delivery, lost int
	// due is when the jobs may run, in microseconds; 0 for jobs that have an
	// outcome and wait no longer.
	due int64
	// retrying: they wait because they failed.
	retrying bool
}

// tally is the numbers of a chunk.
type tally struct {
	succeeded, failed, skipped, inDoubt, retrying, waiting, intents, bad int64
	due                                                                  int64 // the earliest; 0 is none
}

func (c *chunk) seq() int64   { return seqOf(c.pos) }
func (c *chunk) start() int64 { return indexOf(c.pos) }

func (c *chunk) tally() tally {
	t := tally{
		succeeded: c.ok.Len(), failed: c.failed.Len(), skipped: c.skipped.Len(),
		inDoubt: c.doubt.Len(), intents: c.intent.Len(), bad: c.bad.Len(),
	}
	for _, p := range c.plans {
		if p.due == 0 {
			continue
		}
		n := p.jobs.Len()
		t.waiting += n
		if p.retrying {
			t.retrying += n
		}
		if t.due == 0 || p.due < t.due {
			t.due = p.due
		}
	}
	return t
}

// final are the jobs with a final outcome.
func (c *chunk) final() spillway.Spans { return c.ok.Union(c.failed).Union(c.skipped) }

// settled are the jobs with any outcome, in doubt included.
func (c *chunk) settled() spillway.Spans { return c.final().Union(c.doubt) }

// waiting are the jobs to be delivered again.
func (c *chunk) waiting() spillway.Spans {
	var all spillway.Spans
	for _, p := range c.plans {
		if p.due != 0 {
			all = all.Union(p.jobs)
		}
	}
	return all
}

// touched is the end, relative to the chunk, of the jobs with an outcome,
// intent or plan; rows that were bad from the start don't count.
func (c *chunk) touched() int64 {
	var end int64
	last := func(s spillway.Spans) {
		if n := len(s); n > 0 {
			end = max(end, s[n-1].To-c.start())
		}
	}
	last(c.intent)
	last(c.ok)
	last(c.failed.Minus(c.bad))
	last(c.skipped)
	last(c.doubt)
	for _, p := range c.plans {
		last(p.jobs)
	}
	return end
}

// byDeliveries splits jobs by what their plans say; those in none are in
// their first delivery.
func (c *chunk) byDeliveries(jobs spillway.Spans) []plan {
	var out []plan
	for _, p := range c.plans {
		if both := jobs.Intersect(p.jobs); len(both) > 0 {
			out = append(out, plan{both, p.deliveries})
			jobs = jobs.Minus(both)
		}
	}
	if len(jobs) > 0 {
		out = append(out, plan{jobs, deliveries{attempt: 1, delivery: 1}})
	}
	return out
}

// setPlan moves jobs to new deliveries. First deliveries that have their
// outcome need no plan.
func (c *chunk) setPlan(jobs spillway.Spans, d deliveries) {
	if len(jobs) == 0 {
		return
	}
	kept := c.plans[:0:0]
	for _, p := range c.plans {
		if p.jobs = p.jobs.Minus(jobs); len(p.jobs) > 0 {
			kept = append(kept, p)
		}
	}
	c.plans = kept
	if d == (deliveries{attempt: 1, delivery: 1}) {
		return
	}
	for i := range c.plans {
		if c.plans[i].deliveries == d {
			c.plans[i].jobs = c.plans[i].jobs.Union(jobs)
			return
		}
	}
	c.plans = append(c.plans, plan{jobs, d})
}

// rest records that jobs wait no longer, and keeps how often they were
// delivered.
func (c *chunk) rest(jobs spillway.Spans) {
	if len(c.plans) == 0 {
		return
	}
	for _, p := range c.byDeliveries(jobs) {
		if p.due != 0 {
			p.due, p.retrying = 0, false
			c.setPlan(p.jobs, p.deliveries)
		}
	}
}

// reopen makes jobs that have an outcome into waiting ones, with their
// attempts counted anew.
func (c *chunk) reopen(jobs spillway.Spans, at int64, retrying bool) {
	c.failed, c.doubt, c.intent = c.failed.Minus(jobs), c.doubt.Minus(jobs), c.intent.Minus(jobs)
	for _, p := range c.byDeliveries(jobs) {
		c.setPlan(p.jobs, deliveries{attempt: 1, delivery: p.delivery + 1, due: at, retrying: retrying})
	}
	c.dirty = true
}
