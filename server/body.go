package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spillway/spillway"
)

// body reads a request with a time limit: a fixed one for the whole, or, for
// an upload, one that begins anew with each read.
type body struct {
	io.ReadCloser
	rc    *http.ResponseController
	idle  time.Duration // 0: the deadline stands for the whole body
	begun bool
	whole time.Duration

	mu struct {
		sync.Mutex
		err     error // why reading ended, io.EOF aside
		reading bool
		eof     bool
		ended   bool
	}
}

// discardTime bounds how long the rest of a body that nobody wants is read; the
// answer goes out after it.
const discardTime = time.Second

func (s *Server) boundBody(x *exchange) *body {
	return &body{ReadCloser: x.r.Body, rc: x.w.rc, whole: s.opts.BodyTimeout}
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if err := b.arm(); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.reading = false
	switch {
	case b.mu.err != nil: // interrupted
		return 0, b.mu.err
	case err == nil:
		return n, nil
	case !b.mu.ended:
		// A deadline that stays set would end the request's context.
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	if errors.Is(err, io.EOF) {
		b.mu.eof = true
		return n, err
	}
	b.mu.err = readError(err)
	return n, b.mu.err
}

// arm sets the deadline of the next read.
func (b *body) arm() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.mu.err != nil:
		return b.mu.err
	case b.mu.ended:
		return http.ErrBodyReadAfterClose
	case b.idle > 0:
		_ = b.rc.SetReadDeadline(time.Now().Add(b.idle))
	case !b.begun:
		_ = b.rc.SetReadDeadline(time.Now().Add(b.whole))
	}
	b.begun, b.mu.reading = true, true
	return nil
}

func readError(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return spillway.Errorf(codeTimeout, "the request stalled and was given up")
	case errors.As(err, &tooLarge):
		return spillway.Errorf(spillway.CodeTooLarge, "the body has more than %d bytes: send CSV or NDJSON, which are streamed", tooLarge.Limit)
	}
	return spillway.Errorf(spillway.CodeInvalid, "the request broke off: %w", err)
}

// interrupt ends reading with an error, also a read that is under way.
func (b *body) interrupt(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.ended || b.mu.err != nil {
		return
	}
	b.mu.err = why
	_ = b.rc.SetReadDeadline(time.Now())
}

// end detaches the body from its connection, whoever still holds it. A read
// under way is ended: the server closes the body when the handler returns, and
// that would wait for it.
func (b *body) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.ended = true
	switch {
	case b.mu.eof:
	case b.mu.reading:
		_ = b.rc.SetReadDeadline(time.Now())
	default:
		_ = b.rc.SetReadDeadline(time.Now().Add(discardTime))
	}
}

// failure is why reading ended early, or nil.
func (b *body) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.err
}

// upload makes a request's body a stream without a limit of length, that may
// stall for a while and ends with the server. release must be called when the
// handler is done.
func (s *Server) upload(ctx context.Context) (b *body, release func(), err error) {
	x := exchangeOf(ctx)
	free, err := s.uploads.take(x.who.name)
	if err != nil {
		return nil, nil, err
	}
	b = x.r.Body.(*body)
	b.idle = s.opts.UploadIdle
	forget := context.AfterFunc(s.stopping, func() { b.interrupt(errStopping) })
	return b, func() { forget(); b.end(); free() }, nil
}

// room takes a JSON body's share of the memory for all of them.
func (s *Server) room(r *http.Request) (free func(), err error) {
	size := r.ContentLength
	if size < 0 || size > s.opts.MaxBody {
		size = s.opts.MaxBody
	}
	if !s.bodies.TryAcquire(size) {
		return nil, spillway.Errorf(spillway.CodeLimit, "the server reads too many large bodies now: try again; rows can be sent as CSV or NDJSON, which are streamed")
	}
	return func() { s.bodies.Release(size) }, nil
}

// reserve is room for a body that the framework reads. A small one is free.
func (s *Server) reserve(ctx huma.Context, next func(huma.Context)) {
	x := exchangeOf(ctx.Context())
	if n := x.r.ContentLength; n < 0 || n > smallBody {
		free, err := s.room(x.r)
		if err != nil {
			s.problem(x, err).write(x.w)
			return
		}
		defer free()
	}
	next(ctx)
}

// readAll reads a JSON body within the server's limit of memory.
func (s *Server) readAll(ctx context.Context) ([]byte, func(), error) {
	x := exchangeOf(ctx)
	free, err := s.room(x.r)
	if err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(http.MaxBytesReader(x.w.ResponseWriter, x.r.Body, s.opts.MaxBody))
	if err != nil {
		free()
		if spillway.CodeOf(err) == spillway.CodeInternal {
			err = readError(err)
		}
		return nil, nil, err
	}
	return data, free, nil
}
