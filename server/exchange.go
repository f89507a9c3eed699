package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/spillway/spillway"
)

// exchange is one request on its way through the server.
type exchange struct {
	id  string
	who principal
	r   *http.Request
	w   *responseWriter
}

type exchangeKey struct{}

// exchangeOf is the exchange that a handler answers.
func exchangeOf(ctx context.Context) *exchange {
	return ctx.Value(exchangeKey{}).(*exchange)
}

// Handler is the API without a listener. Its requests must come from an
// http.Server.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		x := &exchange{id: requestID()}
		x.w = &responseWriter{ResponseWriter: w, rc: http.NewResponseController(w), timeout: s.opts.WriteTimeout}
		x.r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
		defer s.finish(x, began)
		s.serve(x)
	})
}

// serve passes a request through the guards to its route.
func (s *Server) serve(x *exchange) {
	h := x.w.Header()
	h.Set("X-Request-Id", x.id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	if err := s.admit(x); err != nil {
		s.problem(x, err).write(x.w)
		return
	}
	x.r.Body = s.boundBody(x)
	s.mux.ServeHTTP(x.w, x.r)
}

// admit says whether a request may go on to its route.
func (s *Server) admit(x *exchange) error {
	if err := s.origin.Check(x.r); err != nil {
		return spillway.Errorf(spillway.CodeForbidden, "a request from another site's page: %w", err)
	}
	if public[x.r.URL.Path] {
		return nil
	}
	who, err := s.authenticate(x.r)
	if err != nil {
		return err
	}
	x.who = who
	return s.rates.take(time.Now(), who.name)
}

// finish notes how an exchange ended, a panic included.
func (s *Server) finish(x *exchange, began time.Time) {
	defer func() { s.metrics.observe(x, time.Since(began)) }()
	broken := recover()
	switch err, _ := broken.(error); {
	case broken == nil:
		return
	case errors.Is(err, http.ErrAbortHandler):
		panic(broken) // cuts the connection, so that the client notices
	}
	s.log.Error("a request failed", "request", x.id, "method", x.r.Method, "path", x.r.URL.Path,
		"panic", fmt.Sprint(broken), "stack", string(debug.Stack()))
	if x.w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	p := problemOf(spillway.CodeInternal)
	p.Request = x.id
	p.write(x.w)
}

// problem turns an error into a problem of this exchange. What has no code is
// a defect and is logged; that a store does not answer is logged by the engine.
func (s *Server) problem(x *exchange, err error) *Problem {
	p := problemOf(err)
	p.Request = x.id
	if p.Status >= http.StatusInternalServerError {
		level := slog.LevelDebug
		if p.Status == http.StatusInternalServerError && !errors.Is(err, context.Canceled) {
			level = slog.LevelError
		}
		s.log.Log(x.r.Context(), level, "a request failed", "request", x.id, "method", x.r.Method, "path", x.r.URL.Path, "err", err)
	}
	return p
}

func requestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// responseWriter gives each write its own time, so that a client that does
// not read is cut off while a long stream is not.
type responseWriter struct {
	http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	status  int
}

func (w *responseWriter) WriteHeader(status int) {
	w.extend()
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseWriter) Write(p []byte) (int, error) {
	w.extend()
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (w *responseWriter) Flush() {
	w.extend()
	_ = w.rc.Flush() // the next write says what is wrong
}

// Unwrap is for http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// extend gives the next write its time. A recorder has no deadlines.
func (w *responseWriter) extend() { _ = w.rc.SetWriteDeadline(time.Now().Add(w.timeout)) }
