// Package memqueue is the embedded driver of the queue, and the executable
// specification that other drivers are compared with.
//
// What it guarantees: everything that package queue and the suite in queuetest
// ask for. Every call is one atomic step under one mutex; there is no clock and
// no goroutine inside, so that a virtual clock can drive it.
//
// What it costs: a few hundred bytes per group, whatever its size, and one or
// two microseconds per claim. No claim, settlement or extension walks over all
// groups, tenants or resources; a claim with PerResource looks at no more
// tenants than have leases out at its instance. What may walk: the first claim of a new shape
// (instance, actions, tenant and bounds of a Claim), changed settings, and Stats
// of resources.
//
// When not to use it: with more than one process. The index is lost with its
// process, as any queue may be, and rebuilt from the ledger.
//
// How it stands:
//
//	resource ── share (a tenant on it) ── line (its groups of one action)
//	   │                                   │
//	   ├── lane (an action on it) ─────────┘  lines by the tenant's virtual time
//	   └── seat (in a view) ── view: one shape of Claim, seats by due time
package memqueue
