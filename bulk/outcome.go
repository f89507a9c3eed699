package bulk

import (
	"errors"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/ledger"
)

func as[T error](err error, target *T) bool { return errors.As(err, target) }

// verdict is how jobs fare that fare alike; it is comparable.
type verdict struct {
	status            spillway.Status
	reason            string
	attempt, delivery int
	lost              int
	notBefore         time.Time
}

// outcomes turns what a handler said into what the ledger records: one entry
// for all jobs that fare alike, and one for each with a value.
func (d *delivery) outcomes(said []spillway.Outcome) []ledger.Outcome {
	now := time.Now()
	alike := make(map[verdict]spillway.Spans, 1)
	var out []ledger.Outcome
	for _, o := range said {
		v := d.judge(now, o, true)
		if o.Value != nil && v.status.Final() {
			out = append(out, v.outcome(spillway.One(o.Index, o.Index+1), o.Value))
			continue
		}
		alike[v] = insert(alike[v], o.Index)
	}
	for v, jobs := range alike {
		out = append(out, v.outcome(jobs, nil))
	}
	return out
}

// restOutcomes is the outcome of the jobs that nothing was said of.
func (d *delivery) restOutcomes() []ledger.Outcome {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.doubtful()
	left := d.run.Minus(d.mu.reported)
	if len(left) == 0 {
		return out
	}
	f := d.mu.rest
	if f == nil {
		return append(out, ledger.Outcome{Jobs: left, Status: spillway.OK})
	}
	now := time.Now()
	for _, p := range d.byPlan(left) {
		o := spillway.Outcome{Index: p.Jobs[0].From, Status: f.Status, Error: f.Reason, RetryAfter: f.RetryAfter}
		v := d.judgeAs(now, o, p, f.Certain, f.Down || (d.whole && d.lease.Probe))
		out = append(out, v.outcome(p.Jobs, nil))
	}
	return out
}

// doubtful is the outcome of the jobs that were uncertain from the start.
func (d *delivery) doubtful() []ledger.Outcome {
	if len(d.mu.doubts) == 0 {
		return nil
	}
	return []ledger.Outcome{{Jobs: d.mu.doubts, Status: spillway.InDoubt, Reason: "an earlier delivery left no answer"}}
}

// byPlan splits jobs by which delivery of them this is.
func (d *delivery) byPlan(jobs spillway.Spans) []ledger.Plan {
	var out []ledger.Plan
	for _, p := range d.plans {
		if mine := jobs.Intersect(p.Jobs); len(mine) > 0 {
			jobs = jobs.Minus(mine)
			p.Jobs = mine
			out = append(out, p)
		}
	}
	if len(jobs) > 0 {
		out = append(out, ledger.Plan{Jobs: jobs, Attempt: 1, Delivery: 1})
	}
	return out
}

// judge decides what a handler's word on one job means.
func (d *delivery) judge(now time.Time, o spillway.Outcome, certain bool) verdict {
	return d.judgeAs(now, o, d.plan(o.Index), certain, false)
}

// judgeAs decides what a word on jobs in the delivery p means. certain says
// that a retry or throttled one certifies that nothing took effect; free, that
// it uses no attempt.
func (d *delivery) judgeAs(now time.Time, o spillway.Outcome, p ledger.Plan, certain, free bool) verdict {
	v := verdict{status: o.Status, reason: clip(o.Error)}
	if o.Status.Final() {
		return v
	}
	if !certain && d.meta.spec.Delivery == spillway.AtMostOnce {
		v.status = spillway.InDoubt
		return v
	}
	v.attempt, v.delivery, v.lost = p.Attempt, p.Delivery, p.Lost
	wait := o.RetryAfter
	if o.Status == spillway.Retry && !free {
		if p.Attempt >= d.action.Attempts {
			return verdict{status: spillway.Failed, reason: v.reason}
		}
		v.attempt++
		wait = max(wait, d.backoff(o.Index, p.Attempt))
	}
	if free {
		v.status = spillway.Throttled
	}
	const grain = time.Millisecond
	v.notBefore = now.Add(min(max(wait, 0), maxRetryAfter) + grain - 1).Truncate(grain)
	return v
}

// maxRetryAfter bounds what a handler may ask for.
const maxRetryAfter = 7 * 24 * time.Hour

// backoff is the wait after an attempt: the same for all jobs of a chunk, so
// that what failed together stays together; the queue staggers them by rank.
func (d *delivery) backoff(index int64, attempt int) time.Duration {
	seed := xxh3.HashStringSeed(string(d.lease.Group), uint64(spillway.ChunkOf(index)))
	return flow.Backoff{Base: d.action.Backoff}.Wait(attempt, seed)
}

func (v verdict) outcome(jobs spillway.Spans, value []byte) ledger.Outcome {
	return ledger.Outcome{
		Jobs: jobs, Status: v.status, Reason: v.reason, Value: value,
		Plan: ledger.Plan{Attempt: v.attempt, Delivery: v.delivery, Lost: v.lost, NotBefore: v.notBefore},
	}
}

// clip bounds a reason, at a letter's edge.
func clip(s string) string {
	if len(s) > spillway.MaxReason {
		s = s[:spillway.MaxReason]
	}
	return strings.ToValidUTF8(s, "")
}
