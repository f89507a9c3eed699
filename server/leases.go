package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
)

type leaseRequest struct {
	Body struct {
		Actions []spillway.ActionName `json:"actions" minItems:"1" maxItems:"100" doc:"The kinds of work that the worker does." example:"[\"tag\"]"`
		Tenant  spillway.TenantID     `json:"tenant,omitempty" doc:"Only this tenant's work; a tenant's key implies it."`
		Max     int                   `json:"max,omitempty" minimum:"0" maximum:"1000" doc:"Most jobs; 0 is the action's batch."`
		WaitMS  int64                 `json:"wait_ms,omitempty" minimum:"0" maximum:"60000" doc:"How long to wait for work."`
	}
}

type lease struct {
	Lease    string                `json:"lease" example:"l_01jd3x5t8k"`
	Deadline time.Time             `json:"deadline" doc:"Settle or extend before; afterwards the jobs are delivered again."`
	Group    spillway.GroupID      `json:"group"`
	Tenant   spillway.TenantID     `json:"tenant"`
	Action   spillway.ActionName   `json:"action"`
	Resource spillway.ResourceName `json:"resource"`
	Jobs     []leasedJob           `json:"jobs"`
}

type leasedJob struct {
	Index   int64           `json:"index"`
	Attempt int             `json:"attempt"`
	Key     string          `json:"key" doc:"The idempotency key: it never changes for a job."`
	Data    json.RawMessage `json:"data"`
}

type LeasePath struct {
	Lease string `path:"lease" doc:"The lease's id." maxLength:"8192"`
}

type settlement struct {
	LeasePath
	Body struct {
		Results []result `json:"results,omitempty" maxItems:"1000" doc:"What became of jobs. Without any, every job is ok; otherwise jobs that are not mentioned are delivered again."`
	}
}

type result struct {
	Index        int64           `json:"index" minimum:"0"`
	Status       string          `json:"status,omitempty" enum:"ok,failed,skipped,retry,throttled" doc:"Default ok."`
	Error        string          `json:"error,omitempty" doc:"Why, for anything but ok."`
	RetryAfterMS int64           `json:"retry_after_ms,omitempty" minimum:"0" maximum:"604800000" doc:"The least wait before the next delivery."`
	Value        json.RawMessage `json:"value,omitempty" doc:"The job's result: any JSON value."`
}

type settled struct {
	Accepted int64 `json:"accepted" doc:"How many outcomes were merged; a job that has a final one keeps it."`
}

type extension struct {
	LeasePath
	Body struct {
		ByMS int64 `json:"by_ms" minimum:"1" maximum:"3600000" doc:"From now on."`
	}
}

type extended struct {
	Deadline time.Time `json:"deadline"`
}

func (s *Server) leaseCalls() {
	const tag = "leases"
	lost := []spillway.Code{spillway.CodeNotFound, spillway.CodeLeaseLost}
	handle(s, call{
		id: "lease-jobs", tag: tag, method: http.MethodPost, path: "/v1/leases",
		example:     map[string]any{"actions": []string{"tag"}, "max": 100, "wait_ms": 10000},
		summary:     "Lease jobs to work on",
		description: "Hands out jobs of one group together with the capacity that they need, for actions with pull: true. Waits for work up to wait_ms; 204 if there was none.",
		errors:      []spillway.Code{spillway.CodeUnknownAction, spillway.CodeLimit},
	}, s.lease)
	s.api.OpenAPI().Paths["/v1/leases"].Post.Responses["204"] = &huma.Response{Description: "There was no work in time."}
	handle(s, call{
		id: "settle-lease", tag: tag, method: http.MethodPost, path: "/v1/leases/{lease}/settle",
		example:     map[string]any{"results": []any{map[string]any{"index": 17, "status": "ok", "value": map[string]any{"sent": true}}, map[string]any{"index": 18, "status": "retry", "error": "locked", "retry_after_ms": 500}}},
		summary:     "Say what became of leased jobs",
		description: "After the deadline, final outcomes are still merged for jobs that have none; 409 when none was.",
		errors:      append(slices.Clone(lost), spillway.CodeHandler, spillway.CodeTooLarge, spillway.CodeLimit),
		large:       true,
	}, s.settle)
	handle(s, call{
		id: "extend-lease", tag: tag, method: http.MethodPost, path: "/v1/leases/{lease}/extend",
		example:     map[string]any{"by_ms": 30000},
		summary:     "Extend a lease",
		description: "Moves the deadline, for work that takes longer.",
		errors:      lost,
	}, func(ctx context.Context, in *extension) (*reply[extended], error) {
		deadline, err := s.engine.ExtendLease(ctx, in.Lease, exchangeOf(ctx).who.tenant, time.Duration(in.Body.ByMS)*time.Millisecond)
		return ok(extended{Deadline: deadline.UTC()}, err)
	})
}

func (s *Server) lease(ctx context.Context, in *leaseRequest) (*reply[*lease], error) {
	tenant, err := tenantOf(ctx, in.Body.Tenant)
	if err != nil {
		return nil, err
	}
	free, err := s.streams.take(exchangeOf(ctx).who.name)
	if err != nil {
		return nil, err
	}
	defer free()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	p, err := s.engine.Lease(ctx, bulk.PullRequest{
		Actions: in.Body.Actions, Tenant: tenant, Max: in.Body.Max,
		Wait: time.Duration(in.Body.WaitMS) * time.Millisecond,
	})
	switch {
	case p == nil && s.stopping.Err() != nil:
		return nil, errStopping
	case err != nil:
		return nil, err
	case p == nil:
		return &reply[*lease]{Status: http.StatusNoContent}, nil
	}
	out := &lease{
		Lease: p.Lease, Deadline: p.Deadline.UTC(), Group: p.Group, Tenant: p.Tenant,
		Action: p.Action, Resource: p.Resource, Jobs: make([]leasedJob, 0, len(p.Jobs)),
	}
	for _, j := range p.Jobs {
		out.Jobs = append(out.Jobs, leasedJob{Index: j.Index, Attempt: j.Attempt, Key: j.Key, Data: j.Data})
	}
	return ok(out, nil)
}

func (s *Server) settle(ctx context.Context, in *settlement) (*reply[settled], error) {
	outcomes := make([]spillway.Outcome, 0, len(in.Body.Results))
	for i, r := range in.Body.Results {
		status, err := spillway.ParseStatus(r.Status)
		if err != nil {
			return nil, problemOf(err).at(fmt.Sprintf("body.results[%d].status", i), r.Status)
		}
		outcomes = append(outcomes, spillway.Outcome{
			Index: r.Index, Status: status, Error: r.Error,
			RetryAfter: time.Duration(r.RetryAfterMS) * time.Millisecond, Value: r.Value,
		})
	}
	n, err := s.engine.SettleLease(ctx, in.Lease, exchangeOf(ctx).who.tenant, outcomes)
	return ok(settled{Accepted: n}, err)
}
