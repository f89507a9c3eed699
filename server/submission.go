package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/post"
	"github.com/spillway/spillway/flow"
)

// submitQuery is a group's settings in the query of a streamed upload.
type submitQuery struct {
	Tenant      spillway.TenantID     `query:"tenant" doc:"The group's tenant. Default: the key's own, or default." maxLength:"200"`
	Action      spillway.ActionName   `query:"action" doc:"The kind of work; required, here or in the JSON body." maxLength:"200"`
	Resource    spillway.ResourceName `query:"resource" doc:"What the work wears down, if not the action's." maxLength:"200"`
	Key         string                `query:"key" doc:"Makes the call idempotent: the same key answers the same group." maxLength:"200"`
	Callback    string                `query:"callback" doc:"The URL that gets the group object at the end." maxLength:"2000"`
	Rate        string                `query:"rate" doc:"The group's own rate." example:"50/5s"`
	Concurrency int64                 `query:"concurrency" minimum:"0" doc:"Most jobs of the group in flight; 0 is unbounded."`
	Priority    float64               `query:"priority" minimum:"-1000000000" maximum:"1000000000" doc:"Seconds of age to add."`
	NotBefore   time.Time             `query:"not_before" doc:"No job runs before."`
	Expires     time.Time             `query:"expires" doc:"No job runs after."`
	Delivery    spillway.Delivery     `query:"delivery" enum:"at-least-once,at-most-once" doc:"The promise about repeating a job, if not the action's."`
	MaxFailures string                `query:"max_failures" doc:"Pauses the group when passed: a number, or a share of final jobs." example:"1%"`
	Cost        string                `query:"cost" doc:"The field of a row that holds its cost." maxLength:"200"`
}

// groupBody is a group as JSON.
type groupBody struct {
	Tenant      spillway.TenantID     `json:"tenant,omitempty" doc:"Default: the key's own, or default."`
	Action      spillway.ActionName   `json:"action,omitempty" doc:"The kind of work; required, here or in the query." example:"tag"`
	Resource    spillway.ResourceName `json:"resource,omitempty" doc:"What the work wears down, if not the action's."`
	Key         string                `json:"key,omitempty" doc:"Makes the call idempotent: the same key answers the same group."`
	Callback    string                `json:"callback,omitempty" doc:"The URL that gets the group object at the end."`
	Rate        string                `json:"rate,omitempty" doc:"The group's own rate." example:"50/5s"`
	Concurrency int64                 `json:"concurrency,omitempty" minimum:"0"`
	Priority    float64               `json:"priority,omitempty" doc:"Seconds of age to add."`
	NotBefore   time.Time             `json:"not_before,omitzero"`
	Expires     time.Time             `json:"expires,omitzero"`
	Delivery    spillway.Delivery     `json:"delivery,omitempty" enum:"at-least-once,at-most-once"`
	MaxFailures string                `json:"max_failures,omitempty" example:"1%"`
	Cost        string                `json:"cost,omitempty" doc:"The field of a row that holds its cost."`
	Labels      map[string]string     `json:"labels,omitempty" doc:"Your own, shown and not interpreted."`
	Open        bool                  `json:"open,omitempty" doc:"The rows come later, by /jobs and /seal."`
	Jobs        []json.RawMessage     `json:"jobs,omitempty" doc:"The rows: any JSON values."`
}

// Bounds of labels: they are kept with the group and shown with it.
const (
	maxLabels     = 50
	maxLabelBytes = 1000
)

// over takes what the body does not say from the query.
func (b groupBody) over(q submitQuery) submitQuery {
	return submitQuery{
		Tenant:      cmp.Or(b.Tenant, q.Tenant),
		Action:      cmp.Or(b.Action, q.Action),
		Resource:    cmp.Or(b.Resource, q.Resource),
		Key:         cmp.Or(b.Key, q.Key),
		Callback:    cmp.Or(b.Callback, q.Callback),
		Rate:        cmp.Or(b.Rate, q.Rate),
		Concurrency: cmp.Or(b.Concurrency, q.Concurrency),
		Priority:    cmp.Or(b.Priority, q.Priority),
		NotBefore:   cmp.Or(b.NotBefore, q.NotBefore),
		Expires:     cmp.Or(b.Expires, q.Expires),
		Delivery:    cmp.Or(b.Delivery, q.Delivery),
		MaxFailures: cmp.Or(b.MaxFailures, q.MaxFailures),
		Cost:        cmp.Or(b.Cost, q.Cost),
	}
}

// submission checks what only the API must check; the engine checks the rest.
func (s *Server) submission(ctx context.Context, q submitQuery) (bulk.Submission, error) {
	invalid := func(at string, value any, format string, args ...any) (bulk.Submission, error) {
		return bulk.Submission{}, problemOf(spillway.Errorf(spillway.CodeInvalid, format, args...)).at(at, value)
	}
	tenant, err := tenantOf(ctx, q.Tenant)
	if err != nil {
		return bulk.Submission{}, err
	}
	if q.Action == "" {
		return invalid("action", "", "an action is needed: say which kind of work this is")
	}
	if err := s.mayName(ctx, q.Resource, q.Action, tenant); err != nil {
		return bulk.Submission{}, err
	}
	rate, err := flow.ParseRate(q.Rate)
	if err != nil {
		return invalid("rate", q.Rate, "rate: %w", err)
	}
	if q.Priority < -1e9 || q.Priority > 1e9 {
		return invalid("priority", q.Priority, "priority: at most a billion seconds either way")
	}
	if q.Callback != "" {
		if err := post.CheckURL(q.Callback, s.opts.AllowPrivateURLs); err != nil {
			return bulk.Submission{}, problemOf(err).at("callback", q.Callback)
		}
	}
	return bulk.Submission{
		Tenant: tenant, Action: q.Action, Resource: q.Resource, Key: q.Key,
		Rate: rate, Concurrency: q.Concurrency, Priority: time.Duration(q.Priority * float64(time.Second)),
		NotBefore: q.NotBefore, Expires: q.Expires, Delivery: q.Delivery, MaxFailures: q.MaxFailures,
		Callback: q.Callback, TrustedCallback: s.opts.AllowPrivateURLs, CostField: q.Cost,
	}, nil
}

// mayName refuses a tenant's key a resource without limits, which would lift
// those of the action's own, and one that is made from another tenant.
func (s *Server) mayName(ctx context.Context, name spillway.ResourceName, action spillway.ActionName, tenant spillway.TenantID) error {
	if name == "" || exchangeOf(ctx).who.admin {
		return nil
	}
	if s.engine.Foreign(name, tenant) {
		return problemOf(spillway.Errorf(spillway.CodeForbidden, "the resource %q is another tenant's", name)).at("resource", name)
	}
	if s.engine.Governed(name) {
		return nil
	}
	if own := s.opts.ResourceOf; own != nil && name == own(action, tenant) {
		return nil
	}
	return problemOf(spillway.Errorf(spillway.CodeForbidden,
		"no limits are configured for the resource %q, and a tenant's key may name only one that has some: leave it out to use the action's", name)).at("resource", name)
}

// checkLabels bounds labels.
func checkLabels(labels map[string]string) error {
	size := 0
	for k, v := range labels {
		size += len(k) + len(v)
	}
	if len(labels) > maxLabels || size > maxLabelBytes*maxLabels {
		return spillway.Errorf(spillway.CodeInvalid, "labels: at most %d with %d bytes in all are kept", maxLabels, maxLabelBytes*maxLabels)
	}
	return nil
}

// decodeStrict reads one JSON value whose fields must all be known.
func decodeStrict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		return problemOf(spillway.Errorf(spillway.CodeInvalid, "the body holds more than one JSON value")).at("body", nil)
	}
	p := func(place, format string, args ...any) error {
		return problemOf(spillway.Errorf(spillway.CodeInvalid, format, args...)).at(place, nil)
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); {
	case unknown:
		name = strings.Trim(name, `"`)
		return p("body."+name, "the field %q is not known; see /openapi.json", name)
	case errors.As(err, &syntax):
		return p("body", "the body is no JSON: %v at byte %d", syntax, syntax.Offset)
	case errors.As(err, &kind):
		return p("body."+kind.Field, "the field %q cannot be a %s", kind.Field, kind.Value)
	case errors.Is(err, io.EOF):
		return p("body", "the body is empty")
	}
	return p("body", "the body cannot be read: %v", fmt.Errorf("%w", err))
}
