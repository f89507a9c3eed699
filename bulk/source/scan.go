package source

import (
	"bytes"
	"errors"
	"io"
)

// class says what a byte means to the scanner; a field's class is the union of
// its bytes'.
type class uint8

const (
	stop    class = 1 << iota // ends an unquoted run: separator, newline, quote
	quote                     // ends a quoted run
	escaped                   // has a JSON escape
	high                      // part of a multi-byte character
	feed                      // carriage return or newline
	nul
)

func classes(separator byte) (t [256]class) {
	for c := range t {
		switch {
		case c < 0x20:
			t[c] = escaped
		case c >= 0x80:
			t[c] = high
		}
	}
	t[0] |= nul
	t['\\'] |= escaped
	t['\r'] |= feed
	t['\n'] |= stop | feed
	t['"'] |= stop | quote | escaped
	t[separator] |= stop
	return t
}

// scanner cuts a stream into fields as encoding/csv does.
type scanner struct {
	input
	table     [256]class
	separator byte
	max       int // of a field's bytes

	line      int64 // of the next byte, from 1
	lineStart int64 // offset of that line

	// The field that was cut last.
	part   []byte // what of it left the window, at most max+1 bytes
	size   int    // its bytes, those that were dropped included
	kind   class
	last   bool // it ends its record
	opened position
}

type position struct{ line, column int64 }

// broken is a structure that cannot be read on from.
type broken struct {
	position
	problem string
}

func (b *broken) Error() string { return b.problem }

const (
	bareQuote  = `bare " in non-quoted field`
	extraQuote = `extraneous or missing " in quoted-field`
	openQuote  = `the input ends inside a quoted field`
)

func (s *scanner) here() position { return position{s.line, s.at() - s.lineStart + 1} }

func (s *scanner) newline() {
	s.line++
	s.lineStart = s.at()
}

// record goes to the start of the next record past blank lines; false at the
// end of the stream.
func (s *scanner) record() bool {
	for {
		if s.pos == s.end && !s.fill() {
			return false
		}
		switch s.buf[s.pos] {
		case '\n':
			s.pos++
		case '\r':
			if !s.peek(2) {
				return false // as encoding/csv, which drops a last carriage return
			}
			if s.buf[s.pos+1] != '\n' {
				return true
			}
			s.pos += 2
		default:
			return true
		}
		s.newline()
	}
}

// field cuts the next field. It shares the scanner's memory until the next
// call. A field over max is cut short; size tells.
func (s *scanner) field() ([]byte, error) {
	s.part, s.size, s.kind, s.last = s.part[:0], 0, 0, false
	if s.pos == s.end && !s.fill() {
		return s.ended()
	}
	if s.buf[s.pos] == '"' {
		return s.quoted()
	}
	kind := class(0)
	for {
		window := s.buf[s.pos:s.end]
		i := 0
		for ; i < len(window); i++ {
			k := s.table[window[i]]
			if k&stop != 0 {
				break
			}
			kind |= k
		}
		s.pos += i
		if i == len(window) {
			s.spill(window)
			if !s.fill() {
				s.kind = kind
				return s.ended()
			}
			continue
		}
		s.kind = kind
		switch window[i] {
		case s.separator:
			s.pos++
			return s.join(window[:i]), nil
		case '\n':
			s.pos++
			s.newline()
			return s.lastField(window[:i]), nil
		}
		return nil, &broken{s.here(), bareQuote}
	}
}

// ended is a field that the end of the stream ends.
func (s *scanner) ended() ([]byte, error) {
	if !errors.Is(s.err, io.EOF) {
		return nil, s.err
	}
	return s.lastField(nil), nil
}

// lastField drops the carriage return before the end of the line.
func (s *scanner) lastField(rest []byte) []byte {
	s.last = true
	raw := s.join(rest)
	if n := len(raw) - 1; n >= 0 && raw[n] == '\r' && s.size == len(raw) {
		raw = raw[:n]
		s.size--
	}
	return raw
}

func (s *scanner) quoted() ([]byte, error) {
	s.opened = s.here()
	s.pos++
	for {
		window := s.buf[s.pos:s.end]
		kind := class(0)
		i := 0
		for ; i < len(window); i++ {
			k := s.table[window[i]]
			if k&quote != 0 {
				break
			}
			kind |= k
		}
		s.kind |= kind
		s.pos += i
		if kind&feed != 0 {
			if n := bytes.Count(window[:i], []byte{'\n'}); n > 0 {
				s.line += int64(n)
				s.lineStart = s.at() - int64(i-bytes.LastIndexByte(window[:i], '\n')) + 1
			}
		}
		if i == len(window) {
			s.spill(window)
			if !s.fill() {
				if !errors.Is(s.err, io.EOF) {
					return nil, s.err
				}
				return nil, &broken{s.opened, openQuote}
			}
			continue
		}
		rest := window[:i]
		if i+2 >= len(window) { // what follows the quote is not in the window
			s.spill(rest)
			rest = nil
		}
		at := s.here()
		s.pos++
		if !s.peek(1) {
			return s.unquoteLast(rest)
		}
		if s.buf[s.pos] == '\r' {
			if !s.peek(2) {
				s.pos++
				return s.unquoteLast(rest)
			}
			if s.buf[s.pos+1] == '\n' {
				s.pos++
			}
		}
		switch s.buf[s.pos] {
		case '"':
			s.spill(rest)
			s.spill(s.buf[s.pos : s.pos+1])
			s.kind |= escaped
			s.pos++
		case s.separator:
			s.pos++
			return s.unquote(rest), nil
		case '\n':
			s.pos++
			s.newline()
			s.last = true
			return s.unquote(rest), nil
		default:
			return nil, &broken{at, extraQuote}
		}
	}
}

// unquoteLast is a quoted field that the end of the stream ends.
func (s *scanner) unquoteLast(rest []byte) ([]byte, error) {
	if !errors.Is(s.err, io.EOF) {
		return nil, s.err
	}
	s.last = true
	return s.unquote(rest), nil
}

func (s *scanner) unquote(rest []byte) []byte {
	raw := s.join(rest)
	if s.kind&feed == 0 {
		return raw
	}
	out := raw[:0]
	for i, c := range raw {
		if c != '\r' || i+1 == len(raw) || raw[i+1] != '\n' {
			out = append(out, c)
		}
	}
	s.size -= len(raw) - len(out)
	return out
}

// spill keeps bytes that leave the window, up to one over the limit: a last
// carriage return does not count.
func (s *scanner) spill(b []byte) {
	s.size += len(b)
	s.part = append(s.part, b[:min(len(b), max(0, s.max+1-len(s.part)))]...)
}

func (s *scanner) join(rest []byte) []byte {
	if len(s.part) == 0 {
		s.size += len(rest)
		return rest
	}
	s.spill(rest)
	return s.part
}
