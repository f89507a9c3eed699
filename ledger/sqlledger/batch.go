package sqlledger

import (
	"maps"
	"slices"

	"github.com/spillway/spillway"
)

// batch is one transaction: a unit of work. Rows are read once, changed in
// memory, and written when the batch is flushed; the caches of the ledger see
// it only after the commit. A request decides all its errors before it changes
// anything, so that one which fails by itself leaves no trace.
type batch struct {
	l       *Ledger
	s       *session
	groups  map[spillway.GroupID]*group // nil for one that does not exist
	chunks  map[int64]*chunk
	details []detail
	tenants map[spillway.TenantID]int64 // bytes held; below 0: to be read anew
	// committed is run when all of it is durable.
	committed []func()
}

func newBatch(l *Ledger, s *session) *batch {
	return &batch{
		l: l, s: s,
		groups:  map[spillway.GroupID]*group{},
		chunks:  map[int64]*chunk{},
		tenants: map[spillway.TenantID]int64{},
	}
}

// group returns the group to be changed, nil if there is none.
func (b *batch) group(id spillway.GroupID) (*group, error) {
	if g, ok := b.groups[id]; ok {
		return g, nil
	}
	if cached, ok := b.l.groups.get(id); ok {
		g := *cached
		b.groups[id] = &g
		return &g, nil
	}
	g, err := readGroup(b.s, id)
	if err != nil {
		return nil, err
	}
	if g != nil {
		g.epoch = b.l.epochs.Add(1)
	}
	b.groups[id] = g
	return g, nil
}

// readGroup reads a group with its counts, nil if there is none.
func readGroup(s *session, id spillway.GroupID) (g *group, err error) {
	err = s.each(func(scan func(...any) error) (err error) {
		g, err = scanGroup(scan)
		return err
	}, selectGroup, string(id))
	if err != nil || g == nil {
		return nil, err
	}
	return g, g.sum(s)
}

// mustGroup is group for those that cannot do without.
func (b *batch) mustGroup(id spillway.GroupID) (*group, error) {
	g, err := b.group(id)
	if err == nil && g == nil {
		err = errNotFound(id)
	}
	return g, err
}

// chunk returns the chunk at a position, to be changed.
func (b *batch) chunk(pos int64) (*chunk, error) {
	if c, ok := b.chunks[pos]; ok {
		return c, nil
	}
	c, err := readChunk(b.s, pos)
	if err != nil {
		return nil, err
	}
	b.chunks[pos] = c
	return c, nil
}

// change changes a chunk by f and moves the group's counts by what it changed.
func (b *batch) change(g *group, c *chunk, f func()) {
	before := c.tally()
	f()
	g.add(before, c.tally())
	c.dirty = true
}

// detail adds reasons and values to a chunk.
func (b *batch) detail(c *chunk, body []byte) {
	b.details = append(b.details, detail{c.pos, body})
	c.merges++
	c.dirty = true
}

// flush writes what was changed so far, so that statements see it.
func (b *batch) flush() error {
	for _, id := range slices.Sorted(maps.Keys(b.groups)) {
		g := b.groups[id]
		if g == nil || !g.dirty {
			continue
		}
		if err := g.update(b.s); err != nil {
			return err
		}
		g.dirty = false
	}
	for _, pos := range slices.Sorted(maps.Keys(b.chunks)) {
		c := b.chunks[pos]
		if !c.dirty {
			continue
		}
		if err := c.store(b.s); err != nil {
			return err
		}
		c.dirty = false
	}
	for _, d := range b.details {
		if _, err := b.s.exec(insertDetail, d.pos, d.body); err != nil {
			return err
		}
	}
	b.details = b.details[:0]
	return nil
}

// forget flushes, and lets go of the chunks: for those who go through many.
func (b *batch) forget() error {
	err := b.flush()
	clear(b.chunks)
	return err
}

// install hands what was committed to the caches.
func (b *batch) install() {
	for id, g := range b.groups {
		if g == nil {
			b.l.groups.drop(id)
			continue
		}
		b.l.groups.update(id, func(old *group, ok bool) (*group, int64) {
			if ok && old.epoch == g.epoch {
				g.hint = max(g.hint, old.hint)
			}
			return g, 1
		})
	}
	for tenant, bytes := range b.tenants {
		if bytes < 0 {
			delete(b.l.tenants, tenant)
		} else {
			b.l.tenants[tenant] = bytes
		}
	}
	if len(b.l.tenants) > cachedTenants {
		clear(b.l.tenants)
	}
	for _, f := range b.committed {
		f()
	}
}

// cachedTenants bounds the tenants whose use is kept in memory.
const cachedTenants = 100_000
