package ledger

import (
	"context"
	"time"

	"github.com/spillway/spillway"
)

// Ledger is everything a driver implements, in four contracts. All methods may
// be called concurrently, each is one transaction unless it says otherwise,
// and what it answered is durable. An error with spillway.CodeUnavailable or
// CodeLedgerFull means that nothing was changed and the call may be repeated.
// now is the caller's time, kept with what is written.
type Ledger interface {
	Groups
	Jobs
	Outbox
	Settings
	// Close finishes what was begun and releases the store.
	Close() error
}

// Groups is the life of groups.
type Groups interface {
	// Create makes groups. A group whose (tenant, key) is known is answered as
	// it is, with Existing; CodeKeyConflict if it has another action or
	// resource. CodeLimit if the tenant's limit is passed.
	Create(ctx context.Context, now time.Time, groups []NewGroup) ([]Created, error)

	// Append adds rows to groups that are not sealed, raising total and
	// version. Each answer has its own Err: CodeOffset (Total says where the
	// upload goes on), CodeSealed, CodeState (cancelled), CodeNotFound,
	// CodeLimit. Bad rows become failed jobs in the same transaction.
	Append(ctx context.Context, now time.Time, rows []Append) ([]Appended, error)

	// Change applies changes of state, each raising the group's version. A
	// change that is already so (pausing a paused group) is no error and no
	// change. CodeState where the state does not allow it.
	Change(ctx context.Context, now time.Time, c Change) (Group, error)

	// Find lists groups with their counts, from one snapshot, in order of id.
	// next is the cursor of the following page, "" at the end.
	Find(ctx context.Context, f Filter) (groups []Group, next string, err error)

	// Complete ends those of the groups that are ready to end, and answers
	// them: running and sealed with all jobs final or in doubt, which become
	// completed; and cancelled ones without a finish, for which the caller
	// vouches that no lease is out. Each gets its result and, if it has a
	// callback, an outbox row. The others are left as they are. Of many
	// callers exactly one is answered a group's end.
	Complete(ctx context.Context, now time.Time, c []Completion) ([]Group, error)

	// Index lists unfinished groups (not ended, or cancelled without finish),
	// in order of id, as the queue needs them. With Adopt it first makes every
	// job below Next that has neither an outcome nor a plan into waiting work,
	// due now, its attempt unchanged; an intent without an outcome becomes in
	// doubt. Only who knows that no lease is out may adopt.
	Index(ctx context.Context, now time.Time, q IndexQuery) ([]Indexed, error)

	// Tenants lists the tenants that have groups, and what they use.
	Tenants(ctx context.Context) ([]TenantUse, error)

	// Prune deletes a bounded part of what retention no longer keeps, and says
	// whether more is left. Groups that have not ended are never touched,
	// except by an erased tenant.
	Prune(ctx context.Context, now time.Time, p Prune) (Pruned, error)
}

// Jobs is payloads and outcomes.
type Jobs interface {
	// Verify reads, right before a delivery, which of the jobs are still to
	// run: those without a final or in-doubt outcome, if the group runs at
	// all. With Intend it records the intent to run them, as a compare-and-
	// set: only jobs whose intent this call set are answered.
	Verify(ctx context.Context, now time.Time, checks []Check) ([]Verdict, error)

	// Payload reads the rows of jobs. Rows that retention has deleted are
	// absent from it.
	Payload(ctx context.Context, jobs []JobSet) ([]Payload, error)

	// Settle merges outcomes. A job that has a final outcome keeps it; a final
	// outcome replaces in doubt; a retry or throttled one is accepted only for
	// the job's current delivery, and clears the intent. Settling twice is
	// harmless. Settlements for unknown groups are answered empty.
	Settle(ctx context.Context, now time.Time, s []Settlement) ([]Merged, error)

	// Waiting lists work recorded to be delivered again and due by a time, in
	// order of the time, at most limit entries; left and leftDue are what
	// waits beyond them.
	Waiting(ctx context.Context, group spillway.GroupID, by time.Time, limit int) (due []Waiting, left int64, leftDue time.Time, err error)

	// Read pages through jobs with their outcomes, in order of index. next is
	// where the following page begins, 0 at the end.
	Read(ctx context.Context, q JobQuery) (jobs []JobRecord, next int64, err error)
}

// Outbox is the callbacks to be delivered.
type Outbox interface {
	// Due takes up to limit callbacks that are due and holds them for the
	// caller until now+hold.
	Due(ctx context.Context, now time.Time, limit int, hold time.Duration) ([]Callback, error)
	// Mark records attempts at delivery.
	Mark(ctx context.Context, now time.Time, m []Marked) error
	// Resend makes a group's last callback due again, its attempts from 0.
	Resend(ctx context.Context, now time.Time, group spillway.GroupID) error
}

// Settings is small named records: resource overrides, paused tenants, keys.
type Settings interface {
	// Load lists the current settings of a kind, in order of name.
	Load(ctx context.Context, kind string) ([]Setting, error)
	// Save upserts settings, each with who and when; a nil Value deletes.
	Save(ctx context.Context, now time.Time, s []Setting) error
	// History lists the values that one setting had, the present one first;
	// a nil Value is a deletion. At least the last 100 are kept.
	History(ctx context.Context, kind, name string, limit int) ([]Setting, error)
}
