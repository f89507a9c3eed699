package queue

import (
	"time"

	"github.com/spillway/spillway"
)

// Query says what to read.
type Query struct {
	Groups    []spillway.GroupID
	Resources []spillway.ResourceName
	// AllGroups and AllResources list every one known.
	AllGroups, AllResources bool
}

// Stats is what was asked for; what is unknown is absent.
type Stats struct {
	Groups    map[spillway.GroupID]GroupStats
	Resources map[spillway.ResourceName]ResourceStats
}

// GroupStats is the queue's view of a group.
type GroupStats struct {
	Version  int64
	Next     int64 // first job never handed out
	InFlight int64 // jobs in leases
	// Redelivered is how many of those in flight come from retries that Failed,
	// whether or not they were returned unrun since.
	Redelivered int64
	Leases      int
	Waiting     int64 // jobs in retry entries
	Entries     int
	Parked      int64
	// Blocked is the one reason why the group gets no lease now, "" if it
	// could; Until is when that ends by itself, zero if it doesn't.
	Blocked Reason
	Until   time.Time
	// Ahead is how many groups of the same tenant, resource and order go first;
	// counted for groups asked for by name only.
	Ahead int
}

// ResourceStats is the queue's view of a resource.
type ResourceStats struct {
	Groups   int   // known groups
	Ready    int64 // jobs that could run now, capacity apart
	Waiting  int64 // jobs in retry entries, and parked
	InFlight int64
	Leases   int
	// Granted is the cost granted since the driver knows the resource.
	Granted int64
	// InPeriod is the cost granted in the last period of the rate.
	InPeriod int64
	// Tenants is the number of active tenants.
	Tenants int
	// Due is when the next grant could be made; zero if only a change helps.
	Due time.Time
}

// Reason is why a group is not handed out, or not faster.
type Reason string

// The reasons, in the order in which they are looked for.
const (
	ReasonGone                Reason = "ended"
	ReasonPaused              Reason = "paused"
	ReasonTenantPaused        Reason = "tenant_paused"
	ReasonResourcePaused      Reason = "resource_paused"
	ReasonNotBefore           Reason = "not_before"
	ReasonExpired             Reason = "expired"
	ReasonNoJobs              Reason = "no_jobs"           // all rows so far are handed out
	ReasonBackoff             Reason = "waiting_for_retry" // only retries are left, not due yet
	ReasonBroken              Reason = "resource_down"     // the breaker is open
	ReasonGroupConcurrency    Reason = "group_concurrency"
	ReasonActionConcurrency   Reason = "action_concurrency"
	ReasonResourceConcurrency Reason = "resource_concurrency"
	ReasonGroupRate           Reason = "group_rate"
	ReasonResourceRate        Reason = "resource_rate"
	ReasonParentRate          Reason = "parent_rate"
	ReasonShare               Reason = "fair_share" // others of this resource go first
)
