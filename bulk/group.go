package bulk

import (
	"encoding/json"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
)

// MaxName bounds the bytes of tenants', actions', resources' names and keys.
const MaxName = 200

// MaxValue bounds the bytes of a job's value.
const MaxValue = 1 << 20

// Submission is what a group begins with.
type Submission struct {
	Tenant spillway.TenantID   // default "default"
	Action spillway.ActionName // required
	// Resource overrides the action's.
	Resource spillway.ResourceName
	// Key makes the submission idempotent within the tenant: the same key
	// answers the same group.
	Key         string
	Rate        flow.Rate
	Concurrency int64
	Priority    time.Duration
	NotBefore   time.Time
	Expires     time.Time
	// Delivery overrides the action's.
	Delivery spillway.Delivery
	// MaxFailures pauses the group when passed: "N", or "P%" of final jobs,
	// judged from 100 on. "" is none.
	MaxFailures string
	// Callback is the URL that gets the group object at the end.
	Callback string
	// TrustedCallback: the URL was written by an operator, not by a client.
	TrustedCallback bool
	// CostField names the field of a row that holds its cost.
	CostField string
	Labels    map[string]string
}

// Group is a group as users see it. At every moment Total is the sum of
// Succeeded, Failed, Skipped, Cancelled, Retrying, InFlight, Pending, InDoubt.
type Group struct {
	ID         spillway.GroupID      `json:"id"`
	Tenant     spillway.TenantID     `json:"tenant"`
	Action     spillway.ActionName   `json:"action"`
	Resource   spillway.ResourceName `json:"resource"`
	Key        string                `json:"key,omitempty"`
	State      spillway.State        `json:"state"`
	PausedBy   string                `json:"paused_by,omitempty" doc:"Who or what paused it."`
	Sealed     bool                  `json:"sealed" doc:"No more rows will come."`
	Total      int64                 `json:"total" doc:"Rows accepted so far, bad rows included (as failed)."`
	Succeeded  int64                 `json:"succeeded"`
	Failed     int64                 `json:"failed"`
	Skipped    int64                 `json:"skipped"`
	Cancelled  int64                 `json:"cancelled"`
	Retrying   int64                 `json:"retrying" doc:"Failed, and to be delivered again."`
	InFlight   int64                 `json:"in_flight" doc:"In a worker's hands."`
	Pending    int64                 `json:"pending" doc:"Waiting for their turn."`
	InDoubt    int64                 `json:"in_doubt" doc:"Not known whether it took effect; see resolve."`
	Checkpoint int64                 `json:"checkpoint" doc:"Lowest index without a final outcome."`
	Result     json.RawMessage       `json:"result,omitempty" doc:"The reduced values."`
	Callback   *Callback             `json:"callback,omitempty"`
	CreatedAt  time.Time             `json:"created_at"`
	StartedAt  *time.Time            `json:"started_at,omitempty"`
	FinishedAt *time.Time            `json:"finished_at,omitempty"`

	Rate        string            `json:"rate,omitempty"`
	Concurrency int64             `json:"concurrency,omitempty"`
	Priority    float64           `json:"priority,omitempty" doc:"Seconds of age added."`
	NotBefore   *time.Time        `json:"not_before,omitempty"`
	Expires     *time.Time        `json:"expires,omitempty"`
	Delivery    spillway.Delivery `json:"delivery"`
	MaxFailures string            `json:"max_failures,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// Callback is the state of a group's callback.
type Callback struct {
	URL      string `json:"url"`
	State    string `json:"state" enum:",pending,accepted,given_up"`
	Attempts int    `json:"attempts"`
}

// Final is the number of jobs that are done for good or in doubt.
func (g *Group) Final() int64 { return g.Succeeded + g.Failed + g.Skipped + g.InDoubt + g.Cancelled }

// Filter selects groups; zero fields select all.
type Filter struct {
	Tenant spillway.TenantID
	Key    string
	State  spillway.State
	Cursor string
	Limit  int
}

// JobView is one job as users see it.
type JobView struct {
	Index     int64           `json:"index"`
	Status    string          `json:"status" doc:"ok, failed, skipped, in_doubt, retrying (planned again), pending (waiting or running) or cancelled."`
	Error     string          `json:"error,omitempty"`
	Attempt   int             `json:"attempt,omitempty"`
	NotBefore *time.Time      `json:"not_before,omitempty" doc:"When it is planned to be delivered again."`
	Value     json.RawMessage `json:"value,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
}

// Why is the one reason why a group is not running, or not faster.
type Why struct {
	Code   string     `json:"code"`
	Reason string     `json:"reason" doc:"The same in words, with what to do."`
	Until  *time.Time `json:"until,omitempty" doc:"When it ends by itself."`
}

// Event is a change of a group or a resource.
type Event struct {
	Type     string    `json:"type" enum:"group,resource,tenant"`
	Group    *Group    `json:"group,omitempty"`
	Resource *Resource `json:"resource,omitempty"`
	Tenant   string    `json:"tenant,omitempty"`
	At       time.Time `json:"at"`
}

// Resource is a resource as users see it: its limits, and what was measured.
type Resource struct {
	Name        spillway.ResourceName `json:"name"`
	Rate        string                `json:"rate" doc:"N/PERIOD; empty is unlimited."`
	Limiter     string                `json:"limiter" enum:"sliding,window"`
	Concurrency int64                 `json:"concurrency"`
	Parent      spillway.ResourceName `json:"parent,omitempty"`
	Weight      float64               `json:"weight,omitempty"`
	Paused      bool                  `json:"paused"`
	Breaker     string                `json:"breaker" enum:"closed,open" doc:"Open: the resource is down; it is probed once a second."`
	Cause       string                `json:"cause,omitempty" doc:"Why the breaker is open."`
	Groups      int                   `json:"groups" doc:"Groups with work on it."`
	Tenants     int                   `json:"tenants" doc:"Active tenants."`
	Ready       int64                 `json:"ready"`
	Waiting     int64                 `json:"waiting"`
	InFlight    int64                 `json:"in_flight"`
	InPeriod    int64                 `json:"in_period" doc:"Cost granted in the last period."`
	Granted     int64                 `json:"granted" doc:"Cost granted since the start."`
	ChangedBy   string                `json:"changed_by,omitempty"`
	ChangedAt   *time.Time            `json:"changed_at,omitempty"`
}

// Tenant is a tenant as users see it.
type Tenant struct {
	ID         spillway.TenantID `json:"id"`
	Weight     float64           `json:"weight"`
	Paused     bool              `json:"paused"`
	Groups     int64             `json:"groups"`
	Unfinished int64             `json:"unfinished"`
	Bytes      int64             `json:"bytes"`
	MaxGroups  int64             `json:"max_groups,omitempty"`
	MaxBytes   int64             `json:"max_bytes,omitempty"`
}
