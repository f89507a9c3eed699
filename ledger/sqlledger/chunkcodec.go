package sqlledger

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/spillway/spillway"
)

// A chunk's sets as bytes: version, the six sets, the number of plans and
// them, CRC-32C of it all. Sets are relative to the chunk's first job.
const chunkFormat = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errShort    = errors.New("too short")
	errChecksum = errors.New("the checksum does not match")
	errFormat   = errors.New("unknown format")
	errRange    = errors.New("out of range")
)

func (c *chunk) encode() []byte {
	b := make([]byte, 1, 64)
	b[0] = chunkFormat
	for _, s := range c.sets() {
		b = shift(*s, -c.start()).Append(b)
	}
	b = binary.AppendUvarint(b, uint64(len(c.plans)))
	for _, p := range c.plans {
		b = shift(p.jobs, -c.start()).Append(b)
		b = binary.AppendUvarint(b, uint64(p.attempt))
		b = binary.AppendUvarint(b, uint64(p.delivery))
		b = binary.AppendUvarint(b, uint64(p.lost))
		b = binary.AppendUvarint(b, uint64(p.due)<<1|uint64(number(p.retrying)))
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// sets lists the sets in the order of the encoding.
func (c *chunk) sets() [6]*spillway.Spans {
	return [...]*spillway.Spans{&c.intent, &c.ok, &c.failed, &c.skipped, &c.doubt, &c.bad}
}

// decode fills the sets from bytes; pos is set already.
func (c *chunk) decode(b []byte) error {
	b, err := checked(b, chunkFormat)
	if err != nil {
		return err
	}
	for _, s := range c.sets() {
		if *s, b, err = parseSet(b, c.start()); err != nil {
			return err
		}
	}
	n, b, err := parseNumber(b)
	if err != nil {
		return err
	}
	if n > uint64(len(b)) {
		return errShort
	}
	for range n {
		var p plan
		if p, b, err = parsePlan(b, c.start()); err != nil {
			return err
		}
		c.plans = append(c.plans, p)
	}
	if len(b) != 0 {
		return errFormat
	}
	return nil
}

// checked takes the format and the checksum off.
func checked(b []byte, format byte) ([]byte, error) {
	n := len(b) - crc32.Size
	if n < 1 {
		return nil, errShort
	}
	if binary.BigEndian.Uint32(b[n:]) != crc32.Checksum(b[:n], castagnoli) {
		return nil, errChecksum
	}
	if b[0] != format {
		return nil, errFormat
	}
	return b[1:n], nil
}

func parsePlan(b []byte, start int64) (p plan, rest []byte, err error) {
	if p.jobs, b, err = parseSet(b, start); err != nil {
		return p, nil, err
	}
	var numbers [4]uint64
	for i := range numbers {
		if numbers[i], b, err = parseNumber(b); err != nil {
			return p, nil, err
		}
	}
	p.attempt, p.delivery, p.lost = int(numbers[0]), int(numbers[1]), int(numbers[2])
	p.due, p.retrying = int64(numbers[3]>>1), numbers[3]&1 != 0
	return p, b, nil
}

func parseNumber(b []byte) (v uint64, rest []byte, err error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, errShort
	}
	return v, b[n:], nil
}

// parseSet reads a set of the chunk that begins with job start.
func parseSet(b []byte, start int64) (s spillway.Spans, rest []byte, err error) {
	if s, b, err = spillway.ParseSpans(b); err != nil {
		return nil, nil, err
	}
	for _, x := range s {
		if x.From < 0 || x.To > spillway.ChunkSize {
			return nil, nil, errRange
		}
	}
	return shift(s, start), b, nil
}

// shift moves every job of a set by as much.
func shift(s spillway.Spans, by int64) spillway.Spans {
	if by == 0 || len(s) == 0 {
		return s
	}
	out := make(spillway.Spans, len(s))
	for i, x := range s {
		out[i] = spillway.Span{From: x.From + by, To: x.To + by}
	}
	return out
}
