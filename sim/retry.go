package sim

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// retry is a job that failed and will be delivered again.
type retry struct {
	attempts int
	due      time.Duration // when its backoff ends
}

// promoteEvery is how often the queue is asked for parked work.
const promoteEvery = time.Second

// outcomes decides what became of a lease's jobs and adds the retries to its
// settlement. It returns the number of jobs that are final now.
func (m *simulation) outcomes(g *Group, l queue.Lease, s *queue.Settlement) (final int64) {
	if m.Fails == nil {
		return l.Jobs.Len()
	}
	var failed int64
	for job := range l.Jobs.All {
		if !m.Fails(m.rng, l, job) {
			delete(g.retry, job)
			final++
			continue
		}
		failed++
		if r := m.again(g, job); r != nil {
			s.Retries = append(s.Retries, queue.Retry{Jobs: spillway.Of(job), NotBefore: Start.Add(r.due)})
			continue
		}
		m.out.Failed++
		final++
	}
	s.Whole = failed == l.Jobs.Len()
	if len(s.Retries) > 0 {
		m.promote = min(m.promote, m.now+promoteEvery)
	}
	return final
}

// again uses an attempt of a job; nil if it was the last.
func (m *simulation) again(g *Group, job int64) *retry {
	r := g.retry[job]
	if r == nil {
		if g.retry == nil {
			g.retry = map[int64]*retry{}
		}
		r = &retry{}
		g.retry[job] = r
	}
	r.attempts++
	if r.attempts >= m.Attempts {
		delete(g.retry, job)
		return nil
	}
	r.due = m.now + flow.DefaultBackoff.Wait(r.attempts, uint64(job)).Truncate(time.Microsecond)
	return r
}

// waiting is how many jobs are to be delivered again, and the earliest time.
func (g *Group) waiting() (jobs int64, due time.Time) {
	first := never
	for _, r := range g.retry {
		jobs++
		first = min(first, r.due)
	}
	if jobs == 0 {
		return 0, time.Time{}
	}
	return jobs, Start.Add(first)
}

// feed hands parked work back.
func (m *simulation) feed() error {
	if m.promote > m.now {
		return nil
	}
	m.promote = never
	dues, err := m.queue.Promote(context.Background(), m.clock(), 100)
	if err != nil {
		return err
	}
	for _, d := range dues {
		if err := m.feedGroup(m.out.Groups[d.Group], d); err != nil {
			return err
		}
	}
	for _, g := range m.out.Groups {
		if len(g.retry) > 0 {
			m.promote = m.now + promoteEvery
			return nil
		}
	}
	return nil
}

func (m *simulation) feedGroup(g *Group, d queue.Due) error {
	type entry struct {
		chunk int64
		due   time.Duration
	}
	entries := map[entry][]int64{}
	for job, r := range g.retry {
		if r.due <= m.now+queue.MaxEntryWait {
			e := entry{spillway.ChunkOf(job), (r.due/queue.EntryGrain + 1) * queue.EntryGrain}
			entries[e] = append(entries[e], job)
		}
	}
	keys := make([]entry, 0, len(entries))
	for e := range entries {
		keys = append(keys, e)
	}
	slices.SortFunc(keys, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.chunk, b.chunk))
	})
	f := queue.Feed{Group: g.ID, Version: d.Version, Round: d.Round}
	f.Parked, f.ParkedDue = int64(len(g.retry)), Start.Add(m.now+promoteEvery)
	for _, e := range keys[:min(d.Room, len(keys))] {
		jobs := entries[e]
		f.Entries = append(f.Entries, queue.Retry{Jobs: spillway.Of(jobs...), NotBefore: Start.Add(e.due)})
		f.Parked -= int64(len(jobs))
	}
	return m.queue.Feed(context.Background(), m.clock(), []queue.Feed{f})
}
