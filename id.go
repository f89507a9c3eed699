package spillway

import "strconv"

// The identifiers are distinct types, so that a tenant cannot be passed where
// a group is wanted.
type (
	// TenantID names a customer of the business that runs Spillway: the unit
	// of fairness and isolation.
	TenantID string
	// GroupID names one bulk request. It is made by the engine and sorts by
	// the time of creation.
	GroupID string
	// ResourceName names what work wears down: a table, an API, a number.
	ResourceName string
	// ActionName names a kind of bulk work.
	ActionName string
	// LeaseID names one hand-over of jobs to one worker. The caller of a claim
	// makes it, so that a claim whose answer was lost can be asked again.
	LeaseID string
)

// ChunkSize is the number of jobs in a chunk: chunk c holds the jobs
// [c*ChunkSize, (c+1)*ChunkSize), so that its bounds are arithmetic.
const ChunkSize = 1000

// ChunkOf returns the chunk that holds a job.
func ChunkOf(index int64) int64 { return index / ChunkSize }

// IdempotencyKey is the key of a job that never changes, whatever the attempt.
func IdempotencyKey(group GroupID, index int64) string {
	b := make([]byte, 0, len(group)+12)
	b = append(b, group...)
	b = append(b, '-')
	return string(strconv.AppendInt(b, index, 10))
}
