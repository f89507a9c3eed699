package sqlledger

import (
	"encoding/binary"
	"sync"

	"github.com/spillway/spillway/ledger"
)

// A segment's body is a zstd frame of: format, number of rows, whether costs
// follow, the rows' lengths, their costs, their bytes end to end.
const segmentFormat = 1

// insertSegment never meets an existing row: offsets are checked before.
const insertSegment = `INSERT INTO segments (pos, count, body) VALUES ($1, $2, $3)`

// packing buffers are reused: what is packed is soon compressed.
var packing = sync.Pool{New: func() any { return new([]byte) }}

// maxPacking is the size above which a buffer is not kept for reuse.
const maxPacking = 1 << 20

// encodeRows compresses rows.
func encodeRows(r *ledger.Rows) []byte {
	buffer := packing.Get().(*[]byte)
	b := packRows((*buffer)[:0], r)
	body := compress(make([]byte, 0, len(b)/4), b)
	if cap(b) <= maxPacking {
		*buffer = b
		packing.Put(buffer)
	}
	return body
}

func packRows(b []byte, r *ledger.Rows) []byte {
	b = append(b, segmentFormat)
	b = binary.AppendUvarint(b, uint64(r.Len()))
	b = append(b, byte(number(r.Costs != nil)))
	var at uint32
	for _, end := range r.Ends {
		b = binary.AppendUvarint(b, uint64(end-at))
		at = end
	}
	for _, c := range r.Costs {
		b = binary.AppendUvarint(b, uint64(c))
	}
	return append(b, r.Data[:at]...)
}

// decodeRows is the reverse. What it returns has its own memory.
func decodeRows(body []byte) (*ledger.Rows, error) {
	b, err := decompress(body)
	if err != nil {
		return nil, err
	}
	if len(b) < 1 || b[0] != segmentFormat {
		return nil, errFormat
	}
	n, b, err := parseNumber(b[1:])
	if err != nil {
		return nil, err
	}
	if len(b) == 0 || n > uint64(len(b)) {
		return nil, errShort
	}
	costs := b[0] != 0
	return unpackRows(b[1:], int(n), costs)
}

func unpackRows(b []byte, n int, costs bool) (*ledger.Rows, error) {
	r := &ledger.Rows{Ends: make([]uint32, n)}
	var at, v uint64
	var err error
	for i := range r.Ends {
		if v, b, err = parseNumber(b); err != nil {
			return nil, err
		}
		if at += v; v > maxUnpacked || at > maxUnpacked {
			return nil, errRange
		}
		r.Ends[i] = uint32(at)
	}
	if costs {
		r.Costs = make([]int64, n)
		for i := range r.Costs {
			if v, b, err = parseNumber(b); err != nil {
				return nil, err
			}
			r.Costs[i] = max(int64(v), 1)
		}
	}
	if at != uint64(len(b)) {
		return nil, errShort
	}
	r.Data = b
	return r, nil
}

// cloneRows copies rows for the cache, so that the caller may reuse its own.
func cloneRows(r *ledger.Rows) *ledger.Rows {
	c := &ledger.Rows{Data: make([]byte, len(r.Data)), Ends: make([]uint32, len(r.Ends))}
	copy(c.Data, r.Data)
	copy(c.Ends, r.Ends)
	if r.Costs != nil {
		c.Costs = make([]int64, len(r.Costs))
		copy(c.Costs, r.Costs)
	}
	return c
}
