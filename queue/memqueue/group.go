package memqueue

import (
	"slices"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
)

// group is all that the queue holds of a group.
type group struct {
	id      spillway.GroupID
	seq     int64 // by arrival
	version int64
	line    *line

	total    int64
	next     int64 // first job not handed out
	issued   int64 // where next has been at most; it differs after a restatement
	finished int64

	submitted flow.Time
	priority  time.Duration
	// key orders the group within its line, least first: minus the score, or
	// the virtual time.
	key float64

	own         *ownRate // nil without a rate of its own
	concurrency int64
	cost        int64     // the highest of a job
	notBefore   flow.Time // 0 is unbounded
	expires     flow.Time // Never is unbounded

	parked  backlog
	feeding *feeding // nil until first promoted
	entries []entry
	leases  []*lease
	running int64 // jobs in leases

	wakeAt flow.Time // key in lane.timers
	needAt flow.Time // key in Queue.needs

	inFirst, inOldest, inTimers, inSound, inNeeds int32

	sealed, paused, gone bool
	whole                bool // the last delivery failed as a whole
	active               bool // counted among its share's active groups
}

// backlog is work that waits in the ledger.
type backlog struct {
	jobs int64
	due  flow.Time // of the earliest; meaningless without jobs
}

// add counts further work.
func (b *backlog) add(jobs int64, due flow.Time) {
	if jobs <= 0 {
		return
	}
	if b.jobs == 0 || due < b.due {
		b.due = due
	}
	b.jobs += jobs
}

// ownRate is a group's own bound.
type ownRate struct {
	rate    flow.Rate
	limiter flow.Sliding
	// until is when the capacity that the group waits for is there. What it
	// waits for was fixed when it began to wait.
	until flow.Time
}

func (g *group) resource() *resource { return g.line.lane.resource }
func (g *group) share() *share       { return g.line.share }

// score is the key among a tenant's shortest-first groups.
func (g *group) score() float64 {
	return -flow.Priority{
		Submitted: g.submitted,
		Config:    g.priority,
		Remaining: g.total - g.finished,
		Sealed:    g.sealed,
	}.Score()
}

// full says that the group's own concurrency is used up.
func (g *group) full() bool { return g.concurrency > 0 && g.running >= g.concurrency }

// fresh says that jobs never handed out may be.
func (g *group) fresh() bool {
	if g.next >= g.total {
		return false
	}
	r := g.resource()
	return !r.set.Broken || g.parked.jobs <= r.maxParked()
}

// readyAt is when the group can be handed out as far as it depends on itself
// and its tenant: now, later, or Never if only a change helps.
func (g *group) readyAt(now flow.Time) flow.Time {
	if g.gone || g.paused || g.share().tenant.set.Paused || g.expires <= now || g.full() {
		return flow.Never
	}
	at := now
	if !g.fresh() {
		at = g.entryDue()
	}
	at = max(at, now, g.notBefore)
	if g.own != nil {
		at = max(at, g.own.until)
	}
	if at >= g.expires {
		return flow.Never
	}
	return at
}

// entryDue is when the earliest entry is due; Never without entries.
func (g *group) entryDue() flow.Time {
	at := flow.Never
	for i := range g.entries {
		at = min(at, g.entries[i].due)
	}
	return at
}

// skipHeld moves next over jobs that are held already, which it can meet only
// after a restatement.
func (g *group) skipHeld() {
	for g.next < g.issued {
		end := g.chunkEnd()
		free := spillway.One(g.next, end).Minus(g.held(spillway.ChunkOf(g.next)))
		if len(free) > 0 {
			g.next = free[0].From
			return
		}
		g.next = end
	}
}

// chunkEnd is where the fresh jobs of the chunk at next end.
func (g *group) chunkEnd() int64 {
	return min(g.total, (spillway.ChunkOf(g.next)+1)*spillway.ChunkSize)
}

// freshRun is the fresh jobs at next that one lease may hold.
func (g *group) freshRun() spillway.Spans {
	run := spillway.One(g.next, g.chunkEnd())
	if g.next < g.issued {
		run = run.Minus(g.held(spillway.ChunkOf(g.next)))[:1]
	}
	return run
}

// held is the jobs of a chunk that are in an entry or a lease.
func (g *group) held(chunk int64) spillway.Spans {
	var held spillway.Spans
	for i := range g.entries {
		if g.entries[i].chunk() == chunk {
			held = held.Union(g.entries[i].jobs)
		}
	}
	for _, l := range g.leases {
		if spillway.ChunkOf(l.Jobs[0].From) == chunk {
			held = held.Union(l.Jobs)
		}
	}
	return held
}

func (g *group) dropLease(l *lease) {
	i := slices.Index(g.leases, l)
	last := len(g.leases) - 1
	g.leases[i] = g.leases[last]
	g.leases[last] = nil
	g.leases = g.leases[:last]
	g.running -= l.Jobs.Len()
	if last == 0 {
		g.leases = nil
	}
}

// The orders of groups.
type (
	byKey  struct{} // within a line: least key
	byAge  struct{} // within a line: oldest
	byWake struct{} // within a lane: when it becomes ready
	byRest struct{} // within a lane: fewest leases out, then by arrival
	byNeed struct{} // when it needs its engine
)

// older goes by submission; what was submitted at once, by arrival.
func older(a, b *group) bool {
	return a.submitted < b.submitted || a.submitted == b.submitted && a.seq < b.seq
}

func (byKey) place(g *group) *int32  { return &g.inFirst }
func (byAge) place(g *group) *int32  { return &g.inOldest }
func (byWake) place(g *group) *int32 { return &g.inTimers }
func (byRest) place(g *group) *int32 { return &g.inSound }
func (byNeed) place(g *group) *int32 { return &g.inNeeds }
