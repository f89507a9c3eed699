package sqlledger

import (
	"context"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// settlement is a settlement with its reasons and values ready to be written.
type settlement struct {
	*ledger.Settlement
	notes []note
	body  []byte
	// The rows that it changes; nil for an unknown group.
	group *group
	chunk *chunk
}

// Settle merges outcomes; see ledger.Jobs.
func (l *Ledger) Settle(ctx context.Context, now time.Time, s []ledger.Settlement) ([]ledger.Merged, error) {
	prepared := make([]settlement, len(s))
	for i := range s {
		if err := checkSettlement(&s[i]); err != nil {
			return nil, err
		}
		notes := notable(s[i].Outcomes)
		prepared[i] = settlement{Settlement: &s[i], notes: notes, body: encodeNotes(notes, s[i].Chunk*spillway.ChunkSize)}
	}
	var out []ledger.Merged
	err := l.write(ctx, &request{apply: func(b *batch) (err error) {
		out, err = b.settle(now, prepared)
		return err
	}})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// checkSettlement finds what is wrong with a settlement by itself.
func checkSettlement(s *ledger.Settlement) error {
	from := s.Chunk * spillway.ChunkSize
	for i := range s.Outcomes {
		o := &s.Outcomes[i]
		n := len(o.Jobs)
		if n == 0 {
			continue
		}
		if s.Chunk < 0 || o.Jobs[0].From < from || o.Jobs[n-1].To > from+spillway.ChunkSize {
			return spillway.Errorf(spillway.CodeInvalid, "group %q: outcomes of jobs %v are not all in chunk %d", s.Group, o.Jobs, s.Chunk)
		}
		if o.Status > spillway.InDoubt {
			return spillway.Errorf(spillway.CodeInvalid, "group %q: unknown status %d", s.Group, o.Status)
		}
		if o.Value != nil && o.Jobs.Len() != 1 {
			return spillway.Errorf(spillway.CodeInvalid, "group %q: one value for the jobs %v: give each its own outcome", s.Group, o.Jobs)
		}
	}
	return nil
}

// settle reads all rows before it changes any, so that a damaged one leaves no
// half of it.
func (b *batch) settle(now time.Time, all []settlement) (out []ledger.Merged, err error) {
	for i := range all {
		s := &all[i]
		if s.group, err = b.group(s.Group); err != nil {
			return nil, err
		}
		if s.group == nil {
			continue
		}
		if s.chunk, err = b.chunk(chunkPosition(s.group.seq, s.Chunk)); err != nil {
			return nil, err
		}
	}
	out = make([]ledger.Merged, len(all))
	for i := range all {
		if all[i].group != nil {
			out[i] = b.merge(now, &all[i])
		}
	}
	return out, nil
}

func (b *batch) merge(now time.Time, s *settlement) (m ledger.Merged) {
	g, c := s.group, s.chunk
	jobs := spillway.One(c.start(), g.chunkEnd(s.Chunk))
	whole := true
	var kept []note
	before := c.tally()
	for i := range s.Outcomes {
		o := s.Outcomes[i]
		if n := len(o.Jobs); n > 0 && (len(jobs) == 0 || o.Jobs[n-1].To > jobs[0].To) {
			o.Jobs = o.Jobs.Intersect(jobs) // what was never appended has no outcome
		}
		accepted, finished := c.merge(now, &o)
		report(&m, o.Status, accepted, finished)
		said := o.Reason != "" || o.Value != nil
		if !said && !(c.merges > 0 && again(o.Status) && len(accepted) > 0) {
			continue
		}
		// What is said of a part of the jobs is encoded again; and a retry
		// without a reason takes back that of the one before.
		whole = whole && said && accepted.Len() == s.Outcomes[i].Jobs.Len()
		if len(accepted) > 0 {
			kept = append(kept, note{accepted, o.Status, clip(o.Reason), o.Value})
		}
	}
	if m.Changed > 0 {
		b.merged(now, s, before, kept, whole)
	}
	m.Ready = g.ready()
	return m
}

// merged records what a settlement changed.
func (b *batch) merged(now time.Time, s *settlement, before tally, kept []note, whole bool) {
	s.group.add(before, s.chunk.tally())
	s.chunk.dirty = true
	b.begun(now, s.group)
	body := s.body
	if !whole {
		body = encodeNotes(kept, s.chunk.start())
	}
	if body != nil {
		b.detail(s.chunk, body)
	}
}

// begun notes when the first of a group's jobs ran.
func (b *batch) begun(now time.Time, g *group) {
	if g.Started.IsZero() {
		g.Started = fromMicros(micros(now))
		g.dirty = true
	}
}
