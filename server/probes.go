package server

import (
	"context"
	_ "embed"
	"net/http"
	"runtime"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spillway/spillway"
)

const about = `Spillway runs bulk work for many tenants: fair, rate-limited, resumable.

A **group** is one bulk request: any number of **jobs** of one **action**, worn down on one **resource**, for one
**tenant**. Upload the rows, and watch the group; its jobs run while the upload still streams.

Names are in snake_case, times are RFC 3339 in UTC. Lists are {"items": […], "next": "cursor"}. Errors are problem
documents (RFC 9457) whose code is stable. Unknown fields and unknown query parameters are errors.`

var tags = []*huma.Tag{
	{Name: "groups", Description: "Bulk requests: upload, watch, pause, retry."},
	{Name: "jobs", Description: "What became of each row."},
	{Name: "leases", Description: "Work for pull workers, in any language."},
	{Name: "events", Description: "Changes as they happen."},
	{Name: "resources", Description: "What work wears down, and its limits."},
	{Name: "tenants", Description: "Who the work is for."},
	{Name: "keys", Description: "API keys."},
	{Name: "probes", Description: "Whether the server lives and works."},
}

type health struct {
	Status  string `json:"status" example:"ok"`
	Version string `json:"version"`
}

func (s *Server) probeCalls() {
	const tag = "probes"
	handle(s, call{
		id: "healthz", tag: tag, method: http.MethodGet, path: "/healthz", open: true,
		summary:     "Is the server alive?",
		description: "200 as long as the process serves. Needs no key.",
	}, func(context.Context, *struct{}) (*reply[health], error) {
		return ok(health{Status: "ok", Version: s.opts.Version}, nil)
	})
	handle(s, call{
		id: "readyz", tag: tag, method: http.MethodGet, path: "/readyz", open: true,
		summary:     "Does the server work?",
		description: "200 when the engine has recovered and its ledger answers, else 503 with the reason. Needs no key.",
	}, func(context.Context, *struct{}) (*reply[health], error) {
		if s.stopping.Err() != nil {
			return nil, errStopping
		}
		if err := s.engine.Ready(); err != nil {
			return nil, spillway.Errorf(spillway.CodeUnavailable, "not ready: %w", err)
		}
		return ok(health{Status: "ok", Version: s.opts.Version}, nil)
	})
	handle(s, call{
		id: "metrics", tag: tag, method: http.MethodGet, path: "/metrics",
		summary:     "Metrics",
		description: "Prometheus text format. Needs an admin's key if there are keys.",
		reply:       map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: "string"}}},
	}, func(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
		if err := needAdmin(ctx); err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(huma.Context) {
			x := exchangeOf(ctx)
			s.metrics.handler.ServeHTTP(x.w, x.r)
		}}, nil
	})
}

//go:embed home.html
var home []byte

func (s *Server) serveHome(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(home) // the client may be gone
}

var goVersion = runtime.Version()
