package sim

import (
	"math/rand/v2"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// Start is the virtual time at which every scenario begins.
var Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Scenario is what happens from outside. Times are since Start.
type Scenario struct {
	// Seed of everything random.
	Seed uint64
	// Spent says that the ledger held work before, so that limiters start as
	// if their whole rate had been spent at Start.
	Spent bool
	// Settings hold from Start on; actions that are not listed are added with
	// their defaults.
	Settings queue.Settings
	// Arrivals are the groups, in any order.
	Arrivals []Arrival
	// Changes of settings, and restarts of the queue.
	Changes []Change
	// Workers is the number of deliveries at once. Default 64.
	Workers int
	// AllWorkers lets one resource hold every worker; otherwise none holds more
	// than three quarters.
	AllWorkers bool
	// Service is how long the delivery of a lease takes; nil is no time.
	Service func(*rand.Rand, queue.Lease) time.Duration
	// Fails says that a delivery of a job fails and is tried again, up to
	// Attempts times; nil is never.
	Fails func(r *rand.Rand, l queue.Lease, job int64) bool
	// Attempts is how often a job is delivered before it fails. Default 5.
	Attempts int
	// Lateness is how late the claimer wakes at most, evenly distributed.
	Lateness time.Duration
	// Until ends the simulation; 0 is when nothing is left to happen.
	Until time.Duration
	// Bin is the grain of the series in Result; 0 is a second.
	Bin time.Duration
	// ByGroup keeps a series per group besides those per tenant.
	ByGroup bool
	// Log keeps the time and cost of every grant.
	Log bool
}

// Arrival is a group that is submitted, complete, at a time.
type Arrival struct {
	At time.Duration
	queue.Group
}

// Job returns the arrival of a sealed group.
func Job(at time.Duration, id spillway.GroupID, t spillway.TenantID, a spillway.ActionName, r spillway.ResourceName, total int64) Arrival {
	return Arrival{At: at, Group: queue.Group{
		ID: id, Tenant: t, Action: a, Resource: r, Total: total, Sealed: true,
	}}
}

// Change is something that happens to the queue.
type Change struct {
	At time.Duration
	queue.Settings
	// Restart loses the queue; a new one, whose epoch is now, is rebuilt from
	// the ledger. Deliveries on their way end as they would have.
	Restart bool
}

func (s Scenario) withDefaults() Scenario {
	if s.Workers == 0 {
		s.Workers = 64
	}
	if s.Attempts == 0 {
		s.Attempts = 5
	}
	if s.Bin == 0 {
		s.Bin = time.Second
	}
	return s
}

// perResource is how many leases a resource may hold.
func (s *Scenario) perResource() int {
	if s.AllWorkers {
		return 0
	}
	return max(1, s.Workers*3/4)
}
