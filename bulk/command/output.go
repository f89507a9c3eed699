package command

import (
	"bytes"
	"io"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/internal/wire"
)

const (
	// maxLine is the longest line of output that is read as a result.
	maxLine = 1 << 20
	// maxShown is how much of a bad line an error repeats.
	maxShown = 200
	// firstRead is the usual size of a pipe on Linux.
	firstRead = 64 << 10
)

// output reads a command's results. What one read of the pipe brings is
// reported together: single lines while they trickle, hundreds when they
// pour.
type output struct {
	report func(...spillway.Outcome)
	// err is the first line that is not a result.
	err error

	line    int  // lines ended
	skip    bool // up to the end of a line that was too long
	pending []spillway.Outcome
}

func (o *output) read(r io.Reader) {
	buf := make([]byte, 0, firstRead)
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		old := len(buf)
		buf = o.take(buf[:old+n], old)
		if err != nil && len(buf) > 0 {
			o.one(buf)
		}
		o.flush()
		if err != nil {
			return
		}
		buf = o.room(buf)
	}
}

// take handles the complete lines in buf, whose first old bytes hold no line
// break, and returns the rest, moved to the front.
func (o *output) take(buf []byte, old int) []byte {
	start, from := 0, old
	for {
		k := bytes.IndexByte(buf[from:], '\n')
		if k < 0 {
			return buf[:copy(buf, buf[start:])]
		}
		o.one(buf[start : from+k])
		start, from = from+k+1, from+k+1
	}
}

// room makes sure that more can be read: a line beyond the limit is dropped
// up to its end.
func (o *output) room(buf []byte) []byte {
	switch {
	case o.skip:
		return buf[:0]
	case len(buf) < cap(buf):
		return buf
	case len(buf) < maxLine:
		return append(make([]byte, 0, min(2*cap(buf), maxLine)), buf...)
	}
	o.bad(o.line+1, buf, spillway.Errorf(spillway.CodeHandler, "longer than %d bytes", maxLine))
	o.skip = true
	return buf[:0]
}

// one handles one line, without its break.
func (o *output) one(line []byte) {
	o.line++
	if o.skip { // the end of a line that was too long
		o.skip = false
		return
	}
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	result, err := wire.ParseResult(line)
	if err != nil {
		o.bad(o.line, line, err)
		return
	}
	o.pending = append(o.pending, result)
}

func (o *output) bad(number int, line []byte, err error) {
	if o.err == nil {
		o.err = spillway.Errorf(spillway.CodeHandler, "line %d of the command's output: %w: %s", number, err, wire.Quote(line, maxShown))
	}
}

func (o *output) flush() {
	if len(o.pending) > 0 {
		o.report(o.pending...)
		o.pending = make([]spillway.Outcome, 0, cap(o.pending)) // the last one is the engine's
	}
}
