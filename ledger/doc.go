// Package ledger is the cold seam: the contract of what durably holds groups,
// their jobs' payloads and every outcome. It is the truth; the queue is its
// index and can be lost. sqlledger implements it once for SQL databases, and
// ledgertest holds the suite that every implementation passes.
//
// What it guarantees: the first final outcome of a job wins; counts move only
// by what a merge newly added; what was answered is durable. Sets of jobs are
// run-length coded per chunk of 1,000, so a group of ten million jobs is ten
// thousand rows.
//
// What it does not: it decides nothing about order, rates or retries, and
// knows no lease; fencing of leases is the queue's.
package ledger
