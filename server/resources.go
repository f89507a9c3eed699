package server

import (
	"context"
	"net/http"
	"reflect"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/flow"
)

type ResourcePath struct {
	Name spillway.ResourceName `path:"name" doc:"The resource's name." example:"customers" maxLength:"200"`
}

type resourceUpdate struct {
	ResourcePath
	Body struct {
		Rate        *string `json:"rate,omitempty" doc:"N in any window of a period; empty is unlimited." example:"500/s"`
		Concurrency *int64  `json:"concurrency,omitempty" minimum:"0" doc:"Most jobs in flight; 0 is unbounded."`
		Paused      *bool   `json:"paused,omitempty" doc:"A paused resource grants nothing."`
	}
}

func (s *Server) resourceCalls() {
	const tag = "resources"
	notFound := []spillway.Code{spillway.CodeNotFound}
	handle(s, call{
		id: "list-resources", tag: tag, method: http.MethodGet, path: "/v1/resources",
		summary:     "List resources",
		description: "Every resource that is configured or has work, with its limits and what was measured. For admins.",
	}, func(ctx context.Context, _ *struct{}) (*reply[page[*bulk.Resource]], error) {
		if err := needAdmin(ctx); err != nil {
			return nil, err
		}
		all, err := s.engine.Resources(ctx)
		return ok(page[*bulk.Resource]{Items: orEmpty(all)}, err)
	})
	handle(s, call{
		id: "get-resource", tag: tag, method: http.MethodGet, path: "/v1/resources/{name}",
		summary:     "Show a resource",
		description: "Its limits, what was measured, and who changed it last. For admins.",
		errors:      notFound,
	}, func(ctx context.Context, in *ResourcePath) (*reply[*bulk.Resource], error) {
		if err := needAdmin(ctx); err != nil {
			return nil, err
		}
		return ok(s.engine.Resource(ctx, in.Name))
	})
	handle(s, call{
		id: "set-resource", tag: tag, method: http.MethodPut, path: "/v1/resources/{name}",
		example:     map[string]any{"rate": "500/s", "concurrency": 20},
		summary:     "Change a resource's limits",
		description: "Takes effect at once, outlives restarts and goes before the configuration. What is left out stays. For admins.",
		errors:      notFound,
	}, s.setResource)
	for verb, paused := range map[string]bool{"pause": true, "resume": false} {
		summary := map[bool]string{true: "Pause a resource", false: "Resume a resource"}[paused]
		handle(s, call{
			id: verb + "-resource", tag: tag, method: http.MethodPost, path: "/v1/resources/{name}/" + verb,
			summary:     summary,
			description: "A paused resource grants nothing to anyone; leases that are out may settle. For admins.",
			errors:      notFound,
		}, func(ctx context.Context, in *ResourcePath) (*reply[*bulk.Resource], error) {
			if err := needAdmin(ctx); err != nil {
				return nil, err
			}
			return ok(s.engine.SetResource(ctx, in.Name, bulk.ResourceChange{Paused: &paused}, exchangeOf(ctx).who.name))
		})
	}
}

func (s *Server) setResource(ctx context.Context, in *resourceUpdate) (*reply[*bulk.Resource], error) {
	if err := needAdmin(ctx); err != nil {
		return nil, err
	}
	change := bulk.ResourceChange{Concurrency: in.Body.Concurrency, Paused: in.Body.Paused}
	if in.Body.Rate != nil {
		rate, err := flow.ParseRate(*in.Body.Rate)
		if err != nil {
			return nil, problemOf(spillway.Errorf(spillway.CodeInvalid, "rate: %w", err)).at("body.rate", *in.Body.Rate)
		}
		change.Rate = &rate
	}
	if reflect.ValueOf(change).IsZero() {
		return nil, spillway.Errorf(spillway.CodeInvalid, "nothing to change: give rate, concurrency or paused")
	}
	return ok(s.engine.SetResource(ctx, in.Name, change, exchangeOf(ctx).who.name))
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }
