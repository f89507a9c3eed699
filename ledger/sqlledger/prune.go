package sqlledger

import (
	"context"
	"errors"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

const defaultPrune = 1000

const (
	selectTenantGroup = `SELECT id FROM groups WHERE tenant = $1 ORDER BY id LIMIT 1`

	selectOldGroup = `SELECT id FROM groups WHERE finished > 0 AND finished < $1 ORDER BY finished LIMIT 1`

	selectOldPayload = `SELECT id FROM groups WHERE finished > 0 AND finished < $1 AND pruned = 0 ORDER BY finished LIMIT 1`

	selectFirstSegment = `SELECT pos FROM segments WHERE pos BETWEEN $1 AND $2 ORDER BY pos LIMIT 1`
	selectFirstOutcome = `SELECT pos FROM outcomes WHERE pos BETWEEN $1 AND $2 ORDER BY pos LIMIT 1`
	selectFirstDetail  = `SELECT pos FROM details WHERE pos BETWEEN $1 AND $2 ORDER BY pos LIMIT 1`

	deleteSegments = `DELETE FROM segments WHERE pos BETWEEN $1 AND $2`
	deleteOutcomes = `DELETE FROM outcomes WHERE pos BETWEEN $1 AND $2`
	deleteDetails  = `DELETE FROM details WHERE pos BETWEEN $1 AND $2`
	deleteOutbox   = `DELETE FROM outbox WHERE grp = $1`
	deleteGroup    = `DELETE FROM groups WHERE seq = $1`
)

// table is where chunks are deleted from.
type table struct{ first, remove string }

var (
	tableSegments = table{selectFirstSegment, deleteSegments}
	tableOutcomes = table{selectFirstOutcome, deleteOutcomes}
	tableDetails  = table{selectFirstDetail, deleteDetails}
)

// Prune deletes what is not kept any longer; see ledger.Groups.
func (l *Ledger) Prune(ctx context.Context, now time.Time, p ledger.Prune) (out ledger.Pruned, err error) {
	if p.Limit <= 0 {
		p.Limit = defaultPrune
	}
	err = l.write(ctx, &request{apply: func(b *batch) error {
		x := pruning{b: b, now: now, left: p.Limit}
		err := x.run(p)
		out = x.done
		if errors.Is(err, errStop) {
			out.More, err = true, nil
		}
		return abort(err)
	}})
	if err != nil {
		return ledger.Pruned{}, err
	}
	return out, nil
}

// pruning is one bounded call. Its parts end with errStop when the bound is
// reached.
type pruning struct {
	b    *batch
	now  time.Time
	left int
	done ledger.Pruned
}

func (x *pruning) run(p ledger.Prune) error {
	if err := x.b.forget(); err != nil {
		return err
	}
	if p.Tenant != "" {
		if err := x.groups(selectTenantGroup, string(p.Tenant)); err != nil {
			return err
		}
	}
	if !p.Groups.IsZero() {
		if err := x.groups(selectOldGroup, micros(p.Groups)); err != nil {
			return err
		}
	}
	if !p.Payloads.IsZero() {
		return x.payloads(selectOldPayload, micros(p.Payloads))
	}
	return nil
}

// each calls f for group after group that a query finds first, until it finds
// none.
func (x *pruning) each(f func(*group) error, text string, arg any) error {
	for {
		var id string
		found, err := x.b.s.one([]any{&id}, text, arg)
		if err != nil || !found {
			return err
		}
		if x.left <= 0 {
			return errStop
		}
		g, err := x.b.mustGroup(spillway.GroupID(id))
		if err != nil {
			return err
		}
		if err := f(g); err != nil {
			return err
		}
		x.left-- // a group counts too, so that many empty ones are bounded
	}
}

// groups deletes groups whole. One that has not ended is ended first, so that
// nothing runs of what is half deleted.
func (x *pruning) groups(text string, arg any) error {
	return x.each(func(g *group) error {
		if g.Finished.IsZero() {
			g.State, g.Finished = spillway.Cancelled, fromMicros(due(x.now))
			g.changed()
			if err := x.b.flush(); err != nil {
				return err
			}
		}
		for _, t := range []table{tableSegments, tableOutcomes, tableDetails} {
			if err := x.chunks(g, t); err != nil {
				return err
			}
		}
		for _, text := range []string{deleteOutbox, deleteGroup} {
			if _, err := x.b.s.exec(text, g.seq); err != nil {
				return err
			}
		}
		x.b.groups[g.ID] = nil
		x.b.tenants[g.Tenant] = -1
		x.done.Groups++
		return nil
	}, text, arg)
}

// payloads deletes the payload of groups and keeps the rest.
func (x *pruning) payloads(text string, arg any) error {
	return x.each(func(g *group) error {
		if err := x.chunks(g, tableSegments); err != nil {
			return err
		}
		g.pruned, g.Bytes, g.dirty = true, 0, true
		x.b.tenants[g.Tenant] = -1
		return x.b.flush()
	}, text, arg)
}

// chunks deletes a group's rows from a table, the chunks with the lowest
// indexes first, as many as are left to delete.
func (x *pruning) chunks(g *group, t table) error {
	end := position(g.seq, maxJobs-1)
	for {
		var first int64
		found, err := x.b.s.one([]any{&first}, t.first, position(g.seq, 0), end)
		if err != nil || !found {
			return err
		}
		if x.left <= 0 {
			return errStop
		}
		from := first - indexOf(first)%spillway.ChunkSize
		to := from + int64(min(x.left, chunkPage))*spillway.ChunkSize
		last := position(g.seq, min(indexOf(from)+to-from, chunkStart(g.Total-1)+spillway.ChunkSize))
		if _, err := x.b.s.exec(t.remove, from, last-1); err != nil {
			return err
		}
		n := (last - from) / spillway.ChunkSize
		x.left -= int(n)
		if t == tableSegments {
			x.done.Chunks += n
			x.b.uncache(from, last)
		}
	}
}

// uncache drops deleted payload from memory.
func (b *batch) uncache(from, to int64) {
	b.committed = append(b.committed, func() {
		for pos := from; pos < to; pos += spillway.ChunkSize {
			b.l.segments.drop(pos)
		}
	})
}
