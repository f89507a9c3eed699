package sqlledger

import (
	"context"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

const selectTenantBytes = `SELECT COALESCE(SUM(bytes), 0) FROM groups WHERE tenant = $1`

// Append adds rows; see ledger.Groups. Rows are compressed in the caller's
// goroutine, so that callers share the cores and the writer only writes.
func (l *Ledger) Append(ctx context.Context, now time.Time, rows []ledger.Append) ([]ledger.Appended, error) {
	packed := make([]packedRows, len(rows))
	bytes := 0
	for i := range rows {
		if err := checkRows(&rows[i]); err != nil {
			return nil, err
		}
		if rows[i].Rows.Len() > 0 {
			packed[i].body = encodeRows(&rows[i].Rows)
			bytes += len(packed[i].body)
			if l.segments.limit > 0 {
				packed[i].cached = ledger.Segment{First: rows[i].Offset, Rows: cloneRows(&rows[i].Rows)}
			}
		}
	}
	var out []ledger.Appended
	err := l.write(ctx, &request{upload: true, bytes: bytes, apply: func(b *batch) error {
		out = make([]ledger.Appended, len(rows))
		for i := range rows {
			if err := b.append(&rows[i], &packed[i], &out[i]); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// packedRows is rows as they are stored, and as they are kept in memory.
type packedRows struct {
	body   []byte
	cached ledger.Segment // without Rows: not to be kept
}

// checkRows finds what is wrong with rows by themselves.
func checkRows(a *ledger.Append) error {
	n := int64(a.Rows.Len())
	if a.Offset < 0 || a.Offset+n > maxJobs {
		return spillway.Errorf(spillway.CodeInvalid, "group %q: rows %d to %d: a group holds at most %d jobs", a.Group, a.Offset, a.Offset+n, int64(maxJobs))
	}
	if n > 0 && spillway.ChunkOf(a.Offset) != spillway.ChunkOf(a.Offset+n-1) {
		return spillway.Errorf(spillway.CodeInvalid, "group %q: rows %d to %d are of more than one chunk", a.Group, a.Offset, a.Offset+n)
	}
	for _, bad := range a.Bad {
		if bad.Index < a.Offset || bad.Index >= a.Offset+n {
			return spillway.Errorf(spillway.CodeInvalid, "group %q: bad row %d is not among rows %d to %d", a.Group, bad.Index, a.Offset, a.Offset+n)
		}
	}
	return nil
}

// append adds the rows of one group. What is wrong with them is in the answer;
// an error is that of the database.
func (b *batch) append(a *ledger.Append, p *packedRows, out *ledger.Appended) error {
	g, c, err := b.admit(a)
	if isStore(err) {
		return err
	}
	if g != nil {
		out.Total, out.Version, out.State = g.Total, g.Version, g.State
	}
	if out.Err = err; err != nil || len(a.Rows.Ends) == 0 {
		return nil
	}
	pos := position(g.seq, a.Offset)
	if _, err := b.s.exec(insertSegment, pos, a.Rows.Len(), p.body); err != nil {
		return err
	}
	b.grow(g, a)
	if c != nil {
		b.fail(g, c, a.Bad)
	}
	if p.cached.Rows != nil {
		at := chunkPosition(g.seq, spillway.ChunkOf(a.Offset))
		b.committed = append(b.committed, func() { b.l.segments.add(at, p.cached) })
	}
	out.Total, out.Version, out.Final = g.Total, g.Version, int64(len(a.Bad))
	return nil
}

// grow moves the group's totals.
func (b *batch) grow(g *group, a *ledger.Append) {
	bytes := int64(len(a.Rows.Data))
	g.Total += int64(a.Rows.Len())
	g.Bytes += bytes
	g.MaxCost = max(g.MaxCost, a.Rows.MaxCost())
	g.Hash = a.Hash
	g.changed()
	if held, ok := b.tenants[g.Tenant]; ok {
		if held >= 0 {
			b.tenants[g.Tenant] = held + bytes
		}
	} else if held, ok := b.l.tenants[g.Tenant]; ok {
		b.tenants[g.Tenant] = held + bytes
	}
}

// admit decides whether rows may be added, and reads what they will change:
// the chunk only if some are bad.
func (b *batch) admit(a *ledger.Append) (*group, *chunk, error) {
	g, err := b.mustGroup(a.Group)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case g.State == spillway.Cancelled:
		return g, nil, errState(g.ID, g.State, "added to")
	case g.Sealed:
		return g, nil, spillway.Errorf(spillway.CodeSealed, "group %q is sealed at %d rows: it takes no more", g.ID, g.Total)
	case a.Offset != g.Total:
		return g, nil, spillway.Errorf(spillway.CodeOffset, "group %q has %d rows: go on from there, not from %d", g.ID, g.Total, a.Offset)
	}
	if a.MaxBytes > 0 {
		held, err := b.held(g.Tenant)
		if err != nil {
			return g, nil, err
		}
		if held+int64(len(a.Rows.Data)) > a.MaxBytes {
			return g, nil, spillway.Errorf(spillway.CodeLimit,
				"tenant %q holds %d bytes of payload, its limit is %d: wait until retention has deleted some, or erase what is not needed", g.Tenant, held, a.MaxBytes)
		}
	}
	if len(a.Bad) == 0 {
		return g, nil, nil
	}
	c, err := b.chunk(chunkPosition(g.seq, spillway.ChunkOf(a.Offset)))
	return g, c, err
}

// held is the payload bytes of a tenant.
func (b *batch) held(tenant spillway.TenantID) (int64, error) {
	if n, ok := b.tenants[tenant]; ok && n >= 0 {
		return n, nil
	}
	if n, ok := b.l.tenants[tenant]; ok && b.tenants[tenant] >= 0 {
		return n, nil
	}
	if err := b.flush(); err != nil {
		return 0, err
	}
	var n int64
	if _, err := b.s.one([]any{&n}, selectTenantBytes, string(tenant)); err != nil {
		return 0, err
	}
	b.tenants[tenant] = n
	return n, nil
}

// fail makes bad rows failed jobs, for good.
func (b *batch) fail(g *group, c *chunk, rows []ledger.BadRow) {
	notes := make([]note, 0, len(rows))
	indexes := make([]int64, 0, len(rows))
	for _, r := range rows {
		indexes = append(indexes, r.Index)
		notes = append(notes, note{jobs: spillway.One(r.Index, r.Index+1), status: spillway.Failed, reason: clip(r.Reason)})
	}
	b.change(g, c, func() {
		bad := spillway.Of(indexes...)
		c.failed, c.bad = c.failed.Union(bad), c.bad.Union(bad)
	})
	b.detail(c, encodeNotes(notes, c.start()))
}
