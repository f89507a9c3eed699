package sqlledger

import (
	"time"

	"github.com/spillway/spillway"
)

// A position names a job in the whole ledger by one number: the group's
// sequence number above 34 bits of job index. It is the integer primary key
// of segments (their first job) and of outcomes (the first job of the chunk),
// so that what belongs together lies together, in order, in one B-tree.
const (
	indexBits = 34
	// maxJobs is the number of jobs a group can hold: 17 billion.
	// The bits above are for 536 million groups.
	maxJobs = 1 << indexBits
)

func position(seq, index int64) int64 { return seq<<indexBits | index }

func seqOf(pos int64) int64 { return pos >> indexBits }

func indexOf(pos int64) int64 { return pos & (maxJobs - 1) }

// chunkPosition is the position of a chunk's first job.
func chunkPosition(seq, chunk int64) int64 { return position(seq, chunk*spillway.ChunkSize) }

func chunkStart(index int64) int64 { return index - index%spillway.ChunkSize }

// micros is how times are stored: microseconds since 1970, 0 for no time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// due is micros of a time that must not read as none.
func due(t time.Time) int64 { return max(micros(t), 1) }
