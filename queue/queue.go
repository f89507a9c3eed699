package queue

import (
	"context"
	"time"

	"github.com/spillway/spillway"
)

// Queue is the contract that every driver keeps; queuetest.Run checks it.
//
// Every method takes now, which never goes back within a resource: a driver
// treats an earlier now as the latest it has seen. Every method may be called
// concurrently and is atomic per resource (Claim: per lease). An error means
// that the store did not answer; the call may have happened, and repeating it
// with the same arguments is safe for every method.
type Queue interface {
	// Configure upserts settings by name. What is not mentioned stays, but for
	// resources that nothing uses: see KeepUnused. A changed rate holds from this
	// call on; grants already made still count.
	Configure(ctx context.Context, now time.Time, s Settings) error

	// Put upserts groups. A group with a version lower than the known one is
	// ignored; Total and MaxCost never shrink; Next, Finished, Parked and
	// ParkedDue count only when the group is new to the queue (Restate sets
	// them for a known one too).
	Put(ctx context.Context, now time.Time, groups []Group) error

	// Feed hands parked work back as retry entries, in answer to Promote. Jobs
	// that the group already holds as an entry or in a lease are dropped from
	// it, so feeding twice is harmless. Feeds for unknown or older versions of
	// a group are ignored.
	Feed(ctx context.Context, now time.Time, feeds []Feed) error

	// Claim hands out work together with the capacity it needs: one lease per
	// id given, or fewer. A lease id that is still held is answered with that
	// same lease. Claimed.Next says when to ask again.
	Claim(ctx context.Context, now time.Time, c Claim) (Claimed, error)

	// Extend moves deadlines and returns unused capacity. The answer says, per
	// extension, whether the lease is still held under that token.
	Extend(ctx context.Context, now time.Time, x []Extension) ([]bool, error)

	// Settle ends leases, after the ledger has recorded what became of their
	// jobs. The answer says, per settlement, whether the token was current; a
	// stale settlement changes nothing.
	Settle(ctx context.Context, now time.Time, s []Settlement) ([]bool, error)

	// Reclaim takes over up to max leases whose deadline has passed. Each is
	// answered with a new token and a deadline ReclaimWait ahead; who reclaims
	// settles it, ledger first. The old token is stale from here on.
	Reclaim(ctx context.Context, now time.Time, max int) ([]Lease, error)

	// Promote moves due retry entries to ready and answers up to max groups
	// that need their engine: parked work is due, or the group has expired. A
	// group is not answered again for PromoteWait, or until it is fed, restated
	// or put with a newer version.
	Promote(ctx context.Context, now time.Time, max int) ([]Due, error)

	// Stats reads without changing anything, each resource at one instant.
	Stats(ctx context.Context, now time.Time, q Query) (Stats, error)

	// Close releases what the driver holds. The index need not survive it.
	Close() error
}

// Bounds that every driver keeps, so that the queue's state per group is
// constant in the group's size.
const (
	// MaxEntries is the number of retry entries a group may hold; what comes
	// on top is parked. Jobs that were returned unrun are exempt: they are
	// bounded by the leases out.
	MaxEntries = 64
	// MaxEntryWait is how far ahead an entry may be due; later work is parked.
	MaxEntryWait = time.Minute
	// EntryGrain is what an entry's due time is rounded up to.
	EntryGrain = 100 * time.Millisecond
	// ReclaimWait is how long a reclaimed lease belongs to its reclaimer.
	ReclaimWait = 30 * time.Second
	// PromoteWait is how long a promoted group belongs to its feeder.
	PromoteWait = 10 * time.Second
	// KeepUnused is how long a resource is remembered, with its settings, after
	// its last group or child has gone or its settings were told: at least so
	// long and for a period of its rate. Who puts a group of a resource tells its
	// settings within this time before; else it may be new, and unlimited.
	KeepUnused = 10 * time.Minute
	// ParentBlock is the time a parent's block of tokens is worth, and lives.
	ParentBlock = 100 * time.Millisecond
	// MaxParked is the default number of a group's parked jobs above which an
	// unhealthy resource gets no new jobs of that group.
	MaxParked = 2000
)

// Claim asks for work.
type Claim struct {
	// Instance names the caller: running leases are counted per instance.
	Instance string
	// Leases are the ids for the leases wanted, made by the caller, at least one.
	Leases []spillway.LeaseID
	// Actions are those that the caller handles, at least one.
	Actions []spillway.ActionName
	// Tenant restricts the claim to one tenant; "" is all.
	Tenant spillway.TenantID
	// MaxJobs bounds the jobs of one lease below the action's batch; 0 doesn't.
	MaxJobs int64
	// PerResource is the most leases of one resource that the instance may
	// hold, those already held included; 0 is unbounded. A claim that names no
	// tenant shares them among the resource's: one that has its weighted part,
	// at least one lease, gets no more while another with less has something
	// ready; what others leave is divided among those who have. Leases out are
	// not taken back: a newcomer gets the next that ends. Where a rate bounds
	// the resource, that alone is shared while over a quarter of them is free.
	PerResource int
	// Visibility is the time until the lease's deadline.
	Visibility time.Duration
}

// Claimed is the answer to a claim.
type Claimed struct {
	Leases []Lease
	// Next is the earliest time at which the same claim could get more, given
	// what the queue knows now. The zero time: only a change of the queue's
	// state (Put, Settle, Feed, Configure, ...) can bring more.
	Next time.Time
}

// Lease is some jobs of one chunk, handed to one worker until Deadline.
type Lease struct {
	Ref
	Tenant  spillway.TenantID
	Action  spillway.ActionName
	Version int64 // of the group, as the queue knew it
	// Jobs are all of one chunk.
	Jobs spillway.Spans
	// Granted is the stamp that the lease's tokens are logged under.
	Granted  time.Time
	Deadline time.Time
	// Charged is the tokens taken: jobs × the group's highest cost.
	Charged int64
	// Instance is the claimer.
	Instance string
	// Probe says that the resource's breaker is open and this lease tests it.
	Probe bool
}

// Ref names a lease and proves that it is held.
type Ref struct {
	ID       spillway.LeaseID
	Token    int64
	Group    spillway.GroupID
	Resource spillway.ResourceName
}

// Extension keeps a lease alive.
type Extension struct {
	Ref
	// Until is the new deadline; the zero time leaves the old one.
	Until time.Time
	// Refund is the tokens charged above the true cost, given back at the stamp
	// of the grant. It is a total: what an earlier extension of the lease gave
	// back is not given again.
	Refund int64
}

// Settlement ends a lease.
type Settlement struct {
	Ref
	// Finished is how many jobs newly got a final outcome.
	Finished int64
	// Return are jobs that never reached a handler: ready again at once, their
	// tokens given back. They are never parked. After an extension's Refund only
	// the tokens that were theirs for certain are given back: at least one per
	// job, and what the jobs that ran can't have cost.
	Return spillway.Spans
	// Refund is tokens to give back besides those of Return and of extensions.
	Refund int64
	// Retries are jobs to deliver again, as recorded in the ledger.
	Retries []Retry
	// Whole says that the delivery failed as a whole, for the breaker's choice
	// of probes.
	Whole bool
}

// Retry is jobs of one chunk to be delivered again.
type Retry struct {
	Jobs spillway.Spans
	// NotBefore is the earliest time, from backoff and the handler's word.
	NotBefore time.Time
	// Single makes each of the jobs a lease of its own.
	Single bool
	// Failed: the delivery before failed; such jobs count as retrying.
	Failed bool
}

// Feed is parked work handed back.
type Feed struct {
	Group   spillway.GroupID
	Version int64
	// Round as in the Due that this answers. A feed of an earlier round read an
	// older ledger and is ignored. 0 answers the latest one; with none to answer
	// it adds entries and never lowers what is parked.
	Round int64
	// Entries are due as they say; no stagger is added.
	Entries []Retry
	// Parked is how much stays parked beyond the entries, and ParkedDue the
	// earliest time of it.
	Parked    int64
	ParkedDue time.Time
}

// Due is a group that needs its engine.
type Due struct {
	Group   spillway.GroupID
	Version int64
	// Round numbers the group's promotions; the feed repeats it.
	Round int64
	// Expired: the group's time is over; end it in the ledger. Otherwise its
	// parked work is due: Feed it.
	Expired bool
	// Room is how many entries a feed may bring.
	Room int
}
