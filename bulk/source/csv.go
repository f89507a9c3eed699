package source

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
)

// CSVReader reads the rows of a CSV file as JSON objects: the header's names
// in their order, every value a string. It is a bulk.Source.
type CSVReader struct {
	scanner
	o       Options
	columns []string
	keys    [][]byte // what stands before each value: `{"id":"`, `","name":"`
	cost    int      // the cost's column, or -1
	row     int64
	out     []byte
	failed  error
}

// CSV reads the header and returns a reader of the rows after it. It blocks
// until the header's line has arrived. A header that cannot be used is
// CodeInvalid with what to do about it.
//
// Fields beyond the header's are listed under the name "", which no column can
// have; such a row is bad. What is not UTF-8 becomes U+FFFD, and the row is
// bad. CRLF inside quotes becomes LF, and blank lines are skipped, as in
// encoding/csv.
func CSV(r io.Reader, o Options) (*CSVReader, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	c := &CSVReader{o: o, cost: -1}
	c.line, c.max = 1, o.MaxField
	if err := c.open(r); err != nil {
		return nil, err
	}
	c.lineStart = c.at()
	c.separator = o.Separator
	if c.separator == 0 {
		c.separator = sniff(c.firstRecord())
	}
	c.table = classes(c.separator)
	if err := c.readHeader(); err != nil {
		return nil, err
	}
	before := `{"`
	for i, name := range c.columns {
		if name == o.CostField {
			c.cost = i
		}
		key, _ := appendEscaped([]byte(before), []byte(name))
		c.keys = append(c.keys, append(key, `":"`...))
		before = `","`
	}
	if o.CostField != "" && c.cost < 0 {
		return nil, spillway.Errorf(spillway.CodeInvalid, "the header has no column %q to take the cost from; it has %q", o.CostField, c.columns)
	}
	return c, nil
}

// Columns are the header's names, in order.
func (c *CSVReader) Columns() []string { return c.columns }

// Next returns the next row. An error other than io.EOF is a broken structure
// (CodeInvalid; row, line and column in its text) or the stream's own.
func (c *CSVReader) Next() (bulk.Row, error) {
	if c.failed != nil {
		return bulk.Row{}, c.failed
	}
	row, err := c.next()
	if err != nil {
		c.failed = err
		return bulk.Row{}, err
	}
	return row, nil
}

func (c *CSVReader) next() (bulk.Row, error) {
	if !c.record() {
		if !errors.Is(c.err, io.EOF) {
			return bulk.Row{}, fmt.Errorf("after row %d: %w", c.row, c.err)
		}
		return bulk.Row{}, io.EOF
	}
	c.row++
	line, start := c.line, c.at()
	row := bulk.Row{Cost: 1}
	out := c.out[:0]
	n, extra := 0, false
	for {
		raw, err := c.field()
		if err != nil {
			return bulk.Row{}, c.explain(err, n)
		}
		if c.at()-start > int64(c.o.MaxRow) {
			if row.Bad == "" {
				row.Bad = fmt.Sprintf("row %d (line %d) is over the limit of %d bytes for a row", c.row, line, c.o.MaxRow)
			}
			raw, c.kind = head(raw, c.max), escaped
		}
		switch {
		case n < len(c.keys):
			out = append(out, c.keys[n]...)
		case c.at()-start > int64(c.o.MaxRow): // enough of it is kept
			raw = nil
		case !extra:
			out = append(out, `","":["`...)
			extra = true
		default:
			out = append(out, `","`...)
		}
		if c.kind&(escaped|high|nul) == 0 && c.size <= c.max {
			out = append(out, raw...)
		} else {
			out = c.special(out, raw, n, &row)
		}
		if n == c.cost {
			row.Cost = c.parseCost(raw, &row)
		}
		n++
		if c.last {
			break
		}
	}
	if extra {
		out = append(out, `"]}`...)
	} else {
		out = append(out, `"}`...)
	}
	if n != len(c.keys) && row.Bad == "" {
		row.Bad = fmt.Sprintf("row %d has %s, the header has %d (line %d)", c.row, plural(n, "field"), len(c.keys), line)
	}
	if cap(out) <= keep {
		c.out = out
	} else {
		c.out = nil // one huge row must not hold its memory for ever
	}
	row.Data = out
	return row, nil
}

// keep is the most bytes of a row's buffer that is used again.
const keep = 1 << 20

// special appends a field that is not plain text, and says what is bad in it.
func (c *CSVReader) special(out, raw []byte, n int, row *bulk.Row) []byte {
	problem := ""
	if c.size > c.max {
		problem = fmt.Sprintf("is %d bytes, over the limit of %d bytes for a field", c.size, c.max)
		raw = head(raw, c.max)
	}
	out, valid := appendEscaped(out, raw)
	switch {
	case problem != "":
	case c.kind&nul != 0:
		problem = "holds a NUL byte"
	case !valid:
		problem = "is not valid UTF-8"
	}
	if problem != "" && row.Bad == "" {
		row.Bad = fmt.Sprintf("row %d (line %d): %s %s", c.row, c.began(), c.column(n), problem)
	}
	return out
}

// began is the line on which the field cut last ends, which is where an editor
// finds it.
func (c *CSVReader) began() int64 {
	if c.last && c.lineStart == c.at() {
		return c.line - 1
	}
	return c.line
}

func (c *CSVReader) column(n int) string {
	if n < len(c.columns) {
		return fmt.Sprintf("column %q", c.columns[n])
	}
	return fmt.Sprintf("field %d", n+1)
}

func (c *CSVReader) parseCost(raw []byte, row *bulk.Row) int64 {
	cost, err := strconv.ParseInt(string(raw), 10, 64)
	if err == nil && cost >= 1 && cost <= maxCost {
		return cost
	}
	if row.Bad == "" {
		row.Bad = fmt.Sprintf("row %d (line %d): %s must be a cost, an integer from 1 to %d, not %q", c.row, c.began(), c.column(c.cost), maxCost, head(raw, excerpt))
	}
	return 1
}

// explain says where a structure is broken and what to do.
func (c *CSVReader) explain(err error, field int) error {
	var b *broken
	if !errors.As(err, &b) {
		return fmt.Errorf("in row %d: %w", c.row, err)
	}
	advice := "put the field in quotes and double the quotes inside it"
	if b.problem == openQuote {
		advice = "the file is cut off, or a quote is not closed"
	}
	return spillway.Errorf(spillway.CodeInvalid, "row %d, line %d, column %d (%s): %s; %s",
		c.row, b.line, b.column, c.column(field), b.problem, advice)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
