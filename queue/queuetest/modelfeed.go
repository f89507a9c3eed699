package queuetest

import (
	"context"
	"slices"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// promote takes on groups that need their engine. The ledger is read at once,
// the feed comes later, or never.
func (m *model) promote() {
	got, err := m.q.Promote(context.Background(), m.now, one(m, 1, 100))
	m.must(err)
	for _, d := range got {
		m.do("promote %s v%d round %d expired=%t room=%d", d.Group, d.Version, d.Round, d.Expired, d.Room)
		g := m.group(d.Group)
		switch {
		case d.Expired != (!g.set.Expires.IsZero() && !g.set.Expires.After(m.now)):
			m.fail("%s is promoted with expired=%t", d.Group, d.Expired)
		case d.Expired:
			g.set.Gone = true
			g.set.Version++
			m.put(g)
		default:
			m.did.parked++
			m.fed = append(m.fed, m.read(d))
		}
	}
}

// read makes a feed of what the ledger says now.
func (m *model) read(d queue.Due) queue.Feed {
	g := m.group(d.Group)
	f := queue.Feed{Group: d.Group, Version: d.Version, Round: d.Round}
	jobs := make([]int64, 0, len(g.retry))
	for i := range g.retry {
		jobs = append(jobs, i)
	}
	slices.Sort(jobs)
	for _, i := range jobs {
		r := g.retry[i]
		if r.notBefore.After(m.now) || !take(&f, i, r, d.Room) {
			f.Parked++
			if due := later(r.notBefore, m.now); f.ParkedDue.IsZero() || due.Before(f.ParkedDue) {
				f.ParkedDue = due
			}
		}
	}
	return f
}

// take adds a due job to a feed, if there is room for its entry.
func take(f *queue.Feed, i int64, r modelRetry, room int) bool {
	if n := len(f.Entries); n > 0 {
		last := &f.Entries[n-1]
		at := last.Jobs[0].From
		if spillway.ChunkOf(at) == spillway.ChunkOf(i) && last.Single == r.single && last.NotBefore.Equal(r.notBefore) {
			last.Jobs = last.Jobs.Union(spillway.One(i, i+1))
			return true
		}
	}
	if len(f.Entries) >= room {
		return false
	}
	f.Entries = append(f.Entries, queue.Retry{Jobs: spillway.One(i, i+1), NotBefore: r.notBefore, Single: r.single})
	return true
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// feed hands back what was read, a while ago perhaps, or once more.
func (m *model) feed() {
	if len(m.fed) == 0 {
		return
	}
	f := m.fed[0]
	if m.chance(80) {
		m.fed = m.fed[1:]
	}
	if m.chance(10) {
		m.do("the feeder of %s dies", f.Group)
		return
	}
	m.give(f)
}

func (m *model) give(f queue.Feed) {
	m.do("feed %s round %d: %v, %d parked until %s", f.Group, f.Round, f.Entries, f.Parked, m.since(f.ParkedDue))
	m.did.fed++
	m.must(m.q.Feed(context.Background(), m.now, []queue.Feed{f}))
}
