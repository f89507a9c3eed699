package bulk

import (
	"context"
	"encoding/base32"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/zeebo/xxh3"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// A segment is closed when it is full, at the end of its chunk, or when its
// first row has waited: big enough to compress well, small enough to start
// the first job at once.
const (
	segmentBytes = 256 << 10
	segmentWait  = 200 * time.Millisecond
	// segmentsAhead bounds what is read before it is written.
	segmentsAhead = 4
	// maxRow bounds one row; readers have tighter limits of their own.
	maxRow = 16 << 20
)

var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// encodeID keeps the order of the ids, in 26 letters.
func encodeID(id uuid.UUID) string { return idEncoding.EncodeToString(id[:]) }

// chain extends the hash of the rows before by one row.
func chain(hash uint64, r Row) uint64 {
	hash = xxh3.HashSeed(r.Data, hash)
	if r.Bad != "" {
		hash = xxh3.HashStringSeed(r.Bad, hash)
	}
	return hash
}

// upload is rows on their way from a source into the ledger: one goroutine
// reads and gathers, the other writes.
type upload struct {
	e *Engine
	m *meta

	full chan *ledger.Append
	mu   struct {
		sync.Mutex
		open *ledger.Append // gathering; nil if empty
		next int64          // index of the next row
		hash uint64
		err  error // why reading ended
	}
}

// upload streams a source into a group from its total on.
func (e *Engine) upload(ctx context.Context, g ledger.Group, src Source) (int64, error) {
	if g.Sealed {
		return g.Total, spillway.Errorf(spillway.CodeSealed, "group %s is sealed: it takes no more rows", g.ID)
	}
	u := &upload{e: e, m: e.remember(g), full: make(chan *ledger.Append, segmentsAhead)}
	u.mu.next, u.mu.hash = g.Total, g.Hash
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go u.read(ctx, src)
	total, err := u.write(ctx, g.Total)
	if err != nil {
		return total, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return total, u.mu.err
}

// read gathers rows into segments until the source ends. A source that blocks
// for ever keeps this goroutine until its reader is closed.
func (u *upload) read(ctx context.Context, src Source) {
	defer close(u.full)
	defer u.cut(ctx)
	for ctx.Err() == nil {
		row, err := src.Next()
		if err == nil && len(row.Data) > maxRow {
			row = Row{Data: []byte("null"), Bad: "the row is over the limit of 16 MiB"}
		}
		u.mu.Lock()
		var done *ledger.Append
		if err == nil {
			done = u.addLocked(row)
		} else {
			if !errors.Is(err, io.EOF) {
				u.mu.err = err
			}
			done, u.mu.open = u.mu.open, nil
		}
		u.mu.Unlock()
		if done != nil {
			select {
			case u.full <- done:
			case <-ctx.Done():
			}
		}
		if err != nil {
			return
		}
	}
}

// cut says that reading ended early, so that what was read is not taken for all
// of it.
func (u *upload) cut(ctx context.Context) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mu.err == nil && ctx.Err() != nil {
		u.mu.err = context.Cause(ctx)
	}
}

// addLocked adds a row and returns the segment if that closed it.
func (u *upload) addLocked(r Row) *ledger.Append {
	a := u.mu.open
	if a == nil {
		a = &ledger.Append{Group: u.m.id, Offset: u.mu.next, MaxBytes: u.e.cfg.tenant(u.m.tenant).MaxBytes}
		u.mu.open = a
	}
	a.Rows.Add(r.Data, r.Cost)
	u.mu.hash = chain(u.mu.hash, r)
	a.Hash = u.mu.hash
	if r.Bad != "" {
		a.Bad = append(a.Bad, ledger.BadRow{Index: u.mu.next, Reason: r.Bad})
	}
	u.mu.next++
	if len(a.Rows.Data) >= segmentBytes || u.mu.next%spillway.ChunkSize == 0 {
		u.mu.open = nil
		return a
	}
	return nil
}

// write appends segments as they fill, and what waits for too long.
func (u *upload) write(ctx context.Context, total int64) (int64, error) {
	tick := time.NewTicker(segmentWait)
	defer tick.Stop()
	for {
		var batch []ledger.Append
		ended := false
		select {
		case a, ok := <-u.full:
			if ended = !ok; ok {
				batch = append(batch, *a)
			}
		case <-tick.C:
		case <-ctx.Done():
			return total, context.Cause(ctx)
		}
		batch, more := u.gather(batch)
		ended = ended || !more
		if len(batch) > 0 {
			var err error
			if total, err = u.append(ctx, total, batch); err != nil {
				return total, err
			}
		}
		if ended {
			return total, nil
		}
	}
}

// gather adds the segments that are full already and, if there are none, what
// is open; more is false when reading has ended.
func (u *upload) gather(batch []ledger.Append) (_ []ledger.Append, more bool) {
	for len(batch) < segmentsAhead {
		select {
		case a, ok := <-u.full:
			if !ok {
				return batch, false
			}
			batch = append(batch, *a)
			continue
		default:
		}
		break
	}
	if len(batch) == 0 {
		u.mu.Lock()
		defer u.mu.Unlock()
		// A full segment may have been sent since: it goes first.
		if a := u.mu.open; a != nil && len(u.full) == 0 {
			u.mu.open = nil
			batch = append(batch, *a)
		}
	}
	return batch, true
}

// append writes segments and indexes the group's new total.
func (u *upload) append(ctx context.Context, total int64, batch []ledger.Append) (int64, error) {
	var answers []ledger.Appended
	tries := 0
	err := u.e.untilWritten(ctx, func() (err error) {
		tries++
		answers, err = u.e.ledger.Append(ctx, time.Now(), batch)
		return err
	})
	if err == nil && tries > 1 && errors.Is(answers[0].Err, spillway.CodeOffset) {
		answers, err = u.appended(ctx, batch, answers)
	}
	if err != nil {
		return total, err
	}
	var last ledger.Appended
	cost := int64(1)
	for i, a := range answers {
		if a.Err != nil {
			err = a.Err
			break
		}
		last, total = a, a.Total
		cost = max(cost, batch[i].Rows.MaxCost())
		u.e.metrics.rows.Add(int64(batch[i].Rows.Len()))
		u.e.countFinal(u.m, a.Final, a.Final)
	}
	if last.Version > 0 {
		q := u.e.entry(u.e.current(u.m), last.Version, total, false, last.State)
		q.MaxCost = cost
		if perr := u.e.put(ctx, q); perr != nil {
			u.e.log.Warn("the queue does not answer; the rows are safe and will be indexed later", "group", u.m.id, "err", perr)
		}
		u.e.events.group(u.m.id)
	}
	return total, err
}

// appended answers for segments that were refused when they were sent again: if
// the group ends with them, they were added the first time and only the answer
// was lost.
func (u *upload) appended(ctx context.Context, batch []ledger.Append, refused []ledger.Appended) ([]ledger.Appended, error) {
	g, err := u.e.find(ctx, u.m.id)
	if err != nil {
		return nil, err
	}
	last := &batch[len(batch)-1]
	if g.Total != last.Offset+int64(last.Rows.Len()) || g.Hash != last.Hash {
		return refused, nil
	}
	out := make([]ledger.Appended, len(batch))
	for i, a := range batch {
		out[i] = ledger.Appended{Total: a.Offset + int64(a.Rows.Len()), Version: g.Version, State: g.State, Final: int64(len(a.Bad))}
	}
	return out, nil
}
