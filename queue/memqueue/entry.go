package memqueue

import (
	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// entry is jobs of one chunk to be delivered again when due.
type entry struct {
	due      flow.Time
	jobs     spillway.Spans
	single   bool // each job is a lease of its own
	returned bool // never reached a handler: does not count towards MaxEntries
	failed   bool // the delivery before failed
}

func (e *entry) chunk() int64 { return spillway.ChunkOf(e.jobs[0].From) }

// dueEntry is the index of the earliest entry that is due, or -1.
func (g *group) dueEntry(now flow.Time) int {
	best := -1
	for i := range g.entries {
		if due := g.entries[i].due; due <= now && (best < 0 || due < g.entries[best].due) {
			best = i
		}
	}
	return best
}

// room is how many entries the group may still get.
func (g *group) room() int {
	n := queue.MaxEntries
	for i := range g.entries {
		if !g.entries[i].returned {
			n--
		}
	}
	return max(0, n)
}

// takeEntry removes the first n jobs of an entry.
func (g *group) takeEntry(i int, n int64) spillway.Spans {
	jobs, rest := g.entries[i].jobs.Take(n)
	if !g.entries[i].returned {
		g.resource().waiting -= jobs.Len()
	}
	g.entries[i].jobs = rest
	if len(rest) == 0 {
		last := len(g.entries) - 1
		g.entries[i] = g.entries[last]
		g.entries[last] = entry{}
		g.entries = g.entries[:last]
		if last == 0 {
			g.entries = nil
		}
	}
	return jobs
}

// dropEntries forgets all entries.
func (g *group) dropEntries() {
	for len(g.entries) > 0 {
		g.takeEntry(0, g.entries[0].jobs.Len())
	}
}

// giveBack makes returned jobs ready at once.
func (g *group) giveBack(now flow.Time, jobs spillway.Spans, l *lease) {
	if len(jobs) == 0 {
		return
	}
	e := entry{due: now, jobs: jobs, single: l.single, failed: l.failed, returned: true}
	for i := range g.entries {
		x := &g.entries[i]
		if x.returned && x.single == e.single && x.failed == e.failed && x.chunk() == e.chunk() {
			x.jobs = x.jobs.Union(jobs)
			return
		}
	}
	g.entries = append(g.entries, e)
}

// keep holds jobs of a retry until due as an entry, or parks them if there is
// no room or they are due too far ahead.
func (g *group) keep(now, due flow.Time, jobs spillway.Spans, x queue.Retry) {
	if len(jobs) == 0 {
		return
	}
	if due > now {
		due = roundUp(due)
	}
	e := entry{due: due, jobs: jobs, single: x.Single, failed: x.Failed}
	if due > now.Add(queue.MaxEntryWait) || !g.enter(e) {
		g.park(jobs.Len(), due)
		return
	}
	g.resource().waiting += jobs.Len()
}

// enter merges an entry into one of the same chunk and time or appends it, if
// there is room.
func (g *group) enter(e entry) bool {
	for i := range g.entries {
		x := &g.entries[i]
		same := x.due == e.due && x.single == e.single && x.failed == e.failed
		if !x.returned && same && x.chunk() == e.chunk() {
			x.jobs = x.jobs.Union(e.jobs)
			return true
		}
	}
	if g.room() == 0 {
		return false
	}
	g.entries = append(g.entries, e)
	return true
}

// park counts jobs whose delivery waits in the ledger.
func (g *group) park(jobs int64, due flow.Time) {
	g.parked.add(jobs, due)
	if g.feeding != nil && g.feeding.open {
		g.feeding.since.add(jobs, due)
	}
}

// roundUp rounds a time up to the grain of entries.
func roundUp(t flow.Time) flow.Time {
	grain := flow.Time(0).Add(queue.EntryGrain)
	if t > flow.Never-grain {
		return flow.Never
	}
	return (t + grain - 1) / grain * grain
}
