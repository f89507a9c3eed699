package command

import (
	"bytes"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/internal/wire"
)

// tailSize is how much of the errors' end is kept, at least.
const tailSize = 4 << 10

// tail is a writer that keeps the end of what is written.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if len(p) > tailSize {
		p = p[len(p)-tailSize:]
	}
	if len(t.buf)+len(p) > 2*tailSize {
		t.buf = t.buf[:copy(t.buf, t.buf[len(t.buf)-tailSize:])]
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

// last is the last line that is not blank; of a very long one, its end.
func (t *tail) last() string {
	text := bytes.TrimSpace(t.buf)
	line := bytes.TrimSpace(text[bytes.LastIndexByte(text, '\n')+1:])
	if cut := len(line) - spillway.MaxReason; cut > 0 {
		line = line[cut:]
	}
	return wire.Quote(line, spillway.MaxReason)
}
