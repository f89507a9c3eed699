package sqlledger

import (
	"errors"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

const selectFull = `SELECT pos, succeeded + failed + skipped FROM outcomes WHERE pos BETWEEN $1 AND $2 ORDER BY pos`

var errStop = errors.New("enough")

// checkpoint returns the lowest index without a final outcome, and the chunk
// from which to look for it the next time. It goes through the chunk rows from
// the group's hint on.
func checkpoint(s *session, g *group) (index, hint int64, err error) {
	at := g.hint
	partial := false
	err = s.each(func(scan func(...any) error) error {
		var pos, final int64
		if err := scan(&pos, &final); err != nil {
			return err
		}
		if k := spillway.ChunkOf(indexOf(pos)); k != at {
			return errStop // chunk at has no row
		}
		if final < g.chunkEnd(at)-at*spillway.ChunkSize {
			partial = true
			return errStop
		}
		at++
		return nil
	}, selectFull, chunkPosition(g.seq, at), position(g.seq, maxJobs-1))
	if err != nil && !errors.Is(err, errStop) {
		return 0, 0, err
	}
	index = at * spillway.ChunkSize
	if partial {
		c, err := readChunk(s, chunkPosition(g.seq, at))
		if err != nil {
			return 0, 0, err
		}
		index = spillway.One(index, g.chunkEnd(at)).Minus(c.final())[0].From
	}
	// A chunk that is full so far may grow.
	return min(index, g.Total), min(at, g.Total/spillway.ChunkSize), nil
}

// describe is the group as a batch leaves it, to be answered.
func (b *batch) describe(g *group) (out ledger.Group, err error) {
	if err := b.flush(); err != nil {
		return out, err
	}
	out = g.Group
	out.Counts.Checkpoint, g.hint, err = checkpoint(b.s, g)
	return out, err
}

// describeAt completes groups that were read in a snapshot: counts from the
// owner's memory where it has them, else from the chunk rows.
func (l *Ledger) describeAt(s *session, v *view, groups []*group) error {
	known := make([]bool, len(groups))
	for i, g := range groups {
		if c, ok := v.group(g.ID); ok {
			known[i] = true
			g.Counts, g.waiting, g.hint, g.epoch = c.Counts, c.waiting, c.hint, c.epoch
		}
	}
	v.release()
	for i, g := range groups {
		if !known[i] {
			if err := g.sum(s); err != nil {
				return err
			}
		}
		var err error
		if g.Counts.Checkpoint, g.hint, err = checkpoint(s, g); err != nil {
			return err
		}
		if known[i] {
			l.hint(g)
		}
	}
	return nil
}

// hint keeps how far a group's checkpoint was found to be.
func (l *Ledger) hint(g *group) {
	l.groups.update(g.ID, func(old *group, ok bool) (*group, int64) {
		if !ok {
			return nil, -1
		}
		if old.epoch == g.epoch && old.hint < g.hint {
			c := *old
			c.hint = g.hint
			return &c, 1
		}
		return old, 1
	})
}
