package sqlledger

import "github.com/spillway/spillway"

const (
	selectChunk = `SELECT merges, sets FROM outcomes WHERE pos = $1`

	upsertChunk = `INSERT INTO outcomes (pos, grp, succeeded, failed, skipped, in_doubt, retrying, waiting, due, intents,
		touched, bad, merges, sets) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14)
		ON CONFLICT (pos) DO UPDATE SET succeeded = excluded.succeeded, failed = excluded.failed,
		skipped = excluded.skipped, in_doubt = excluded.in_doubt, retrying = excluded.retrying,
		waiting = excluded.waiting, due = excluded.due, intents = excluded.intents, touched = excluded.touched,
		bad = excluded.bad, merges = excluded.merges, sets = excluded.sets`
)

// readChunk reads the chunk at a position; one without a row is empty.
func readChunk(s *session, pos int64) (*chunk, error) {
	c := &chunk{pos: pos}
	var sets []byte
	found, err := s.one([]any{&c.merges, &sets}, selectChunk, pos)
	if err != nil || !found {
		return c, err
	}
	if err := c.decode(sets); err != nil {
		return nil, damaged("outcomes", pos, err)
	}
	return c, nil
}

// eachChunk reads rows of chunks by a query for pos, merges and sets.
func eachChunk(s *session, f func(*chunk) error, text string, args ...any) error {
	return s.each(func(scan func(...any) error) error {
		var c chunk
		var sets []byte
		if err := scan(&c.pos, &c.merges, &sets); err != nil {
			return err
		}
		if err := c.decode(sets); err != nil {
			return damaged("outcomes", c.pos, err)
		}
		return f(&c)
	}, text, args...)
}

func (c *chunk) store(s *session) error {
	t := c.tally()
	_, err := s.exec(upsertChunk, c.pos, c.seq(), t.succeeded, t.failed, t.skipped, t.inDoubt, t.retrying, t.waiting, t.due,
		t.intents, c.touched(), t.bad, c.merges, c.encode())
	return err
}

// chunkIndex is the number of the chunk in its group.
func (c *chunk) index() int64 { return spillway.ChunkOf(c.start()) }
