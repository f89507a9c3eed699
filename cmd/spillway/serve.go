package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/post"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/internal/config"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/server"
)

// serveCmd serves the HTTP API.
type serveCmd struct {
	Listen   string `help:"Address to serve on (default 127.0.0.1:8080); port 0 takes a free one." placeholder:"HOST:PORT"`
	Workers  int    `help:"Deliveries at once (default 64)." placeholder:"N"`
	AdminKey string `help:"An API key with all rights that is not stored in the ledger." placeholder:"KEY"`
	ledgerFlags
	Queue string         `help:"Queue: memory." placeholder:"URL"`
	Drain *time.Duration `help:"How long a stop waits for work in hand (default 20s)." placeholder:"20s"`
}

func (serveCmd) Help() string {
	return `Example:

    spillway serve --config spillway.yaml --listen 127.0.0.1:8080

The first SIGINT or SIGTERM waits for the work in hand, the second stops at once; nothing is lost either way.`
}

// Run serves until a signal comes.
func (c *serveCmd) Run(a *app) error {
	cfg, ledgerURL, err := c.settings(a)
	if err != nil {
		return err
	}
	tlsConfig, err := loadTLS(cfg)
	if err != nil {
		return err
	}
	l, err := a.openLedger(a.ctx, ledgerURL)
	if err != nil {
		return err
	}
	defer a.closeLedger(l)
	e, release, err := newEngine(a, cfg, l)
	if err != nil {
		return err
	}
	defer release()
	warnOfNoLimits(a.log, cfg, e.Governed)
	s, err := server.New(server.Options{
		Engine: e, Settings: l, AdminKey: string(cfg.AdminKey), AllowPrivateURLs: cfg.AllowPrivateURLs, ResourceOf: cfg.ResourceOf, MaxBody: int64(cfg.MaxBody),
		RequestRate: flow.Rate(*cfg.RequestRate), Drain: time.Duration(*cfg.Drain), TLS: tlsConfig, Version: version, Logger: a.log,
	})
	if err != nil {
		return err
	}
	keys, err := s.HaveKeys(a.ctx)
	if err != nil {
		return err
	}
	listener, err := listen(string(cfg.Listen), keys)
	if err != nil {
		return err
	}
	scheme, who := "http", "no API keys: this machine only"
	if tlsConfig != nil {
		scheme = "https"
	}
	if keys {
		who = "API keys are on"
	}
	fmt.Fprintf(a.logs, "spillway serves on %s://%s (%s), ledger %s\n", scheme, listener.Addr(), who, ledgerURL)
	return a.serve(e, s, listener)
}

// serve runs the engine and the server until a signal comes or one fails.
func (a *app) serve(e *bulk.Engine, s *server.Server, l net.Listener) error {
	stops := catchStops(a.ctx)
	defer stops.release()
	g, ctx := errgroup.WithContext(stops.soft)
	g.Go(func() error { return e.Run(ctx, stops.hard) })
	g.Go(func() error {
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx, l) }()
		select {
		case err := <-done:
			return err
		case <-stops.hard:
			return nil
		}
	})
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case n := <-stops.said:
				fmt.Fprintln(a.logs, map[int]string{1: "stopping: waiting for the work in hand; a second signal stops at once", 2: "stopping at once"}[n])
			case <-ended:
				return
			}
		}
	}()
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return unreachablef("%w", err)
	}
	return nil
}

// settings is the configuration with what the flags say.
func (c *serveCmd) settings(a *app) (*config.Config, string, error) {
	cfg, err := a.configuration()
	if err != nil {
		return nil, "", err
	}
	ledgerURL, err := c.url(string(cfg.Ledger))
	if err != nil {
		return nil, "", err
	}
	cfg.Listen = config.Text(cmp.Or(c.Listen, string(cfg.Listen)))
	cfg.Queue = config.Text(cmp.Or(c.Queue, string(cfg.Queue)))
	cfg.Workers = cmp.Or(c.Workers, cfg.Workers)
	cfg.AdminKey = config.Text(cmp.Or(c.AdminKey, string(cfg.AdminKey)))
	if c.Drain != nil {
		cfg.Drain = (*config.Duration)(c.Drain)
	}
	if k := string(cfg.AdminKey); k != "" && len(k) < config.MinAdminKey {
		return nil, "", usagef("--admin-key: the key is too short: use at least %d random characters", config.MinAdminKey)
	}
	if _, _, err := net.SplitHostPort(string(cfg.Listen)); err != nil {
		return nil, "", usagef("--listen: %q is no address: write HOST:PORT, such as 127.0.0.1:8080", cfg.Listen)
	}
	if _, err := ledgerPath(ledgerURL); err != nil {
		return nil, "", err
	}
	return cfg, ledgerURL, checkQueue(string(cfg.Queue))
}

func loadTLS(cfg *config.Config) (*tls.Config, error) {
	if cfg.TLS.Cert == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(string(cfg.TLS.Cert), string(cfg.TLS.Key))
	if err != nil {
		return nil, usagef("tls: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}

func listen(addr string, keys bool) (net.Listener, error) {
	if host, port, _ := net.SplitHostPort(addr); host == "" && !keys {
		addr = net.JoinHostPort("127.0.0.1", port)
	}
	if err := server.CheckListen(addr, keys); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, unreachablef("%s is in use by another program; choose another address with --listen", addr)
	case err != nil:
		return nil, unreachablef("cannot listen on %s: %w", addr, err)
	}
	return l, nil
}

// newEngine makes the engine with all actions of the configuration.
func newEngine(a *app, cfg *config.Config, l ledger.Ledger) (*bulk.Engine, func(), error) {
	c := cfg.Engine()
	q, err := openQueue(a.ctx, string(cfg.Queue), l)
	if err != nil {
		return nil, nil, err
	}
	c.Ledger, c.Queue, c.Logger = l, q, a.log
	if c.Callbacks, err = newCallbacks(cfg); err != nil {
		return nil, nil, err
	}
	e, err := bulk.New(a.ctx, c)
	if err != nil {
		return nil, nil, err
	}
	var releases []func()
	release := func() {
		for _, r := range releases {
			r()
		}
	}
	for name, action := range cfg.Actions {
		settings := action.Settings()
		if settings.Reducer, err = bulk.ReducerNamed(action.Reduce); err == nil {
			var h bulk.Handler
			if !action.Pull {
				var r func()
				if h, r, err = newHandler(action.Exec, string(action.Post), string(action.Secret)); err == nil {
					releases = append(releases, r)
				}
			}
			if err == nil {
				err = e.Handle(spillway.ActionName(name), settings, h)
			}
		}
		if err != nil {
			release()
			return nil, nil, usagef("action %s: %w", name, err)
		}
	}
	return e, release, nil
}

// warnOfNoLimits tells of each action whose resource has no limits although
// resources are configured: most likely its name is misspelt.
func warnOfNoLimits(log *slog.Logger, cfg *config.Config, governed func(spillway.ResourceName) bool) {
	if len(cfg.Resources) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Actions)) {
		if r := cfg.ResourceOf(spillway.ActionName(name), "{tenant}"); !governed(r) {
			log.Warn("the action runs without a rate: no entry of resources fits its resource", "action", name, "resource", r)
		}
	}
}

// newCallbacks makes what sends callbacks, signed with the secret of the
// group's action.
func newCallbacks(cfg *config.Config) (bulk.Sender, error) {
	secrets := map[spillway.ActionName]string{}
	for name, a := range cfg.Actions {
		if a.Secret != "" {
			secrets[spillway.ActionName(name)] = string(a.Secret)
		}
	}
	return post.NewSender(post.SenderOptions{Secrets: secrets, Trusted: cfg.AllowPrivateURLs})
}
