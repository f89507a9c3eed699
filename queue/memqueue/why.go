package memqueue

import (
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// why is the one reason why a group gets no lease now, in the order of the
// reasons' list, and when that ends by itself; 0 if it doesn't.
func (q *Queue) why(g *group) (queue.Reason, flow.Time) {
	for _, look := range []func(*group) (queue.Reason, flow.Time){
		q.whyStopped, q.whyIdle, q.whyBroken, q.whyFull, q.whyRate,
	} {
		if reason, until := look(g); reason != "" {
			if until == flow.Never {
				until = 0
			}
			return reason, until
		}
	}
	return "", 0
}

// whyStopped looks for a state of the group or of what it belongs to.
func (q *Queue) whyStopped(g *group) (queue.Reason, flow.Time) {
	switch {
	case g.gone:
		return queue.ReasonGone, 0
	case g.paused:
		return queue.ReasonPaused, 0
	case g.share().tenant.set.Paused:
		return queue.ReasonTenantPaused, 0
	case g.resource().stopped():
		return queue.ReasonResourcePaused, 0
	case g.notBefore > q.now && g.notBefore < g.expires:
		return queue.ReasonNotBefore, g.notBefore
	case g.expires <= q.now || g.notBefore >= g.expires:
		return queue.ReasonExpired, 0
	}
	return "", 0
}

// whyIdle looks for a lack of work.
func (q *Queue) whyIdle(g *group) (queue.Reason, flow.Time) {
	if g.next < g.total || g.dueEntry(q.now) >= 0 {
		return "", 0
	}
	at := g.entryDue()
	if g.parked.jobs > 0 {
		at = min(at, g.parked.due)
	}
	if at < flow.Never {
		return queue.ReasonBackoff, at
	}
	return queue.ReasonNoJobs, 0
}

// whyBroken looks for an open breaker.
func (q *Queue) whyBroken(g *group) (queue.Reason, flow.Time) {
	switch r := g.resource(); {
	case !r.set.Broken:
	case g.dueEntry(q.now) < 0 && !g.fresh():
		return queue.ReasonBroken, g.entryDue()
	case r.nextProbe > q.now:
		return queue.ReasonBroken, r.nextProbe
	}
	return "", 0
}

// whyFull looks for a bound of jobs in flight.
func (q *Queue) whyFull(g *group) (queue.Reason, flow.Time) {
	switch {
	case g.full():
		return queue.ReasonGroupConcurrency, 0
	case g.line.lane.action.full():
		return queue.ReasonActionConcurrency, 0
	case g.resource().full():
		return queue.ReasonResourceConcurrency, 0
	}
	return "", 0
}

// whyRate looks for a lack of tokens, and last for others who go first.
func (q *Queue) whyRate(g *group) (queue.Reason, flow.Time) {
	r := g.resource()
	jobs, _ := q.size(g, demand{})
	if own := g.own; own != nil {
		_, at := fit(&own.limiter, own.rate, q.now, jobs, g.cost)
		if at = max(at, own.until); at > q.now {
			return queue.ReasonGroupRate, at
		}
	}
	if _, at := r.limit.fit(q.now, jobs, g.cost); at > q.now {
		return queue.ReasonResourceRate, at
	}
	if _, at := r.fitParent(q.now, jobs, g.cost); at > q.now {
		return queue.ReasonParentRate, at
	}
	if q.pick(r, r.lanes, demand{}).group != g {
		return queue.ReasonShare, 0
	}
	return "", 0
}
