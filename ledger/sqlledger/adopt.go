package sqlledger

import (
	"time"

	"github.com/spillway/spillway"
)

// selectSettled says of each chunk how many jobs have an outcome or wait (bad
// rows aside, which may lie ahead of what was delivered), and has an intent.
const selectSettled = `SELECT pos, succeeded + failed + skipped + in_doubt + waiting - bad, intents
	FROM outcomes WHERE pos BETWEEN $1 AND $2 ORDER BY pos`

// adopt makes work of which nothing is known, below what was delivered last,
// into waiting work; at most once, an intent without an outcome is in doubt.
func (b *batch) adopt(now time.Time, g *group) error {
	if err := b.flush(); err != nil {
		return err
	}
	next, err := touched(b.s, g.seq)
	if err != nil || next == 0 {
		return err
	}
	incomplete, err := b.incomplete(g, next)
	if err != nil {
		return err
	}
	for i, k := range incomplete {
		c, err := b.chunk(chunkPosition(g.seq, k))
		if err != nil {
			return err
		}
		b.adoptChunk(now, g, c, next)
		if i%chunkPage == chunkPage-1 {
			if err := b.forget(); err != nil {
				return err
			}
		}
	}
	return b.forget()
}

// incomplete lists the chunks below next that may hold such work; those
// without a row are among them.
func (b *batch) incomplete(g *group, next int64) (chunks []int64, err error) {
	var at int64
	err = b.s.each(func(scan func(...any) error) error {
		var pos, known, intents int64
		if err := scan(&pos, &known, &intents); err != nil {
			return err
		}
		k := spillway.ChunkOf(indexOf(pos))
		for ; at < k; at++ {
			chunks = append(chunks, at)
		}
		if known < min(spillway.ChunkSize, next-k*spillway.ChunkSize) || intents > 0 {
			chunks = append(chunks, k)
		}
		at = k + 1
		return nil
	}, selectSettled, position(g.seq, 0), position(g.seq, next-1))
	return chunks, err
}

func (b *batch) adoptChunk(now time.Time, g *group, c *chunk, next int64) {
	below := spillway.One(c.start(), min(g.chunkEnd(c.index()), next))
	uncertain := c.intent.Minus(c.settled())
	lost := below.Minus(c.settled()).Minus(uncertain).Minus(c.waiting())
	if len(uncertain) == 0 && len(lost) == 0 && len(c.intent) == 0 {
		return
	}
	b.change(g, c, func() {
		c.intent = nil
		c.rest(uncertain)
		c.doubt = c.doubt.Union(uncertain)
		// A new delivery number: a late answer of the old one asks for nothing.
		c.setPlan(lost, deliveries{attempt: 1, delivery: 2, due: due(now)})
	})
}
