package memqueue

import (
	"context"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// Stats implements queue.Queue. A group by name costs about a claim; all
// groups, or any resource, cost a pass over the groups.
func (q *Queue) Stats(_ context.Context, now time.Time, ask queue.Query) (queue.Stats, error) {
	if err := q.enter(now); err != nil {
		return queue.Stats{}, err
	}
	defer q.mu.Unlock()
	out := queue.Stats{
		Groups:    map[spillway.GroupID]queue.GroupStats{},
		Resources: map[spillway.ResourceName]queue.ResourceStats{},
	}
	if ask.AllGroups {
		for id, g := range q.groups {
			out.Groups[id] = q.groupStats(g)
		}
	}
	for _, id := range ask.Groups {
		if g := q.groups[id]; g != nil {
			s := q.groupStats(g)
			s.Ahead = g.ahead()
			out.Groups[id] = s
		}
	}
	q.resourceStats(ask, out.Resources)
	return out, nil
}

func (q *Queue) groupStats(g *group) queue.GroupStats {
	s := queue.GroupStats{
		Version: g.version, Next: g.next, InFlight: g.running, Leases: len(g.leases),
		Waiting: g.waiting(), Entries: len(g.entries), Parked: g.parked.jobs,
	}
	for _, l := range g.leases {
		if l.failed {
			s.Redelivered += l.Jobs.Len()
		}
	}
	var until flow.Time
	s.Blocked, until = q.why(g)
	if until > 0 {
		s.Until = when(until)
	}
	return s
}

// waiting is the jobs in entries.
func (g *group) waiting() int64 {
	var n int64
	for i := range g.entries {
		n += g.entries[i].jobs.Len()
	}
	return n
}

// ahead is how many ready groups of the tenant, of its own order, go first.
func (g *group) ahead() int {
	n := 0
	for _, l := range g.share().lines {
		if l.order() != g.line.order() {
			continue
		}
		for _, it := range l.first.items {
			if it.x != g && it.less(key{g.key, g.seq}) {
				n++
			}
		}
	}
	return n
}

// resourceStats fills in what is asked of resources, in one pass over groups.
func (q *Queue) resourceStats(ask queue.Query, out map[spillway.ResourceName]queue.ResourceStats) {
	names := ask.Resources
	if ask.AllResources {
		for name := range q.resources {
			names = append(names[:len(names):len(names)], name)
		}
	}
	for _, name := range names {
		if r := q.resources[name]; r != nil {
			out[name] = q.oneResource(r)
		}
	}
	if len(out) == 0 {
		return
	}
	for _, g := range q.groups {
		name := g.resource().set.Name
		if s, asked := out[name]; asked {
			s.Waiting += g.waiting() + g.parked.jobs
			s.Ready += g.runnable(q.now)
			out[name] = s
		}
	}
}

func (q *Queue) oneResource(r *resource) queue.ResourceStats {
	s := queue.ResourceStats{
		Groups: r.groups, InFlight: r.running, Leases: r.leases,
		Granted: r.granted, InPeriod: r.limit.spent(q.now), Tenants: r.tenants,
	}
	if !r.stopped() && !r.full() {
		s.Due = when(q.pick(r, r.lanes, demand{}).at)
	}
	return s
}

// runnable is the jobs that could run now, capacity apart.
func (g *group) runnable(now flow.Time) int64 {
	if g.gone || g.paused || g.share().tenant.set.Paused || g.expires <= now || g.notBefore > now {
		return 0
	}
	var n int64
	if g.fresh() {
		n = g.total - g.next
	}
	for i := range g.entries {
		if g.entries[i].due <= now {
			n += g.entries[i].jobs.Len()
		}
	}
	return n
}
