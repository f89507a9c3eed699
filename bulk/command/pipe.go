package command

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// maxRest bounds what is read after the deadline: the largest pipe that Linux
// makes without privileges (fs.pipe-max-size).
const maxRest = 1 << 20

// pipe is one output of a command. Once its deadline has passed, it gives
// what stands in it already and then ends: so what a command wrote is read
// however late this process gets to it, and a process that holds the pipe
// open holds nobody up.
type pipe struct {
	*os.File
	late bool
	rest int
}

// newPipe takes what os/exec makes, which is a file.
func newPipe(r io.ReadCloser) *pipe {
	return &pipe{File: r.(*os.File), rest: maxRest}
}

func (p *pipe) Read(buf []byte) (int, error) {
	if !p.late {
		n, err := p.File.Read(buf)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		p.late = true
		_ = p.SetReadDeadline(time.Time{}) // it would forbid reading at all
	}
	return p.readRest(buf)
}

func ignoringEINTR(fd int, buf []byte) (n int, err error) {
	for {
		if n, err = syscall.Read(fd, buf); err != syscall.EINTR {
			return n, err
		}
	}
}

// readRest reads without waiting.
func (p *pipe) readRest(buf []byte) (n int, err error) {
	buf = buf[:min(len(buf), p.rest)]
	if len(buf) == 0 {
		return 0, io.EOF
	}
	conn, err := p.SyscallConn()
	if err != nil {
		return 0, err
	}
	err = conn.Read(func(fd uintptr) bool {
		n, _ = ignoringEINTR(int(fd), buf)
		return true
	})
	if n <= 0 || err != nil { // empty (EAGAIN) or closed
		return 0, io.EOF
	}
	p.rest -= n
	return n, nil
}
