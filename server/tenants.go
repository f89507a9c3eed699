package server

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
)

type tenantID struct {
	Tenant spillway.TenantID `path:"tenant" doc:"The tenant's name." example:"acme" maxLength:"200"`
}

type erased struct {
	Groups int64 `json:"groups" doc:"How many groups were deleted."`
	Keys   int   `json:"keys" doc:"How many API keys were revoked."`
}

type pruned struct {
	Groups int64 `json:"groups" doc:"How many groups were deleted."`
	Chunks int64 `json:"chunks" doc:"How many chunks of payload were deleted."`
	More   bool  `json:"more" doc:"There is more to delete: call again."`
}

func (s *Server) tenantCalls() {
	const tag = "tenants"
	handle(s, call{
		id: "list-tenants", tag: tag, method: http.MethodGet, path: "/v1/tenants",
		summary:     "List tenants",
		description: "What each tenant holds, and its limits. A tenant's key sees its own.",
	}, s.listTenants)
	for verb, paused := range map[string]bool{"pause": true, "resume": false} {
		summary := map[bool]string{true: "Pause a tenant", false: "Resume a tenant"}[paused]
		handle(s, call{
			id: verb + "-tenant", tag: tag, method: http.MethodPost, path: "/v1/tenants/{tenant}/" + verb,
			status:      http.StatusNoContent,
			summary:     summary,
			description: "A paused tenant is granted nothing; its share goes to the others. For admins.",
		}, func(ctx context.Context, in *tenantID) (*struct{}, error) {
			if err := needAdmin(ctx); err != nil {
				return nil, err
			}
			return nil, s.engine.PauseTenant(ctx, in.Tenant, paused, exchangeOf(ctx).who.name)
		})
	}
	handle(s, call{
		id: "erase-tenant", tag: tag, method: http.MethodPost, path: "/v1/tenants/{tenant}/erase",
		summary:     "Erase a tenant",
		description: "Revokes the tenant's API keys, cancels its groups and deletes everything of them: payloads, outcomes, values and callbacks. For admins.",
	}, s.eraseTenant)
	handle(s, call{
		id: "prune", tag: tag, method: http.MethodPost, path: "/v1/prune",
		summary:     "Apply retention now",
		description: "Deletes what the configured retention no longer keeps, as the server does by itself from time to time. For admins.",
	}, func(ctx context.Context, _ *struct{}) (*reply[pruned], error) {
		if err := needAdmin(ctx); err != nil {
			return nil, err
		}
		p, err := s.engine.Prune(ctx)
		return ok(pruned{Groups: p.Groups, Chunks: p.Chunks, More: p.More}, err)
	})
}

func (s *Server) eraseTenant(ctx context.Context, in *tenantID) (*reply[erased], error) {
	if err := needAdmin(ctx); err != nil {
		return nil, err
	}
	// The keys first, so that nothing new comes in behind.
	keys, err := s.keys.RevokeTenant(ctx, time.Now(), in.Tenant, exchangeOf(ctx).who.name)
	if err != nil {
		return nil, err
	}
	n, err := s.engine.EraseTenant(ctx, in.Tenant)
	return ok(erased{Groups: n, Keys: keys}, err)
}

func (s *Server) listTenants(ctx context.Context, _ *struct{}) (*reply[page[*bulk.Tenant]], error) {
	all, err := s.engine.Tenants(ctx)
	if who := exchangeOf(ctx).who; !who.admin {
		all = slices.DeleteFunc(all, func(t *bulk.Tenant) bool { return t.ID != who.tenant })
	}
	return ok(page[*bulk.Tenant]{Items: orEmpty(all)}, err)
}
