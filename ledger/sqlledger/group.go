package sqlledger

import (
	"encoding/json"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// group is a group with its counts, as of one state of the ledger. What the
// cache holds is never changed; a batch changes a copy.
type group struct {
	ledger.Group // Counts without Checkpoint
	seq          int64
	waiting      int64 // jobs planned to be delivered again
	pruned       bool  // the payload is gone
	// hint is a chunk at or below that of the checkpoint. It is good for one
	// epoch, which ends when the checkpoint goes back: a number that was never
	// given before.
	hint, epoch int64
	dirty       bool
}

const groupColumns = `seq, id, tenant, action, resource, dedup_key, spec, state, paused_by, sealed, version, total,
	max_cost, bytes, hash, failed_base, final_base, completions, result, callback_state, callback_attempts,
	created, started, finished, pruned`

const (
	selectGroup = `SELECT ` + groupColumns + ` FROM groups WHERE id = $1`

	insertGroup = `INSERT INTO groups (id, tenant, action, resource, dedup_key, spec, state, paused_by, sealed, version,
		total, max_cost, bytes, hash, failed_base, final_base, completions, callback_state, callback_attempts,
		created, started, finished, pruned)
		VALUES ($1, $2, $3, $4, $5, $6, $7, '', 0, 1, 0, 1, 0, 0, 0, 0, 0, '', 0, $8, 0, 0, 0) RETURNING seq`

	updateGroup = `UPDATE groups SET state = $2, paused_by = $3, sealed = $4, version = $5, total = $6, max_cost = $7,
		bytes = $8, hash = $9, failed_base = $10, final_base = $11, completions = $12, result = $13,
		callback_state = $14, callback_attempts = $15, started = $16, finished = $17, pruned = $18 WHERE seq = $1`

	updateSpec = `UPDATE groups SET spec = $2 WHERE seq = $1`

	// selectTally sums a group's chunk rows: the truth of its counts.
	selectTally = `SELECT COALESCE(SUM(succeeded), 0), COALESCE(SUM(failed), 0), COALESCE(SUM(skipped), 0),
		COALESCE(SUM(in_doubt), 0), COALESCE(SUM(retrying), 0), COALESCE(SUM(waiting), 0)
		FROM outcomes WHERE pos BETWEEN $1 AND $2`
)

func scanGroup(scan func(...any) error) (*group, error) {
	var (
		g                                   group
		spec                                string
		result                              *string
		sealed, pruned                      int64
		hash, created, started, finished    int64
		id, tenant, action, resource, state string
	)
	err := scan(&g.seq, &id, &tenant, &action, &resource, &g.Key, &spec, &state, &g.PausedBy, &sealed, &g.Version, &g.Total,
		&g.MaxCost, &g.Bytes, &hash, &g.FailedBase, &g.FinalBase, &g.Completions, &result, &g.CallbackState, &g.CallbackAttempts,
		&created, &started, &finished, &pruned)
	if err != nil {
		return nil, err
	}
	g.ID, g.Tenant, g.Action = spillway.GroupID(id), spillway.TenantID(tenant), spillway.ActionName(action)
	g.Resource, g.State = spillway.ResourceName(resource), spillway.State(state)
	g.Sealed, g.pruned, g.Hash = sealed != 0, pruned != 0, uint64(hash)
	g.Created, g.Started, g.Finished = fromMicros(created), fromMicros(started), fromMicros(finished)
	if result != nil {
		g.Result = json.RawMessage(*result)
	}
	if err := json.Unmarshal([]byte(spec), &g.Spec); err != nil {
		return nil, damaged("a group's settings", position(g.seq, 0), err)
	}
	return &g, nil
}

// insert writes the row of a new group and numbers it.
func (g *group) insert(s *session) error {
	spec, err := json.Marshal(g.Spec)
	if err != nil {
		return spillway.Errorf(spillway.CodeInvalid, "the settings of group %q cannot be written: %w", g.ID, err)
	}
	g.Spec = ledger.Spec{}
	if err := json.Unmarshal(spec, &g.Spec); err != nil { // as it will be read: it shares nothing with the caller's
		return spillway.Errorf(spillway.CodeInvalid, "the settings of group %q cannot be read back: %w", g.ID, err)
	}
	_, err = s.one([]any{&g.seq}, insertGroup, string(g.ID), string(g.Tenant), string(g.Action), string(g.Resource),
		g.Key, string(spec), string(g.State), micros(g.Created))
	return err
}

// update writes what changes of a group.
func (g *group) update(s *session) error {
	_, err := s.exec(updateGroup, g.seq, string(g.State), g.PausedBy, number(g.Sealed), g.Version, g.Total, g.MaxCost,
		g.Bytes, int64(g.Hash), g.FailedBase, g.FinalBase, g.Completions, g.resultText(),
		g.CallbackState, g.CallbackAttempts, micros(g.Started), micros(g.Finished), number(g.pruned))
	return err
}

func (g *group) resultText() any {
	if g.Result == nil {
		return nil
	}
	return string(g.Result)
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// sum reads the counts from the chunk rows.
func (g *group) sum(s *session) error {
	_, err := s.one([]any{&g.Counts.Succeeded, &g.Counts.Failed, &g.Counts.Skipped, &g.Counts.InDoubt, &g.Counts.Retrying, &g.waiting},
		selectTally, position(g.seq, 0), position(g.seq, maxJobs-1))
	return err
}

// add moves the counts by what a chunk changed.
func (g *group) add(before, after tally) {
	g.Counts.Succeeded += after.succeeded - before.succeeded
	g.Counts.Failed += after.failed - before.failed
	g.Counts.Skipped += after.skipped - before.skipped
	g.Counts.InDoubt += after.inDoubt - before.inDoubt
	g.Counts.Retrying += after.retrying - before.retrying
	g.waiting += after.waiting - before.waiting
}

// changed raises the version.
func (g *group) changed() {
	g.Version++
	g.dirty = true
}

// ready reports whether nothing is left to run.
func (g *group) ready() bool {
	return g.State == spillway.Running && g.Sealed && g.Counts.Final() == g.Total
}

// runningState is the state of a group that is neither paused nor ended.
func (g *group) runningState() spillway.State {
	if g.Sealed {
		return spillway.Running
	}
	return spillway.Receiving
}

// rebase forgives the failures so far, for max_failures.
func (g *group) rebase() {
	g.FailedBase, g.FinalBase = g.Counts.Failed, g.Counts.Final()
}

// chunkEnd is the end of a chunk's jobs so far.
func (g *group) chunkEnd(chunk int64) int64 {
	return min((chunk+1)*spillway.ChunkSize, g.Total)
}
