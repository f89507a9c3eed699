package memqueue

import (
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
)

// probeEvery is the time between the probes of a broken resource.
const probeEvery = time.Second

// demand is what a claim asks of a resource.
type demand struct {
	tenant  spillway.TenantID // "" is all
	maxJobs int64             // 0 is unbounded
	// workers is how many leases the instance may hold; 0 is unbounded.
	workers  int
	instance string
}

// pick is what a resource grants next, and when.
type pick struct {
	at    flow.Time
	lane  *lane
	group *group // nil: at is when a group becomes ready
	entry int    // index of the retry entry, or -1 for fresh jobs
	jobs  int64
	// gated: only the parent's next block decides when.
	gated bool
}

// pick decides what the lanes of a resource grant next. Whoever goes first
// waits for its own tokens at the head of the line: what it needs is not handed
// to others meanwhile. A group that waits for its own rate steps aside.
func (q *Queue) pick(r *resource, lanes []*lane, d demand) pick {
	for _, l := range lanes {
		q.wakeUp(l)
	}
	lanes = open(lanes)
	for {
		g := r.choose(lanes, d)
		if g == nil {
			break
		}
		if g.expires <= q.now || q.stepAside(g, d) {
			q.place(g)
			continue
		}
		return q.offer(r, lanes, g, d)
	}
	at, lane := timer(lanes)
	return pick{at: max(at, r.probeAt()), lane: lane}
}

// probeAt is when a broken resource may grant.
func (r *resource) probeAt() flow.Time {
	if r.set.Broken {
		return r.nextProbe
	}
	return 0
}

// offer is what the group that goes first is granted, and when.
func (q *Queue) offer(r *resource, lanes []*lane, g *group, d demand) pick {
	jobs, entry := q.size(g, d)
	cost := g.cost
	if g.own != nil {
		jobs, _ = fit(&g.own.limiter, g.own.rate, q.now, jobs, cost)
	}
	jobs, parent := r.fitParent(q.now, jobs, cost)
	jobs, at := r.limit.fit(q.now, jobs, cost)
	at = max(at, r.probeAt())
	p := pick{at: max(at, parent), lane: g.line.lane, group: g, entry: entry, jobs: jobs}
	p.gated = at <= q.now && r.needsBlock(q.now)
	if p.at > q.now {
		p.at = max(min(p.at, q.sooner(g, lanes)), r.probeAt())
	}
	return p
}

// sooner is when, by time alone, the choice may become another one.
func (q *Queue) sooner(g *group, lanes []*lane) flow.Time {
	at, _ := timer(lanes)
	at = min(at, g.expires)
	for i := range g.entries {
		if due := g.entries[i].due; due > q.now {
			at = min(at, due)
		}
	}
	return at
}

// wakeUp makes the groups ready whose time has come.
func (q *Queue) wakeUp(l *lane) {
	for g := l.timers.top(); g != nil && g.wakeAt <= q.now; g = l.timers.top() {
		q.place(g)
	}
}

// timer is when the next group of the lanes becomes ready by itself.
func timer(lanes []*lane) (at flow.Time, lane *lane) {
	at = flow.Never
	for _, l := range lanes {
		if g := l.timers.top(); g != nil && g.wakeAt < at {
			at, lane = g.wakeAt, l
		}
	}
	return at, lane
}

// open is the lanes whose action is not full; all of them if every one is.
func open(lanes []*lane) []*lane {
	full := 0
	for _, l := range lanes {
		if l.action.full() {
			full++
		}
	}
	if full == 0 || full == len(lanes) {
		return lanes
	}
	some := make([]*lane, 0, len(lanes)-full)
	for _, l := range lanes {
		if !l.action.full() {
			some = append(some, l)
		}
	}
	return some
}

// stepAside says that the group has to wait for its own rate, until own.until.
func (q *Queue) stepAside(g *group, d demand) bool {
	if g.own == nil {
		return false
	}
	jobs, _ := q.size(g, d)
	_, at := fit(&g.own.limiter, g.own.rate, q.now, jobs, g.cost)
	g.own.until = at
	return at > q.now
}

// choose is the group that goes first, or nil if none is ready.
func (r *resource) choose(lanes []*lane, d demand) *group {
	if r.set.Broken {
		if g := r.soundest(lanes, d); g != nil {
			return g
		}
	}
	s := r.firstShare(lanes, d)
	if s == nil {
		return nil
	}
	return s.choose(lanes)
}

// soundest is the group to probe a broken resource with, if one is left whose
// last delivery did not fail whole.
func (r *resource) soundest(lanes []*lane, d demand) *group {
	var best *group
	var least key
	for _, l := range lanes {
		for _, it := range l.sound.items {
			if d.tenant != "" && it.x.share().tenant.set.ID != d.tenant {
				continue
			}
			if best == nil || it.less(least) {
				best, least = it.x, it.key
			}
			if d.tenant == "" {
				break // the first is the least
			}
		}
	}
	return best
}

// firstShare is the tenant that was served least by weight, among those that
// have less than their part of the workers.
func (r *resource) firstShare(lanes []*lane, d demand) *share {
	if d.tenant != "" {
		s := r.shares[d.tenant]
		if s == nil || !s.waitsIn(lanes) {
			return nil
		}
		return s
	}
	if d.workers > 0 && r.scarce(d.instance, d.workers) {
		c := crew{resource: r, instance: d.instance, workers: d.workers, full: r.search[:0]}
		first := c.choose(lanes)
		clear(c.full)
		r.search = c.full
		return first
	}
	var best *line
	var least key
	for _, l := range lanes {
		if l.lines.len() > 0 && (best == nil || l.lines.next().less(least)) {
			best, least = l.lines.top(), l.lines.next()
		}
	}
	if best == nil {
		return nil
	}
	return best.share
}

func (s *share) waitsIn(lanes []*lane) bool { return s.firstLine(lanes) != nil }

// ready says that the line has ready groups and is of one of the lanes.
func (l *line) ready(lanes []*lane) bool {
	if l.first.len() == 0 {
		return false
	}
	for _, x := range lanes {
		if x == l.lane {
			return true
		}
	}
	return false
}

// choose is the group of a tenant that goes first: by order, of which the one
// served least has its turn, and within it by key, or by age every so often.
func (s *share) choose(lanes []*lane) *group {
	var best, oldest *group
	for _, l := range s.lines {
		if !l.ready(lanes) {
			continue
		}
		g := l.first.top()
		switch o, b := l.order(), orderOf(best); {
		case best == nil || o != b && s.goesFirst(o):
			best, oldest = g, l.oldest.top()
		case o == b:
			if g.key < best.key || g.key == best.key && g.seq < best.seq {
				best = g
			}
			if x := l.oldest.top(); x != nil && older(x, oldest) {
				oldest = x
			}
		}
	}
	if orderOf(best) == shortest && s.turns%flow.OldestEvery == flow.OldestEvery-1 {
		return oldest
	}
	return best
}

func orderOf(g *group) int {
	if g == nil {
		return -1
	}
	return g.line.order()
}

// goesFirst says that an order was served less than the other one.
func (s *share) goesFirst(order int) bool {
	other := 1 - order
	if s.orders[order].v != s.orders[other].v {
		return s.orders[order].v < s.orders[other].v
	}
	return order == shortest
}
