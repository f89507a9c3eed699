package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/spillway/spillway/bulk"
)

// JSONLReader reads one JSON value per line. It is a bulk.Source.
type JSONLReader struct {
	input
	o      Options
	line   int64
	row    int64
	long   []byte // a line that is longer than the window
	size   int    // of the line, what was dropped included
	out    []byte
	failed error
}

// JSONL returns a reader of JSON lines. Blank lines are skipped, CRLF and a
// byte order mark are taken off. A line that is not JSON, not UTF-8 or over
// Options.MaxRow is a bad row; its Data is a JSON string that holds the start
// of it. Options.CostField names a field of the objects.
func JSONL(r io.Reader, o Options) (*JSONLReader, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	j := &JSONLReader{o: o}
	if err := j.open(r); err != nil {
		return nil, err
	}
	return j, nil
}

// Next returns the next row, or what ended the stream.
func (j *JSONLReader) Next() (bulk.Row, error) {
	for j.failed == nil {
		line, err := j.next()
		if err != nil {
			j.failed = err
			break
		}
		line = bytes.Trim(line, " \t\r\n")
		if len(line) > 0 {
			j.row++
			return j.parse(line), nil
		}
	}
	return bulk.Row{}, j.failed
}

// next cuts a line; over the limit it is cut short, and size tells.
func (j *JSONLReader) next() ([]byte, error) {
	if cap(j.long) > keep {
		j.long = nil
	}
	j.long, j.size = j.long[:0], 0
	if j.pos == j.end && !j.fill() {
		return nil, j.ended()
	}
	j.line++
	for {
		window := j.buf[j.pos:j.end]
		i := bytes.IndexByte(window, '\n')
		if i < 0 {
			j.spill(window)
			if j.fill() {
				continue
			}
			if !errors.Is(j.err, io.EOF) {
				return nil, j.ended()
			}
			return j.long, nil
		}
		j.pos += i + 1
		if len(j.long) == 0 {
			j.size = i
			return window[:i], nil
		}
		j.spill(window[:i])
		return j.long, nil
	}
}

func (j *JSONLReader) ended() error {
	if errors.Is(j.err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("after row %d: %w", j.row, j.err)
}

func (j *JSONLReader) spill(b []byte) {
	j.size += len(b)
	j.long = append(j.long, b[:min(len(b), max(0, j.o.MaxRow+1-len(j.long)))]...)
}

func (j *JSONLReader) parse(line []byte) bulk.Row {
	row := bulk.Row{Data: line, Cost: 1}
	switch {
	case len(line) > j.o.MaxRow || j.size > j.o.MaxRow+1:
		row.Bad = fmt.Sprintf("line %d is %d bytes, over the limit of %d bytes for a row", j.line, j.size, j.o.MaxRow)
	case !json.Valid(line):
		row.Bad = fmt.Sprintf("line %d is not JSON: %v", j.line, syntax(line))
	case !utf8.Valid(line):
		row.Bad = fmt.Sprintf("line %d is not valid UTF-8", j.line)
	case j.o.CostField != "":
		row.Cost, row.Bad = cost(line, j.o.CostField)
		if row.Bad != "" {
			row.Bad = fmt.Sprintf("line %d: %s", j.line, row.Bad)
		}
		return row
	default:
		return row
	}
	j.out, _ = appendEscaped(append(j.out[:0], '"'), head(line, j.o.MaxRow))
	j.out = append(j.out, '"')
	row.Data = j.out
	return row
}

// syntax is what is wrong with a line that is not JSON.
func syntax(line []byte) error {
	var v json.RawMessage
	return json.Unmarshal(line, &v)
}

// cost reads the cost out of an object.
func cost(data []byte, field string) (n int64, bad string) {
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil || object == nil {
		return 1, fmt.Sprintf("the row is not an object with a field %q to take the cost from", field)
	}
	raw, found := object[field]
	if !found {
		return 1, fmt.Sprintf("the row has no field %q to take the cost from", field)
	}
	if json.Unmarshal(raw, &n) != nil || n < 1 || n > maxCost {
		return 1, fmt.Sprintf("field %q must be a cost, an integer from 1 to %d, not %s", field, maxCost, head(raw, excerpt))
	}
	return n, ""
}
