package queue

import (
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
)

// Group is what the queue knows of a group: a handful of numbers, whatever
// its size.
type Group struct {
	ID      spillway.GroupID
	Version int64
	// Tenant, Resource, Action and Submitted stay as they were first put.
	Tenant   spillway.TenantID
	Resource spillway.ResourceName
	Action   spillway.ActionName
	// Total is the number of jobs so far; Sealed says that it is the last word.
	Total  int64
	Sealed bool
	// Submitted orders groups by age.
	Submitted time.Time
	// Priority is seconds of age to add, from the action and the group.
	Priority time.Duration
	// Rate is the group's own bound; the zero Rate is none. What could have been
	// granted before the queue's epoch counts as granted at it.
	Rate flow.Rate
	// Concurrency bounds the group's jobs in flight; 0 is unbounded.
	Concurrency int64
	// NotBefore and Expires bound when jobs are handed out; zero is unbounded.
	NotBefore, Expires time.Time
	// MaxCost is the highest cost of a job so far; 0 is 1.
	MaxCost int64
	// Paused groups are kept and not handed out.
	Paused bool
	// Gone removes the group: it has ended. Leases out may still settle.
	Gone bool

	// Restate makes the fields below count for a known group too.
	Restate bool
	// Next is the first job that was never handed out.
	Next int64
	// Finished is how many jobs have a final outcome, in doubt included.
	Finished int64
	// Parked is how much work below Next waits in the ledger, and ParkedDue
	// the earliest time of it.
	Parked    int64
	ParkedDue time.Time
}

// Order says which group of a tenant goes first.
type Order string

const (
	// Shortest: by priority, age and what remains; every fourth grant of a
	// tenant goes to its oldest group.
	Shortest Order = "shortest"
	// Even: the least-served group first, weighted by priority.
	Even Order = "fair"
)

// Settings are upserted by name.
type Settings struct {
	Resources []Resource
	Actions   []Action
	Tenants   []Tenant
}

// Resource is the limits of what work wears down.
type Resource struct {
	Name spillway.ResourceName
	// Rate bounds the granted cost; the zero Rate is unlimited.
	Rate flow.Rate
	// Window selects fixed windows instead of the sliding default.
	Window bool
	// Concurrency bounds jobs in flight; 0 is unbounded.
	Concurrency int64
	// Parent is a resource whose rate is shared by its children; "" is none.
	Parent spillway.ResourceName
	// Weight divides free workers among resources; 0 is 1.
	Weight float64
	// Paused resources grant nothing.
	Paused bool
	// Broken is an open breaker: one job a second is granted, as a probe, to a
	// group whose last delivery did not fail whole, if there is one; and groups
	// with over MaxParked jobs parked issue no new jobs.
	Broken bool
	// MaxParked as the constant of that name; 0 is that default.
	MaxParked int64
}

// Action is how a kind of work is handed out.
type Action struct {
	Name spillway.ActionName
	// Batch is the most jobs of a lease; 0 is 1. At most spillway.ChunkSize.
	Batch int64
	// Order of a tenant's groups; "" is Shortest.
	Order Order
	// Concurrency bounds the action's jobs in flight; 0 is unbounded.
	Concurrency int64
}

// Tenant is a tenant's part in sharing.
type Tenant struct {
	ID spillway.TenantID
	// Weight of the tenant's share; 0 is 1.
	Weight float64
	// Paused tenants are granted nothing.
	Paused bool
}
