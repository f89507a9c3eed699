package sqlledger

import (
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// chunkPage is how many chunks are changed before they are written and let go
// of, so that the largest group takes no more memory than this.
const chunkPage = 256

const (
	selectFailed = `SELECT pos, merges, sets FROM outcomes WHERE pos BETWEEN $1 AND $2 AND failed > bad ORDER BY pos LIMIT $3`
	selectDoubt  = `SELECT pos, merges, sets FROM outcomes WHERE pos BETWEEN $1 AND $2 AND in_doubt > 0 ORDER BY pos LIMIT $3`
)

// sweep calls f for all of a group's chunks that a query selects, a page at a
// time; what f changes is written in between.
func (b *batch) sweep(g *group, text string, f func(*chunk)) error {
	from, to := position(g.seq, 0), position(g.seq, maxJobs-1)
	for from <= to {
		if err := b.forget(); err != nil {
			return err
		}
		var page []*chunk
		if err := eachChunk(b.s, func(c *chunk) error {
			page = append(page, c)
			return nil
		}, text, from, to, chunkPage); err != nil {
			return abort(err)
		}
		for _, c := range page {
			b.chunks[c.pos] = c
			f(c)
			from = c.pos + 1
		}
		if len(page) < chunkPage {
			break
		}
	}
	return b.forget()
}

// retryFailed makes the failed jobs, bad rows excepted, into waiting ones.
func (b *batch) retryFailed(now time.Time, g *group) error {
	if g.State == spillway.Cancelled {
		return errState(g.ID, g.State, "retried")
	}
	any := false
	err := b.sweep(g, selectFailed, func(c *chunk) {
		any = true
		b.again(g, c, c.failed.Minus(c.bad), due(now), true)
	})
	if err == nil && any {
		b.reopen(g)
	}
	return err
}

// again reopens jobs of a chunk; what was noted of them counts no longer.
func (b *batch) again(g *group, c *chunk, jobs spillway.Spans, at int64, retrying bool) {
	b.change(g, c, func() { c.reopen(jobs, at, retrying) })
	if c.merges > 0 {
		b.detail(c, encodeNotes([]note{{jobs: jobs, status: erased}}, c.start()))
	}
}

// resolve settles jobs in doubt: one, or all.
func (b *batch) resolve(now time.Time, g *group, r *ledger.Change) error {
	if r.As == spillway.Retry && g.State == spillway.Cancelled {
		return errState(g.ID, g.State, "retried")
	}
	if r.Index != nil {
		return b.resolveOne(now, g, r)
	}
	any := false
	err := b.sweep(g, selectDoubt, func(c *chunk) {
		any = true
		b.resolveJobs(now, g, c, c.doubt, r)
	})
	if err == nil && any {
		b.resolved(g, r.As)
	}
	return err
}

func (b *batch) resolveOne(now time.Time, g *group, r *ledger.Change) error {
	i := *r.Index
	if i < 0 || i >= g.Total {
		return spillway.Errorf(spillway.CodeNotFound, "group %q has no job %d", g.ID, i)
	}
	c, err := b.chunk(chunkPosition(g.seq, spillway.ChunkOf(i)))
	if err != nil {
		return err
	}
	if c.doubt.Has(i) {
		b.resolveJobs(now, g, c, spillway.One(i, i+1), r)
		b.resolved(g, r.As)
		return nil
	}
	already := r.As == spillway.Retry && c.waiting().Has(i) || r.As.Final() && c.set(r.As).Has(i)
	if already {
		return nil
	}
	return spillway.Errorf(spillway.CodeState, "job %d of group %q is not in doubt", i, g.ID)
}

func (b *batch) resolveJobs(now time.Time, g *group, c *chunk, jobs spillway.Spans, r *ledger.Change) {
	if r.As == spillway.Retry {
		b.again(g, c, jobs, due(now), false)
		return
	}
	b.change(g, c, func() {
		c.doubt = c.doubt.Minus(jobs)
		set := c.set(r.As)
		*set = set.Union(jobs)
	})
	if r.Reason != "" {
		b.detail(c, encodeNotes([]note{{jobs: jobs, status: r.As, reason: clip(r.Reason)}}, c.start()))
	}
}

func (b *batch) resolved(g *group, as spillway.Status) {
	if as == spillway.Retry {
		b.reopen(g)
		return
	}
	g.changed()
}
