package main

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/server"
)

func groupPath(id spillway.GroupID) string { return "/v1/groups/" + url.PathEscape(string(id)) }

func (c *client) Groups(ctx context.Context, f bulk.Filter) ([]*bulk.Group, string, error) {
	query := url.Values{}
	for name, value := range map[string]string{"tenant": string(f.Tenant), "key": f.Key, "state": string(f.State), "cursor": f.Cursor} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if f.Limit > 0 {
		query.Set("limit", strconv.Itoa(f.Limit))
	}
	return onePage[*bulk.Group](ctx, c, "/v1/groups", query)
}

// group makes a call that answers a group.
func (c *client) group(ctx context.Context, method, path string, in any) (*bulk.Group, error) {
	g := new(bulk.Group)
	return g, c.call(ctx, method, path, in, g)
}

func (c *client) Group(ctx context.Context, id spillway.GroupID) (*bulk.Group, error) {
	return c.group(ctx, http.MethodGet, groupPath(id), nil)
}

// Pause pauses a group. The server takes who did it from the key.
func (c *client) Pause(ctx context.Context, id spillway.GroupID, _ string) (*bulk.Group, error) {
	return c.group(ctx, http.MethodPost, groupPath(id)+"/pause", nil)
}

func (c *client) Resume(ctx context.Context, id spillway.GroupID) (*bulk.Group, error) {
	return c.group(ctx, http.MethodPost, groupPath(id)+"/resume", nil)
}

func (c *client) Cancel(ctx context.Context, id spillway.GroupID) (*bulk.Group, error) {
	return c.group(ctx, http.MethodPost, groupPath(id)+"/cancel", nil)
}

func (c *client) Retry(ctx context.Context, id spillway.GroupID) (*bulk.Group, error) {
	return c.group(ctx, http.MethodPost, groupPath(id)+"/retry", nil)
}

func (c *client) ResendCallback(ctx context.Context, id spillway.GroupID) (*bulk.Group, error) {
	return c.group(ctx, http.MethodPost, groupPath(id)+"/callback/resend", nil)
}

func (c *client) Resolve(ctx context.Context, id spillway.GroupID, index *int64, as spillway.Status) (*bulk.Group, error) {
	in := map[string]any{"as": as.String()}
	if as == spillway.OK {
		in["as"] = "succeeded"
	}
	if index != nil {
		in["index"] = *index
	}
	return c.group(ctx, http.MethodPost, groupPath(id)+"/resolve", in)
}

func (c *client) Why(ctx context.Context, id spillway.GroupID) (*bulk.Why, error) {
	w := new(bulk.Why)
	return w, c.call(ctx, http.MethodGet, groupPath(id)+"/why", nil, w)
}

func (c *client) Failures(ctx context.Context, id spillway.GroupID, from int64) iter.Seq2[bulk.JobView, error] {
	return c.stream(ctx, fmt.Sprintf("%s/failures?cursor=%d", groupPath(id), from))
}

func (c *client) Results(ctx context.Context, id spillway.GroupID, from int64) iter.Seq2[bulk.JobView, error] {
	return c.stream(ctx, fmt.Sprintf("%s/results?cursor=%d", groupPath(id), from))
}

func (c *client) Prune(ctx context.Context) (p ledger.Pruned, err error) {
	return p, c.call(ctx, http.MethodPost, "/v1/prune", nil, &p)
}

func resourcePath(name spillway.ResourceName) string {
	return "/v1/resources/" + url.PathEscape(string(name))
}

func (c *client) Resources(ctx context.Context) ([]*bulk.Resource, error) {
	return items[*bulk.Resource](ctx, c, "/v1/resources", url.Values{})
}

func (c *client) Resource(ctx context.Context, name spillway.ResourceName) (*bulk.Resource, error) {
	r := new(bulk.Resource)
	return r, c.call(ctx, http.MethodGet, resourcePath(name), nil, r)
}

// SetResource changes a resource. The server takes who did it from the key.
func (c *client) SetResource(ctx context.Context, name spillway.ResourceName, change bulk.ResourceChange, _ string) (*bulk.Resource, error) {
	in := map[string]any{}
	if change.Rate != nil {
		in["rate"] = change.Rate.String()
	}
	if change.Concurrency != nil {
		in["concurrency"] = *change.Concurrency
	}
	if change.Paused != nil {
		in["paused"] = *change.Paused
	}
	r := new(bulk.Resource)
	return r, c.call(ctx, http.MethodPut, resourcePath(name), in, r)
}

func tenantPath(t spillway.TenantID) string { return "/v1/tenants/" + url.PathEscape(string(t)) }

func (c *client) Tenants(ctx context.Context) ([]*bulk.Tenant, error) {
	return items[*bulk.Tenant](ctx, c, "/v1/tenants", url.Values{})
}

func (c *client) PauseTenant(ctx context.Context, t spillway.TenantID, paused bool, _ string) error {
	verb := "/resume"
	if paused {
		verb = "/pause"
	}
	return c.call(ctx, http.MethodPost, tenantPath(t)+verb, nil, nil)
}

func (c *client) EraseTenant(ctx context.Context, t spillway.TenantID) (int64, error) {
	var out struct {
		Groups int64 `json:"groups"`
	}
	return out.Groups, c.call(ctx, http.MethodPost, tenantPath(t)+"/erase", nil, &out)
}

func (c *client) CreateKey(ctx context.Context, k server.Key) (n newKey, err error) {
	in := map[string]any{"tenant": k.Tenant, "admin": k.Admin, "label": k.Label}
	return n, c.call(ctx, http.MethodPost, "/v1/keys", in, &n)
}

func (c *client) ListKeys(ctx context.Context) ([]server.Key, error) {
	return items[server.Key](ctx, c, "/v1/keys", url.Values{})
}

func (c *client) RevokeKey(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/v1/keys/"+url.PathEscape(id), nil, nil)
}
