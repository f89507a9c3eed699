package sqlledger

import (
	"slices"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// segmentCache holds decompressed segments by chunk (the position of its first
// job), so that work which streams in needs not be read again.
type segmentCache struct {
	*lru[int64, []ledger.Segment]
}

func newSegmentCache(bytes int64) *segmentCache {
	return &segmentCache{newLRU[int64, []ledger.Segment](max(bytes, 0))}
}

// add adds a segment that was just committed.
func (c *segmentCache) add(chunk int64, s ledger.Segment) {
	if c.limit == 0 {
		return
	}
	c.update(chunk, func(old []ledger.Segment, _ bool) ([]ledger.Segment, int64) {
		for _, x := range old {
			if x.First == s.First {
				return old, cost(old)
			}
		}
		all := append(slices.Clip(old), s)
		slices.SortFunc(all, func(a, b ledger.Segment) int { return int(a.First - b.First) })
		return all, cost(all)
	})
}

// covers reports whether segments hold all the jobs.
func covers(segments []ledger.Segment, jobs spillway.Spans) bool {
	for _, s := range segments {
		jobs = jobs.Minus(spillway.One(s.First, s.First+int64(s.Rows.Len())))
	}
	return len(jobs) == 0
}

// cost is the memory that segments take.
func cost(segments []ledger.Segment) int64 {
	var n int64
	for _, s := range segments {
		n += int64(cap(s.Rows.Data)) + 4*int64(cap(s.Rows.Ends)) + 8*int64(cap(s.Rows.Costs)) + 128
	}
	return n
}
