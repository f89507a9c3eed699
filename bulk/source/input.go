package source

import (
	"io"

	"github.com/spillway/spillway"
)

// bufferSize is the read-ahead: large enough that calls don't count, small
// enough to stay in a core's cache.
const bufferSize = 64 << 10

// input is a window on a stream: buf[pos:end] is read and not consumed.
type input struct {
	r        io.Reader
	buf      []byte
	pos, end int
	base     int64 // offset of buf[0] in the stream
	err      error // what ended the stream, io.EOF included
}

// open starts a stream and takes a byte order mark off it.
func (in *input) open(r io.Reader) error {
	*in = input{r: r, buf: make([]byte, bufferSize)}
	if in.peek(2) {
		switch [2]byte(in.buf[in.pos:]) {
		case [2]byte{0xFE, 0xFF}, [2]byte{0xFF, 0xFE}:
			return spillway.Errorf(spillway.CodeInvalid, "the input is UTF-16: save it as UTF-8")
		case [2]byte{0xEF, 0xBB}:
			if in.peek(3) && in.buf[in.pos+2] == 0xBF {
				in.pos += 3
			}
		}
	}
	return nil
}

// fill reads more into a window that is used up; false at the end.
func (in *input) fill() bool {
	in.base += int64(in.end)
	in.pos, in.end = 0, 0
	return in.more()
}

// more reads behind what the window holds; false at the end.
func (in *input) more() bool {
	for range 100 {
		if in.err != nil {
			return false
		}
		var n int
		n, in.err = in.r.Read(in.buf[in.end:])
		in.end += n
		if n > 0 {
			return true
		}
	}
	in.err = io.ErrNoProgress
	return false
}

// peek makes sure that n unread bytes are in the window; false if the stream
// ends before.
func (in *input) peek(n int) bool {
	for in.end-in.pos < n {
		if in.pos > 0 {
			copy(in.buf, in.buf[in.pos:in.end])
			in.base += int64(in.pos)
			in.pos, in.end = 0, in.end-in.pos
		}
		if !in.more() {
			return false
		}
	}
	return true
}

// at is the offset of the next byte in the stream.
func (in *input) at() int64 { return in.base + int64(in.pos) }
