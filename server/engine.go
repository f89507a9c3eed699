package server

import (
	"context"
	"iter"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/ledger"
)

// Engine is what the API needs of a bulk engine; *bulk.Engine is it. The
// methods are documented there.
type Engine interface {
	Ready() error
	Metrics() bulk.Metrics
	Subscribe() (events <-chan bulk.Event, cancel func())

	groupEngine
	jobEngine
	leaseEngine
	operatorEngine
}

type groupEngine interface {
	Open(ctx context.Context, s bulk.Submission) (g *bulk.Group, existing bool, err error)
	Submit(ctx context.Context, s bulk.Submission, src bulk.Source) (g *bulk.Group, existing bool, err error)
	Append(ctx context.Context, id spillway.GroupID, offset int64, src bulk.Source) (total int64, err error)
	Seal(ctx context.Context, id spillway.GroupID) (*bulk.Group, error)
	Group(ctx context.Context, id spillway.GroupID) (*bulk.Group, error)
	Groups(ctx context.Context, f bulk.Filter) (groups []*bulk.Group, next string, err error)
	Pause(ctx context.Context, id spillway.GroupID, reason string) (*bulk.Group, error)
	Resume(ctx context.Context, id spillway.GroupID) (*bulk.Group, error)
	Cancel(ctx context.Context, id spillway.GroupID) (*bulk.Group, error)
	Retry(ctx context.Context, id spillway.GroupID) (*bulk.Group, error)
	Resolve(ctx context.Context, id spillway.GroupID, index *int64, as spillway.Status) (*bulk.Group, error)
	ResendCallback(ctx context.Context, id spillway.GroupID) (*bulk.Group, error)
	Why(ctx context.Context, id spillway.GroupID) (*bulk.Why, error)
}

type jobEngine interface {
	Failures(ctx context.Context, id spillway.GroupID, from int64) iter.Seq2[bulk.JobView, error]
	Results(ctx context.Context, id spillway.GroupID, from int64) iter.Seq2[bulk.JobView, error]
	Job(ctx context.Context, id spillway.GroupID, index int64) (*bulk.JobView, error)
}

type leaseEngine interface {
	Lease(ctx context.Context, r bulk.PullRequest) (*bulk.Pulled, error)
	SettleLease(ctx context.Context, lease string, tenant spillway.TenantID, results []spillway.Outcome) (accepted int64, err error)
	ExtendLease(ctx context.Context, lease string, tenant spillway.TenantID, by time.Duration) (time.Time, error)
}

type operatorEngine interface {
	Resources(ctx context.Context) ([]*bulk.Resource, error)
	Resource(ctx context.Context, name spillway.ResourceName) (*bulk.Resource, error)
	Governed(name spillway.ResourceName) bool
	Foreign(name spillway.ResourceName, t spillway.TenantID) bool
	SetResource(ctx context.Context, name spillway.ResourceName, c bulk.ResourceChange, by string) (*bulk.Resource, error)
	Tenants(ctx context.Context) ([]*bulk.Tenant, error)
	PauseTenant(ctx context.Context, t spillway.TenantID, paused bool, by string) error
	EraseTenant(ctx context.Context, t spillway.TenantID) (groups int64, err error)
	Prune(ctx context.Context) (ledger.Pruned, error)
}

var _ Engine = (*bulk.Engine)(nil)
