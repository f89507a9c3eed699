// Package bulk is the engine: fair, rate-limited, resumable execution of
// groups of jobs of any size, for many tenants.
//
// What it guarantees: every row of a group gets exactly one final outcome,
// whatever dies; counts add up at every moment; rows whose outcome had been
// recorded before a delivery was verified are not run again; no window of a
// resource holds more than its rate. With at-most-once delivery no job is
// handed out again unless its answer certified that nothing took effect.
//
// What it costs: memory by workers and uploads in flight, not by jobs: the
// rows wait in the ledger. A few commits a second of the ledger, shared by all
// workers.
//
// When not to use it: for single jobs that must start within a millisecond,
// or for work whose steps depend on each other.
//
// An Engine is made with New, given actions with Handle, and driven by Run.
package bulk
