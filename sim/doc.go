// Package sim runs the real queue and the real limiters on a virtual clock: it
// answers, before anything runs, when groups will complete, how fairly tenants
// are served and what rates a resource sees.
//
// What it guarantees: a Scenario with the same seed gives the same Result, and
// every decision is made by package memqueue itself, driven as an engine
// drives it: one claimer that asks for all free workers, again when the queue
// said so or when anything has changed; the ledger's part (outcomes, attempts,
// parked work) is played by a few maps.
//
// What it costs: two or three microseconds per lease; a million jobs take a
// few seconds singly and less in batches. Memory goes with leases (16 bytes
// each, if Log is set) and with groups.
//
// When not to use it: to measure machine time. Claims and settlements take no
// virtual time.
package sim
