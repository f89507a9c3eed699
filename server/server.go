package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/semaphore"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/ledger"
)

// Options is what a server is made of.
type Options struct {
	// Engine does the work; required.
	Engine Engine
	// Settings holds the API keys; required. It is the engine's ledger.
	Settings ledger.Settings
	// AdminKey is a key with all rights that is not in the ledger; "" is none.
	AdminKey string
	// AllowPrivateURLs lets callbacks given by clients go to private networks.
	AllowPrivateURLs bool
	// ResourceOf is the resource that an action wears down for a tenant, which a
	// tenant's key may name though it has no limits; nil knows none.
	ResourceOf func(spillway.ActionName, spillway.TenantID) spillway.ResourceName
	// MaxBody bounds a JSON request, in bytes. Default 32 MB. Streamed uploads
	// are bounded by the tenant's limit and by row.
	MaxBody int64
	// RequestRate bounds the requests of one key. Default 1000/s.
	RequestRate flow.Rate
	// UploadIdle is how long an upload may stall. Default 5 minutes.
	UploadIdle time.Duration
	// BodyTimeout bounds the reading of a JSON request. Default 2 minutes.
	BodyTimeout time.Duration
	// WriteTimeout bounds each write to a client. Default 1 minute.
	WriteTimeout time.Duration
	// Heartbeat is the pause between the comments that keep event streams
	// open. Default 15 s.
	Heartbeat time.Duration
	// MaxUploads and MaxStreams bound what is under way at once. Default 256 and
	// 1024; one key has at most a quarter of each.
	MaxUploads, MaxStreams int
	// Drain is how long a stop waits for requests to end. Default 20 s.
	Drain time.Duration
	// TLS, if not nil, is spoken on the listener.
	TLS *tls.Config
	// Version is the build's version.
	Version string
	// Logger gets what an operator should know. Default: slog.Default.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.MaxBody = cmp.Or(o.MaxBody, 32<<20)
	o.RequestRate = cmp.Or(o.RequestRate, flow.Rate{N: 1000, Per: time.Second})
	o.UploadIdle = cmp.Or(o.UploadIdle, 5*time.Minute)
	o.BodyTimeout = cmp.Or(o.BodyTimeout, 2*time.Minute)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, time.Minute)
	o.Heartbeat = cmp.Or(o.Heartbeat, 15*time.Second)
	o.MaxUploads = cmp.Or(o.MaxUploads, 256)
	o.MaxStreams = cmp.Or(o.MaxStreams, 1024)
	o.Drain = cmp.Or(o.Drain, 20*time.Second)
	o.Version = cmp.Or(o.Version, "devel")
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}

func (o Options) validate() error {
	switch {
	case o.Engine == nil || o.Settings == nil:
		panic("server: Options.Engine and Options.Settings are required; the caller left one out")
	case o.MaxBody < 1024:
		return spillway.Errorf(spillway.CodeInvalid, "max_body: %d is below 1024 bytes", o.MaxBody)
	}
	return nil
}

// Server serves the API of one engine.
type Server struct {
	opts    Options
	engine  Engine
	keys    *Keys
	log     *slog.Logger
	mux     *http.ServeMux
	api     huma.API
	spec    []byte
	metrics *metrics
	rates   rates
	uploads slots
	streams slots
	// bodies is what JSON requests may hold in memory together.
	bodies *semaphore.Weighted
	origin *http.CrossOriginProtection

	// stopping ends what would outlast a stop: uploads, long polls, events.
	stopping context.Context
	stop     context.CancelCauseFunc
}

// errStopping is why streams end when the server stops.
var errStopping = spillway.Errorf(spillway.CodeUnavailable, "the server is stopping: go on when it is back")

// New makes a server.
func New(o Options) (*Server, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Server{
		opts:   o,
		engine: o.Engine,
		keys:   NewKeys(o.Settings, o.AdminKey != ""),
		log:    o.Logger,
		origin: http.NewCrossOriginProtection(),
		bodies: semaphore.NewWeighted(8 * o.MaxBody),
	}
	s.stopping, s.stop = context.WithCancelCause(context.Background())
	s.metrics = newMetrics(o.Engine, o.Version)
	s.rates.init(o.RequestRate)
	s.uploads.init(o.MaxUploads, "uploads")
	s.streams.init(o.MaxStreams, "streams")
	return s, s.routes()
}

// HaveKeys reports whether any API key exists; CheckListen wants to know.
func (s *Server) HaveKeys(ctx context.Context) (bool, error) {
	if s.opts.AdminKey != "" {
		return true, nil
	}
	keys, err := s.keys.List(ctx)
	return len(keys) > 0, err
}

// Run serves on a listener until ctx ends. Then no request is taken any more,
// streams are ended, and the other requests have Options.Drain to end by
// themselves.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		TLSConfig:         s.opts.TLS,
	}
	served := make(chan error, 1)
	go func() {
		if s.opts.TLS != nil {
			served <- srv.ServeTLS(l, "", "")
			return
		}
		served <- srv.Serve(l)
	}()
	select {
	case err := <-served:
		s.Stop()
		return err
	case <-ctx.Done():
	}
	s.Stop()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Drain)
	defer cancel()
	err := srv.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		s.log.Warn("requests were cut off at the end of the drain", "drain", s.opts.Drain)
		err = srv.Close()
	}
	if served := <-served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Stop ends streams and long polls, so that a server that serves the Handler
// by itself can shut down. Run does it by itself.
func (s *Server) Stop() { s.stop(errStopping) }
