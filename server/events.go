package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
)

type eventFilter struct {
	Tenant spillway.TenantID `query:"tenant" doc:"Only this tenant's groups; a tenant's key implies it." maxLength:"200"`
	Group  spillway.GroupID  `query:"group" doc:"Only this group." maxLength:"200"`
}

func (s *Server) eventCalls() {
	schema := s.api.OpenAPI().Components.Schemas.Schema(typeOf[bulk.Event](), true, "Event")
	handle(s, call{
		id: "watch-events", tag: "events", method: http.MethodGet, path: "/v1/events",
		summary: "Watch changes",
		description: "Server-sent events: group, resource and tenant changes as they happen, the event's name being its type. " +
			"A group changes at most once in 200 ms; its last state always comes. A reader that is too slow misses some. Tenants' keys see their groups only.",
		errors: []spillway.Code{spillway.CodeLimit},
		reply: map[string]*huma.MediaType{"text/event-stream": {
			Schema: schema, Example: "event: group\ndata: {\"type\":\"group\",\"group\":{…},\"at\":\"2026-11-20T09:00:00Z\"}\n\n",
		}},
	}, s.watchEvents)
}

func (s *Server) watchEvents(ctx context.Context, in *eventFilter) (*huma.StreamResponse, error) {
	tenant, err := tenantOf(ctx, in.Tenant)
	if err != nil {
		return nil, err
	}
	free, err := s.streams.take(exchangeOf(ctx).who.name)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(huma.Context) {
		defer free()
		// Subscribed before the header goes out: what happens after the client
		// has it is seen.
		events, cancel := s.engine.Subscribe()
		defer cancel()
		s.sendEvents(ctx, events, func(e bulk.Event) bool { return in.shows(e, tenant) })
	}}, nil
}

// shows reports whether an event passes the filter of a tenant ("" is all).
func (f *eventFilter) shows(e bulk.Event, tenant spillway.TenantID) bool {
	if f.Group != "" || tenant != "" {
		return e.Group != nil && (tenant == "" || e.Group.Tenant == tenant) && (f.Group == "" || e.Group.ID == f.Group)
	}
	return true
}

func (s *Server) sendEvents(ctx context.Context, events <-chan bulk.Event, shows func(bulk.Event) bool) {
	w := exchangeOf(ctx).w
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	w.Flush()
	beat := time.NewTicker(s.opts.Heartbeat)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-s.stopping.Done():
			return
		case <-beat.C:
			_, err = fmt.Fprint(w, ": still here\n\n")
		case e, open := <-events:
			if !open {
				return
			}
			if !shows(e) {
				continue
			}
			var data []byte
			if data, err = json.Marshal(e); err == nil {
				_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.Type, data)
			}
		}
		if err != nil {
			return // the client is gone
		}
		w.Flush()
	}
}
