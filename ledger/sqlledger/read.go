package sqlledger

import (
	"context"
	"slices"
	"strings"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

const selectExtent = `SELECT seq, total FROM groups WHERE id = $1`

// Read pages through jobs; see ledger.Jobs.
func (l *Ledger) Read(ctx context.Context, q ledger.JobQuery) (jobs []ledger.JobRecord, next int64, err error) {
	if q.Limit <= 0 {
		q.Limit = defaultRead
	}
	q.From = max(q.From, 0)
	r := &reading{l: l, q: q}
	err = l.readAtOnce(ctx, func(s *session) error {
		r.s = s
		found, err := s.one([]any{&r.seq, &r.total}, selectExtent, string(q.Group))
		if err != nil {
			return err
		}
		if !found {
			return errNotFound(q.Group)
		}
		return r.run(ctx)
	})
	if err != nil {
		return nil, 0, err
	}
	return r.jobs, r.next, nil
}

// reading is one page being read.
type reading struct {
	l          *Ledger
	s          *session
	q          ledger.JobQuery
	seq, total int64
	jobs       []ledger.JobRecord
	next       int64 // 0: there is no more
}

// readChunks is how many chunk rows are read at a time.
const readChunks = 16

func (r *reading) run(ctx context.Context) error {
	if r.q.Statuses == nil && !r.q.Values {
		return r.all(ctx)
	}
	at := r.q.From
	text := selectedChunks(r.q)
	for at < r.total {
		if err := ctx.Err(); err != nil {
			return err
		}
		var page []*chunk
		err := eachChunk(r.s, func(c *chunk) error {
			page = append(page, c)
			return nil
		}, text, position(r.seq, chunkStart(at)), position(r.seq, r.total-1), readChunks)
		if err != nil {
			return err
		}
		for _, c := range page {
			if err := r.chunk(c); err != nil || r.next != 0 {
				return err
			}
		}
		if len(page) < readChunks {
			return nil
		}
		at = page[len(page)-1].start() + spillway.ChunkSize
	}
	return nil
}

// selectedChunks is the query for the chunks that can hold what is asked.
func selectedChunks(q ledger.JobQuery) string {
	var any []string
	for status, column := range map[spillway.Status]string{
		spillway.OK: "succeeded", spillway.Failed: "failed", spillway.Skipped: "skipped", spillway.InDoubt: "in_doubt",
	} {
		if slices.Contains(q.Statuses, status) {
			any = append(any, column+" > 0")
		}
	}
	slices.Sort(any)
	where := ""
	if q.Statuses != nil {
		where += " AND (" + strings.Join(append(any, "1 = 0"), " OR ") + ")"
	}
	if q.Values {
		where += " AND merges > 0"
	}
	return "SELECT pos, merges, sets FROM outcomes WHERE pos BETWEEN $1 AND $2" + where + " ORDER BY pos LIMIT $3"
}

// all reads every job, those of which nothing is known too.
func (r *reading) all(ctx context.Context) error {
	for at := chunkStart(r.q.From); at < r.total && r.next == 0; at += spillway.ChunkSize {
		if err := ctx.Err(); err != nil {
			return err
		}
		c, err := readChunk(r.s, position(r.seq, at))
		if err != nil {
			return err
		}
		if err := r.chunk(c); err != nil {
			return err
		}
	}
	return nil
}

// chunk adds a chunk's jobs to the page; r.next is set once that is full.
func (r *reading) chunk(c *chunk) error {
	said, err := r.notes(c)
	if err != nil {
		return err
	}
	var p ledger.Payload
	for i := range r.wanted(c).All {
		if r.q.Values && said.at(i).value == nil {
			continue
		}
		if len(r.jobs) == r.q.Limit {
			r.next = i
			return nil
		}
		if r.q.Data && p.Segments == nil {
			if p.Segments, err = r.l.readPayload(r.s, r.seq, spillway.One(i, i+1)); err != nil {
				return err
			}
		}
		j := c.record(i, said)
		j.Data, _, _ = p.At(i)
		r.jobs = append(r.jobs, j)
	}
	return nil
}

// wanted are the chunk's jobs that the query's statuses select.
func (r *reading) wanted(c *chunk) spillway.Spans {
	end := min(c.start()+spillway.ChunkSize, r.total)
	jobs := spillway.One(max(c.start(), r.q.From), end)
	if r.q.Statuses == nil {
		return jobs
	}
	var any spillway.Spans
	for _, s := range r.q.Statuses {
		if s.Final() || s == spillway.InDoubt {
			any = any.Union(*c.set(s))
		}
	}
	return jobs.Intersect(any)
}
