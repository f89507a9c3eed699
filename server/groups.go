package server

import (
	"context"
	"net/http"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
)

type GroupPath struct {
	ID spillway.GroupID `path:"id" doc:"The group's id." example:"g_01jd3x5t8k0000000000000000" maxLength:"200"`
}

type groupFilter struct {
	Tenant spillway.TenantID `query:"tenant" doc:"Only this tenant's groups; a tenant's key implies it." maxLength:"200"`
	State  spillway.State    `query:"state" enum:"receiving,running,paused,completed,cancelled" doc:"Only groups in this state."`
	Key    string            `query:"key" doc:"Only the group with this key." maxLength:"200"`
	Cursor string            `query:"cursor" doc:"The next of the page before." maxLength:"200"`
	Limit  int               `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The size of a page."`
}

type resolution struct {
	GroupPath
	Body struct {
		Index *int64 `json:"index,omitempty" minimum:"0" doc:"The one job to resolve; left out, all that are in doubt."`
		As    string `json:"as" enum:"succeeded,failed,retry" doc:"What is known of it now; retry delivers it again."`
	}
}

func (s *Server) groupCalls() {
	const tag = "groups"
	handle(s, call{
		id: "list-groups", tag: tag, method: http.MethodGet, path: "/v1/groups",
		summary:     "List groups",
		description: "Lists groups, newest first, in pages.",
	}, s.listGroups)
	handle(s, call{
		id: "get-group", tag: tag, method: http.MethodGet, path: "/v1/groups/{id}",
		summary:     "Show a group",
		description: "At every moment total is the sum of succeeded, failed, skipped, cancelled, retrying, in_flight, pending and in_doubt.",
		errors:      []spillway.Code{spillway.CodeNotFound},
	}, func(ctx context.Context, in *GroupPath) (*reply[*bulk.Group], error) {
		return ok(s.see(ctx, in.ID))
	})
	handle(s, call{
		id: "why-group", tag: tag, method: http.MethodGet, path: "/v1/groups/{id}/why",
		summary:     "Say why a group is not running, or not faster",
		description: "Answers the one reason that holds the group up most, as a code and in words.",
		errors:      []spillway.Code{spillway.CodeNotFound},
	}, func(ctx context.Context, in *GroupPath) (*reply[*bulk.Why], error) {
		if _, err := s.see(ctx, in.ID); err != nil {
			return nil, err
		}
		return ok(s.engine.Why(ctx, in.ID))
	})
	for _, c := range []struct {
		verb, summary, description string
		do                         func(context.Context, spillway.GroupID) (*bulk.Group, error)
	}{
		{
			"pause", "Pause a group", "No job is handed out after the reply. Leases that are out may settle, and uploads go on. Pausing a paused group changes nothing.",
			func(ctx context.Context, id spillway.GroupID) (*bulk.Group, error) {
				return s.engine.Pause(ctx, id, exchangeOf(ctx).who.name)
			},
		},
		{"resume", "Resume a group", "A paused group returns to receiving or running. max_failures counts anew.", s.engine.Resume},
		{"cancel", "Cancel a group", "What has no outcome yet becomes cancelled; the group is finished when nothing is in flight any more. Its callback is sent.", s.engine.Cancel},
		{"retry", "Retry a group's failed jobs", "Reopens the group for its failed jobs, their attempts from 1. Rows that could not be read stay failed. A second completion sends a new callback.", s.engine.Retry},
		{"callback/resend", "Send a group's callback again", "Makes the group's last callback due now, its attempts from 0 and its id unchanged.", s.engine.ResendCallback},
	} {
		id := c.verb + "-group"
		if c.verb == "callback/resend" {
			id = "resend-callback"
		}
		handle(s, call{
			id: id, tag: tag, method: http.MethodPost, path: "/v1/groups/{id}/" + c.verb,
			summary: c.summary, description: c.description,
			errors: []spillway.Code{spillway.CodeNotFound, spillway.CodeState},
		}, func(ctx context.Context, in *GroupPath) (*reply[*bulk.Group], error) {
			if _, err := s.see(ctx, in.ID); err != nil {
				return nil, err
			}
			return ok(c.do(ctx, in.ID))
		})
	}
	handle(s, call{
		id: "resolve-group", tag: tag, method: http.MethodPost, path: "/v1/groups/{id}/resolve",
		example:     map[string]any{"index": 17, "as": "succeeded"},
		summary:     "Settle what is in doubt",
		description: "Says what became of jobs of which it is not known whether they took effect. On a completed group this moves counts without a new callback; retry reopens it.",
		errors:      []spillway.Code{spillway.CodeNotFound, spillway.CodeState},
	}, s.resolve)
}

func (s *Server) listGroups(ctx context.Context, in *groupFilter) (*reply[page[*bulk.Group]], error) {
	tenant, err := tenantOf(ctx, in.Tenant)
	if err != nil {
		return nil, err
	}
	groups, next, err := s.engine.Groups(ctx, bulk.Filter{
		Tenant: tenant, State: in.State, Key: in.Key, Cursor: in.Cursor, Limit: in.Limit,
	})
	return ok(page[*bulk.Group]{Items: orEmpty(groups), Next: next}, err)
}

func (s *Server) resolve(ctx context.Context, in *resolution) (*reply[*bulk.Group], error) {
	if _, err := s.see(ctx, in.ID); err != nil {
		return nil, err
	}
	as := map[string]spillway.Status{"succeeded": spillway.OK, "failed": spillway.Failed, "retry": spillway.Retry}[in.Body.As]
	return ok(s.engine.Resolve(ctx, in.ID, in.Body.Index, as))
}

// orEmpty makes a list that is [] in JSON when there is nothing in it.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
