package bulk

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// Action is a kind of bulk work: what every group of it shares.
type Action struct {
	// Resource is what the work wears down; "{tenant}" in it is replaced by
	// the group's tenant. Default: the action's name.
	Resource string
	// Batch is the most jobs of one delivery, 1 to 1,000. Default 1.
	Batch int
	// Attempts is how often a job is delivered before it fails. Default 5.
	Attempts int
	// Backoff is the wait before the second attempt; it doubles with each, up
	// to an hour, with jitter. Default 15 s; negative is none.
	Backoff time.Duration
	// Timeout bounds one delivery. Default 30 s.
	Timeout time.Duration
	// Concurrency bounds the action's jobs in flight. 0 is unbounded.
	Concurrency int64
	// Priority is age to add to every group of the action.
	Priority time.Duration
	// Order of a tenant's groups. Default queue.Shortest.
	Order queue.Order
	// Delivery is the default of groups of this action. Default AtLeastOnce.
	Delivery spillway.Delivery
	// Reducer combines the values of a group into its result. nil: no result.
	Reducer Reducer
	// Pull actions have no handler here: their work is leased by Engine.Lease.
	Pull bool
}

func (a Action) withDefaults(name string) Action {
	if a.Resource == "" {
		a.Resource = name
	}
	if a.Batch == 0 {
		a.Batch = 1
	}
	if a.Attempts == 0 {
		a.Attempts = 5
	}
	if a.Backoff == 0 {
		a.Backoff = 15 * time.Second
	}
	a.Backoff = max(a.Backoff, 0)
	if a.Timeout == 0 {
		a.Timeout = 30 * time.Second
	}
	if a.Order == "" {
		a.Order = queue.Shortest
	}
	if a.Delivery == "" {
		a.Delivery = spillway.AtLeastOnce
	}
	return a
}

func (a Action) validate(name string) error {
	bad := func(format string, args ...any) error {
		return spillway.Errorf(spillway.CodeInvalid, "action "+name+": "+format, args...)
	}
	switch {
	case name == "" || len(name) > MaxName:
		return spillway.Errorf(spillway.CodeInvalid, "an action's name must have 1 to %d bytes", MaxName)
	case a.Batch < 1 || a.Batch > spillway.ChunkSize:
		return bad("batch %d is not from 1 to %d", a.Batch, spillway.ChunkSize)
	case a.Attempts < 1:
		return bad("attempts %d is below 1", a.Attempts)
	case a.Timeout < time.Millisecond:
		return bad("timeout %v is below 1ms", a.Timeout)
	case a.Concurrency < 0:
		return bad("concurrency %d is below 0", a.Concurrency)
	case a.Order != queue.Shortest && a.Order != queue.Even:
		return bad("order %q is neither %q nor %q", a.Order, queue.Shortest, queue.Even)
	}
	return validDelivery(a.Delivery)
}

func validDelivery(d spillway.Delivery) error {
	if d != spillway.AtLeastOnce && d != spillway.AtMostOnce {
		return spillway.Errorf(spillway.CodeInvalid, "delivery %q is neither %q nor %q", d, spillway.AtLeastOnce, spillway.AtMostOnce)
	}
	return nil
}

// resource is the name of the action's resource for a tenant.
func (a Action) resource(t spillway.TenantID) spillway.ResourceName {
	return spillway.ResourceName(strings.ReplaceAll(a.Resource, "{tenant}", string(t)))
}

// Batch is one delivery: some jobs of one chunk of one group.
type Batch struct {
	Group    spillway.GroupID
	Tenant   spillway.TenantID
	Action   spillway.ActionName
	Resource spillway.ResourceName
	Jobs     []spillway.Job
	// Report records outcomes while the handler still runs, so that a crash
	// repeats less. It may be called concurrently. What was reported need not
	// be returned.
	Report func(...spillway.Outcome)
}

// Handler does the work of an action. The context ends with the action's
// timeout, or when the engine stops hard.
//
// Jobs that are neither reported nor returned are OK if the error is nil, and
// fare as the error says otherwise: a *Failure in detail, any other error as
// Retry with its text as the reason. A result for a job that is not in the
// batch, or a second one, is an error of the handler.
type Handler func(ctx context.Context, b *Batch) ([]spillway.Outcome, error)

// Failure is an error that says how the jobs of a batch fare that have no
// outcome of their own.
type Failure struct {
	// Status is Retry, Throttled or Failed.
	Status spillway.Status
	Reason string
	// RetryAfter is the least wait, for Retry and Throttled.
	RetryAfter time.Duration
	// Certain says that nothing took effect. Without it, jobs of an
	// at-most-once group become in doubt.
	Certain bool
	// Down says that the resource itself cannot be reached (refused, no such
	// host): its breaker opens and no attempt is used.
	Down bool
}

func (f *Failure) Error() string { return f.Reason }

// Reducer combines the values of a group's jobs, map-reduce style: Map over
// the values of each chunk, then Reduce over what Map gave, in order. Both
// must be pure: they run again if the completion is repeated.
type Reducer interface {
	Map(values []JobValue) (json.RawMessage, error)
	Reduce(parts []json.RawMessage) (json.RawMessage, error)
}

// JobValue is the value of a job that succeeded.
type JobValue struct {
	Index int64
	Value json.RawMessage
}
