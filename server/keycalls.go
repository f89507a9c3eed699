package server

import (
	"context"
	"net/http"
	"time"

	"github.com/spillway/spillway"
)

type newKey struct {
	Body struct {
		Tenant spillway.TenantID `json:"tenant,omitempty" doc:"The one tenant that the key sees." maxLength:"200" example:"acme"`
		Admin  bool              `json:"admin,omitempty" doc:"An admin's key, instead of a tenant's."`
		Label  string            `json:"label,omitempty" doc:"What the key is for." maxLength:"200"`
	}
}

type createdKey struct {
	Key
	Secret string `json:"secret" doc:"The key itself. It is not kept: this is the only time that it is shown." example:"sw_3vXh…"`
}

type keyID struct {
	ID string `path:"id" doc:"The key's id." example:"k_5f0c9a1e2b3d" maxLength:"200"`
}

func (s *Server) keyCalls() {
	const tag = "keys"
	handle(s, call{
		id: "list-keys", tag: tag, method: http.MethodGet, path: "/v1/keys",
		summary:     "List API keys",
		description: "All keys, without their secrets. For admins.",
	}, func(ctx context.Context, _ *struct{}) (*reply[page[Key]], error) {
		if err := needAdmin(ctx); err != nil {
			return nil, err
		}
		keys, err := s.keys.List(ctx)
		return ok(page[Key]{Items: orEmpty(keys)}, err)
	})
	handle(s, call{
		id: "create-key", tag: tag, method: http.MethodPost, path: "/v1/keys", status: http.StatusCreated,
		example:     map[string]any{"tenant": "acme", "label": "nightly import"},
		summary:     "Create an API key",
		description: "Answers the secret once; the server keeps its hash only. The first key must be an admin's. For admins.",
		errors:      []spillway.Code{spillway.CodeState},
	}, s.createKey)
	handle(s, call{
		id: "revoke-key", tag: tag, method: http.MethodDelete, path: "/v1/keys/{id}", status: http.StatusNoContent,
		summary:     "Revoke an API key",
		description: "The key ends at once here, and within seconds on other instances. For admins.",
		errors:      []spillway.Code{spillway.CodeNotFound},
	}, func(ctx context.Context, in *keyID) (*struct{}, error) {
		if err := needAdmin(ctx); err != nil {
			return nil, err
		}
		return nil, s.keys.Revoke(ctx, time.Now(), in.ID, exchangeOf(ctx).who.name)
	})
}

func (s *Server) createKey(ctx context.Context, in *newKey) (*reply[createdKey], error) {
	if err := needAdmin(ctx); err != nil {
		return nil, err
	}
	key, secret, err := s.keys.Create(ctx, time.Now(), Key{
		Tenant: in.Body.Tenant, Admin: in.Body.Admin, Label: in.Body.Label, CreatedBy: exchangeOf(ctx).who.name,
	})
	if err != nil {
		return nil, err
	}
	return &reply[createdKey]{Status: http.StatusCreated, Body: createdKey{Key: key, Secret: secret}}, nil
}
