package memqueue

import (
	"context"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// feeding is a group's latest promotion. Work that is parked while the feeder
// reads the ledger may be in what it reads or not; it is counted besides.
type feeding struct {
	round int64
	open  bool      // promoted and not fed
	until flow.Time // not promoted again before
	since backlog   // parked while open
}

func (f *feeding) close() { *f = feeding{round: f.round} }

// Promote implements queue.Queue. Entries become ready by themselves when due.
func (q *Queue) Promote(_ context.Context, now time.Time, max int) ([]queue.Due, error) {
	if err := q.enter(now); err != nil {
		return nil, err
	}
	defer q.mu.Unlock()
	var out []queue.Due
	for len(out) < max {
		g := q.needs.top()
		if g == nil || g.needAt > q.now {
			break
		}
		if g.feeding == nil {
			g.feeding = &feeding{}
		}
		g.feeding.round++
		g.feeding.open = true
		g.feeding.since = backlog{}
		g.feeding.until = q.now.Add(queue.PromoteWait)
		out = append(out, queue.Due{
			Group: g.id, Version: g.version, Round: g.feeding.round,
			Expired: g.expires <= q.now, Room: g.room(),
		})
		q.placeNeed(g)
	}
	return out, nil
}

// placeNeed keeps the time at which the group needs its engine.
func (q *Queue) placeNeed(g *group) {
	at := flow.Never
	if !g.gone {
		at = g.expires
		if g.parked.jobs > 0 && !g.paused && g.room() > 0 {
			at = min(at, g.parked.due)
		}
		if g.feeding != nil {
			at = max(at, g.feeding.until)
		}
	}
	if at == flow.Never {
		q.needs.remove(g)
		return
	}
	g.needAt = at
	q.needs.set(g, float64(at), g.seq)
}

// Feed implements queue.Queue.
func (q *Queue) Feed(_ context.Context, now time.Time, feeds []queue.Feed) error {
	if err := q.enter(now); err != nil {
		return err
	}
	defer q.mu.Unlock()
	for i := range feeds {
		f := &feeds[i]
		g := q.groups[f.Group]
		if g == nil || g.gone || f.Version < g.version || !g.awaits(f.Round) {
			continue
		}
		q.feed(g, f)
		q.place(g)
	}
	return nil
}

// awaits says that a feed answers the group's latest promotion. One of an
// earlier round read an older ledger.
func (g *group) awaits(round int64) bool {
	return round == 0 || g.feeding != nil && g.feeding.open && g.feeding.round == round
}

func (q *Queue) feed(g *group, f *queue.Feed) {
	rest := backlog{}
	rest.add(f.Parked, at(f.ParkedDue, q.now))
	if g.feeding != nil && g.feeding.open {
		rest.add(g.feeding.since.jobs, g.feeding.since.due)
		g.feeding.close()
	} else if g.parked.jobs > rest.jobs {
		rest = backlog{jobs: g.parked.jobs, due: g.parked.due}
	}
	g.parked = rest
	for _, x := range f.Entries {
		for _, jobs := range byChunk(x.Jobs) {
			held := g.held(spillway.ChunkOf(jobs[0].From))
			jobs = jobs.Intersect(spillway.One(0, g.next)).Minus(held)
			g.keep(q.now, at(x.NotBefore, q.now), jobs, x)
		}
	}
}

// byChunk splits a set of jobs at the bounds of chunks.
func byChunk(jobs spillway.Spans) []spillway.Spans {
	var out []spillway.Spans
	for len(jobs) > 0 {
		end := (spillway.ChunkOf(jobs[0].From) + 1) * spillway.ChunkSize
		part := jobs.Intersect(spillway.One(jobs[0].From, end))
		out = append(out, part)
		jobs = jobs.Minus(part)
	}
	return out
}
