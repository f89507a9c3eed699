package ledger

import (
	"encoding/json"
	"time"

	"github.com/spillway/spillway"
)

// NewGroup is what a group begins with.
type NewGroup struct {
	ID       spillway.GroupID
	Tenant   spillway.TenantID
	Action   spillway.ActionName
	Resource spillway.ResourceName
	// Key is the deduplication key of the tenant; "" is none.
	Key  string
	Spec Spec
	// MaxGroups is the tenant's limit of unfinished groups; 0 is none.
	MaxGroups int64
}

// Spec is what the submitter chose; the engine reads it, the ledger keeps it.
type Spec struct {
	// Rate is the group's own rate in the form of flow.ParseRate.
	Rate        string        `json:"rate,omitempty"`
	Concurrency int64         `json:"concurrency,omitempty"`
	Priority    time.Duration `json:"priority,omitempty"`
	NotBefore   time.Time     `json:"not_before,omitzero"`
	Expires     time.Time     `json:"expires,omitzero"`
	// Delivery is never empty once created.
	Delivery spillway.Delivery `json:"delivery,omitempty"`
	// MaxFailures pauses the group: a number, or a percentage of final jobs.
	MaxFailures string `json:"max_failures,omitempty"`
	Callback    string `json:"callback,omitempty"`
	// TrustedCallback: an operator wrote the callback's URL.
	TrustedCallback bool `json:"trusted_callback,omitempty"`
	// CostField names the field of a row that holds its cost.
	CostField string `json:"cost_field,omitempty"`
	// Labels are the submitter's own, shown and not interpreted.
	Labels map[string]string `json:"labels,omitempty"`
}

// Created answers a NewGroup.
type Created struct {
	Group    Group
	Existing bool
	Err      error
}

// Group is a group as the ledger holds it.
type Group struct {
	ID       spillway.GroupID
	Tenant   spillway.TenantID
	Action   spillway.ActionName
	Resource spillway.ResourceName
	Key      string
	Spec     Spec
	State    spillway.State
	// PausedBy says what paused it: a person's reason, or "max_failures".
	PausedBy string
	Sealed   bool
	Version  int64
	Total    int64
	MaxCost  int64
	// Bytes of payload, uncompressed.
	Bytes int64
	// Hash chains the accepted rows, see Append.
	Hash   uint64
	Counts Counts
	// FailedBase and FinalBase are the counts when the group was last resumed:
	// max_failures judges what came after.
	FailedBase, FinalBase int64
	// Completions counts the ends so far.
	Completions int
	Result      json.RawMessage
	// CallbackState is "", pending, accepted or given_up.
	CallbackState    string
	CallbackAttempts int
	Created          time.Time
	Started          time.Time
	Finished         time.Time
}

// Counts are sums over a group's chunk rows.
type Counts struct {
	Succeeded, Failed, Skipped, InDoubt int64
	// Retrying are jobs that failed and will be delivered again; throttled
	// and never-run ones are not among them.
	Retrying int64
	// Checkpoint is the lowest index without a final outcome.
	Checkpoint int64
}

// Final is the number of jobs that hold completion up no longer.
func (c Counts) Final() int64 { return c.Succeeded + c.Failed + c.Skipped + c.InDoubt }

// Append is rows of one chunk for one group.
type Append struct {
	Group spillway.GroupID
	// Offset is the index of the first row; it must be the group's total.
	Offset int64
	// Rows lie in one chunk: Offset and the last row have the same
	// spillway.ChunkOf.
	Rows Rows
	// Bad are rows that could not be read; they are in Rows too, as far as
	// they were readable, and become failed jobs.
	Bad []BadRow
	// Hash is the chained hash of all rows up to the end of these.
	Hash uint64
	// MaxBytes is the tenant's limit of payload bytes held; 0 is none.
	MaxBytes int64
}

// BadRow is a row that fails by itself.
type BadRow struct {
	Index  int64
	Reason string
}

// Appended answers an Append with the group as it is after it.
type Appended struct {
	Total   int64
	Version int64
	State   spillway.State
	// Final is the number of bad rows recorded.
	Final int64
	Err   error
}

// ChangeKind is what a change does.
type ChangeKind string

// The changes.
const (
	Seal   ChangeKind = "seal"
	Pause  ChangeKind = "pause"
	Resume ChangeKind = "resume"
	Cancel ChangeKind = "cancel"
	// RetryFailed reopens a group for its failed jobs, attempts from 1: they
	// become waiting work, due now. A completed group is running again.
	RetryFailed ChangeKind = "retry"
	// Adjust replaces those of a group's bounds that Change.Bounds names. Ended
	// groups have CodeState.
	Adjust ChangeKind = "adjust"
	// Resolve settles what is in doubt, as Change.As says: OK, Failed or
	// Retry; one job, or all.
	Resolve ChangeKind = "resolve"
)

// Change is one change of state.
type Change struct {
	Group spillway.GroupID
	Kind  ChangeKind
	// Reason says who or what; kept with a pause.
	Reason string
	// Index is the one job to resolve; nil resolves all.
	Index *int64
	As    spillway.Status
	// Bounds is what Adjust replaces.
	Bounds Bounds
}

// Bounds are the parts of a Spec that may change while a group lives; nil
// fields stay.
type Bounds struct {
	Rate        *string
	MaxFailures *string
	Concurrency *int64
}

// Filter selects groups; zero fields select all.
type Filter struct {
	IDs    []spillway.GroupID
	Tenant spillway.TenantID
	Key    *string
	States []spillway.State
	// Newest lists in descending order of id.
	Newest bool
	Cursor string
	// Limit is the page size; 0 is 100.
	Limit int
}

// Completion asks for a group's end.
type Completion struct {
	Group  spillway.GroupID
	Result json.RawMessage
}

// IndexQuery pages through unfinished groups.
type IndexQuery struct {
	// IDs restricts the answer to these groups; nil is all.
	IDs   []spillway.GroupID
	After spillway.GroupID
	Limit int // 0 is 1,000
	Adopt bool
}

// Indexed is an unfinished group as the queue needs it.
type Indexed struct {
	Group Group
	// Next is the highest job with any outcome, intent or plan, plus 1. Rows
	// that were bad from the start don't count: they may lie far ahead.
	Next int64
	// Waiting is the number of jobs below Next planned to be delivered again,
	// WaitingDue the earliest time of them.
	Waiting    int64
	WaitingDue time.Time
}

// TenantUse is what a tenant holds.
type TenantUse struct {
	Tenant     spillway.TenantID
	Groups     int64
	Unfinished int64
	Bytes      int64
}

// Prune says what to delete: payloads of groups that ended before Payloads,
// groups that ended before Groups, or everything of one tenant.
type Prune struct {
	Payloads time.Time
	Groups   time.Time
	Tenant   spillway.TenantID
	// Limit bounds the chunks deleted in one call; 0 is 1,000.
	Limit int
}

// Pruned is what a call deleted.
type Pruned struct {
	Groups, Chunks int64
	More           bool
}
