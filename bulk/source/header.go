package source

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spillway/spillway"
)

// sniff returns the separator that the first record in the window holds most
// often outside quotes; a comma if it holds none.
func sniff(window []byte) byte {
	const candidates = ",;\t|"
	var counts [len(candidates)]int
	quoted := false
	for _, c := range bytes.TrimLeft(window, "\r\n") {
		if c == '"' {
			quoted = !quoted
		}
		if quoted {
			continue
		}
		if c == '\n' {
			break
		}
		if i := strings.IndexByte(candidates, c); i >= 0 {
			counts[i]++
		}
	}
	best := 0
	for i, n := range counts {
		if n > counts[best] {
			best = i
		}
	}
	return candidates[best]
}

// firstRecord fills the window until it holds a whole line that is not blank,
// and nothing more than has arrived.
func (in *input) firstRecord() []byte {
	for n := 1; ; n = in.end - in.pos + 1 {
		window := in.buf[in.pos:in.end]
		if i := bytes.IndexFunc(window, func(c rune) bool { return c != '\r' && c != '\n' }); i >= 0 && bytes.IndexByte(window[i:], '\n') >= 0 {
			return window
		}
		if n > len(in.buf) || !in.peek(n) {
			return in.buf[in.pos:in.end]
		}
	}
}

// readHeader reads the names of the columns.
func (c *CSVReader) readHeader() error {
	bad := func(format string, args ...any) error {
		return spillway.Errorf(spillway.CodeInvalid, format, args...)
	}
	if !c.record() {
		if !errors.Is(c.err, io.EOF) {
			return c.err
		}
		return bad("the file is empty: its first row must name the columns, and each row after it is a job")
	}
	line, start := c.line, c.at()
	seen := map[string]int{}
	for !c.last || len(c.columns) == 0 {
		raw, err := c.field()
		var b *broken
		if errors.As(err, &b) {
			return bad("the header is broken at line %d, column %d: %s", b.line, b.column, b.problem)
		}
		if err != nil {
			return err
		}
		n := len(c.columns) + 1
		name := strings.TrimSpace(string(raw))
		switch {
		case c.size > maxName || c.at()-start > int64(c.o.MaxRow):
			return bad("row 1 (the header, line %d), column %d: the name is over %d bytes; is the first row the header?", line, n, maxName)
		case c.kind&nul != 0:
			return bad("row 1 (the header, line %d), column %d: the name holds a NUL byte; save the file as UTF-8 text", line, n)
		case !utf8.ValidString(name):
			return bad("row 1 (the header, line %d), column %d: the name is not UTF-8; save the file as UTF-8", line, n)
		case strings.ContainsRune(name, '\r'):
			return bad("row 1 (the header, line %d), column %d: lines end in a carriage return alone; save the file with LF or CRLF line ends", line, n)
		case name == "":
			return bad("row 1 (the header, line %d), column %d has no name; name it, or remove the column", line, n)
		case seen[name] > 0:
			return bad("row 1 (the header, line %d): columns %d and %d are both named %q; rename one", line, seen[name], n, name)
		}
		seen[name] = n
		c.columns = append(c.columns, name)
	}
	if name, found := looksLikeData(c.columns); found {
		return bad("row 1 (line %d) looks like data (%q), not like a header; add a first row that names the columns", line, name)
	}
	return nil
}

// maxName is the most bytes of a column's name: names are repeated in every
// row's JSON.
const maxName = 1000

// looksLikeData recognises the usual files without a header: a name that is
// an e-mail address, or nothing but numbers.
func looksLikeData(names []string) (name string, found bool) {
	numbers := 0
	for _, name := range names {
		if at := strings.IndexByte(name, '@'); at > 0 && strings.Contains(name[at:], ".") && !strings.ContainsRune(name, ' ') {
			return name, true
		}
		if strings.Trim(name, "0123456789.-+") == "" {
			numbers++
		}
	}
	return names[0], numbers == len(names)
}
