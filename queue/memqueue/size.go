package memqueue

import "math"

// leasesPerPeriod is how many leases a tenant's share of a period is divided
// into at least, so that a slow lease or a lost one costs a fifth of it.
const leasesPerPeriod = 5

// roundingWeights allows for sums of weights being inexact.
const roundingWeights = 1e-9

// size is how many jobs a lease of the group holds before its tokens are
// looked at, and the entry that they come from, or -1.
func (q *Queue) size(g *group, d demand) (jobs int64, entry int) {
	r, a := g.resource(), g.line.lane.action
	n := a.batch()
	if d.maxJobs > 0 {
		n = min(n, d.maxJobs)
	}
	entry = g.dueEntry(q.now)
	switch {
	case r.set.Broken || entry >= 0 && g.entries[entry].single:
		n = 1
	case entry >= 0:
		n = min(n, g.entries[entry].jobs.Len())
	case g.next < g.issued:
		n = min(n, g.freshRun().Len())
	default:
		n = min(n, g.chunkEnd()-g.next)
	}
	if g.concurrency > 0 {
		n = min(n, g.concurrency-g.running)
	}
	if r.set.Concurrency > 0 {
		n = min(n, r.set.Concurrency-r.running)
	}
	return max(1, min(n, g.part())), entry
}

// part is the jobs of a lease that the rates make sense of: a fifth of what a
// period grants the group's tenant, or the group itself. fitParent adds that a
// lease is within one block of the parent.
func (g *group) part() int64 {
	r, s := g.resource(), g.share()
	part := int64(math.MaxInt64)
	if rate := r.limit.rate; !unlimited(rate) {
		tokens := float64(rate.N)
		if r.weights > 0 {
			tokens *= s.tenant.weight() / r.weights
		}
		if g.line.order() == even {
			tokens /= float64(max(1, s.activeEven))
		}
		part = slice(tokens, g.cost)
	}
	if g.own != nil {
		part = min(part, slice(float64(g.own.rate.N), g.cost))
	}
	return part
}

// slice is a fifth of a period's tokens in jobs, at least one.
func slice(tokens float64, cost int64) int64 {
	return max(1, int64(tokens/leasesPerPeriod/float64(cost)+roundingWeights))
}

// tokens is what jobs of the group are charged on each bound.
func (g *group) tokens(jobs int64) (resource, own int64) {
	resource = charge(g.resource().limit.rate, jobs, g.cost)
	if g.own != nil {
		own = charge(g.own.rate, jobs, g.cost)
	}
	return resource, own
}
