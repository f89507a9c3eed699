package sqlledger

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"unicode/utf8"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

const (
	insertDetail  = `INSERT INTO details (pos, body) VALUES ($1, $2)`
	selectDetails = `SELECT body FROM details WHERE pos = $1 ORDER BY id`
)

// detail is a row of reasons and values, to be written.
type detail struct {
	pos  int64
	body []byte
}

// note is what was said of jobs with an outcome.
type note struct {
	jobs   spillway.Spans
	status spillway.Status
	reason string
	value  json.RawMessage // nil for none
}

// erased is the status of a note that takes back what was noted before.
const erased spillway.Status = 0xff

// notable are the outcomes of which more is to be kept than the job's number.
func notable(outcomes []ledger.Outcome) []note {
	var notes []note
	for _, o := range outcomes {
		if o.Reason != "" || o.Value != nil {
			notes = append(notes, note{o.Jobs, o.Status, clip(o.Reason), o.Value})
		}
	}
	return notes
}

// clip cuts a reason at MaxReason, between characters.
func clip(s string) string {
	if len(s) <= spillway.MaxReason {
		return s
	}
	n := spillway.MaxReason
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

const (
	detailPlain      = 1 // the notes and their CRC-32C
	detailCompressed = 2 // a zstd frame, which has its own checksum
	// detailSmall is below what compression gains nothing.
	detailSmall = 128
)

// encodeNotes makes the body of a row of details, nil for no notes. start is
// the chunk's first job.
func encodeNotes(notes []note, start int64) []byte {
	if len(notes) == 0 {
		return nil
	}
	b := []byte{detailPlain}
	b = binary.AppendUvarint(b, uint64(len(notes)))
	for _, n := range notes {
		b = append(b, byte(n.status))
		b = shift(n.jobs, -start).Append(b)
		b = binary.AppendUvarint(b, uint64(len(n.reason)))
		b = append(b, n.reason...)
		if n.value == nil {
			b = append(b, 0)
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(n.value))+1)
		b = append(b, n.value...)
	}
	if len(b) < detailSmall {
		return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	}
	return compress([]byte{detailCompressed}, b[1:])
}

func decodeNotes(b []byte, start int64) (notes []note, err error) {
	if len(b) > 0 && b[0] == detailCompressed {
		b, err = decompress(b[1:])
	} else {
		b, err = checked(b, detailPlain)
	}
	if err != nil {
		return nil, err
	}
	n, b, err := parseNumber(b)
	if err != nil {
		return nil, err
	}
	if n > uint64(len(b)) {
		return nil, errShort
	}
	for range n {
		var x note
		if x, b, err = parseNote(b, start); err != nil {
			return nil, err
		}
		notes = append(notes, x)
	}
	return notes, nil
}

func parseNote(b []byte, start int64) (n note, rest []byte, err error) {
	if len(b) == 0 {
		return n, nil, errShort
	}
	n.status, b = spillway.Status(b[0]), b[1:]
	if n.jobs, b, err = parseSet(b, start); err != nil {
		return n, nil, err
	}
	reason, b, err := parseBytes(b, 0)
	if err != nil {
		return n, nil, err
	}
	n.reason = string(reason)
	n.value, b, err = parseBytes(b, 1)
	return n, b, err
}

// parseBytes reads a length, less by as much as is said (nil if that is below
// 0), and as many bytes.
func parseBytes(b []byte, less uint64) (data, rest []byte, err error) {
	n, b, err := parseNumber(b)
	if err != nil || n < less {
		return nil, b, err
	}
	n -= less
	if n > uint64(len(b)) {
		return nil, nil, errShort
	}
	return b[:n:n], b[n:], nil
}
