package ledgertest

import (
	"encoding/json"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// model is the ledger as one would write it without a care for cost: a record
// per job, and the rules applied to each job by itself.
type model struct {
	groups map[spillway.GroupID]*modelGroup
}

type modelGroup struct {
	ledger.Group // Counts are not kept: they are counted
	jobs         []modelJob
}

type modelJob struct {
	ledger.JobRecord        // Index aside
	delivery         int    // the current one
	lost             int    // deliveries that died
	retrying         bool   // waits because it failed
	intent, bad      bool   // at most once: handed out; unreadable from the start
	data             string // the row
}

func (j *modelJob) waiting() bool { return !j.NotBefore.IsZero() }

func newModel() *model { return &model{groups: map[spillway.GroupID]*modelGroup{}} }

func (m *model) create(now time.Time, n ledger.NewGroup) {
	g := ledger.Group{
		ID: n.ID, Tenant: n.Tenant, Action: n.Action, Resource: n.Resource, Key: n.Key, Spec: n.Spec,
		State: spillway.Receiving, Version: 1, MaxCost: 1, Created: now,
	}
	g.Spec.Delivery = spillway.AtLeastOnce
	m.groups[n.ID] = &modelGroup{Group: g}
}

func (g *modelGroup) append(a ledger.Append) {
	for i := range a.Rows.Len() {
		g.jobs = append(g.jobs, modelJob{JobRecord: ledger.JobRecord{Attempt: 1}, delivery: 1, data: string(a.Rows.At(i))})
		g.Bytes += int64(len(a.Rows.At(i)))
	}
	for _, bad := range a.Bad {
		j := &g.jobs[bad.Index]
		j.bad, j.Done, j.Status, j.Reason = true, true, spillway.Failed, bad.Reason
	}
	g.Total, g.Hash = int64(len(g.jobs)), a.Hash
	g.Version++
}

// counts counts.
func (g *modelGroup) counts() ledger.Counts {
	c := ledger.Counts{Checkpoint: g.Total}
	for i := range g.jobs {
		j := &g.jobs[i]
		switch {
		case !j.Done && j.retrying:
			c.Retrying++
		case !j.Done:
		case j.Status == spillway.OK:
			c.Succeeded++
		case j.Status == spillway.Failed:
			c.Failed++
		case j.Status == spillway.Skipped:
			c.Skipped++
		case j.Status == spillway.InDoubt:
			c.InDoubt++
		}
		if !(j.Done && j.Status.Final()) {
			c.Checkpoint = min(c.Checkpoint, int64(i))
		}
	}
	return c
}

// settle applies one outcome to one job: whether it counts, and whether the
// job newly holds completion up no longer.
func (j *modelJob) settle(now time.Time, o *ledger.Outcome) (changed, finished bool) {
	switch {
	case o.Status == spillway.Retry || o.Status == spillway.Throttled:
		if j.Done || o.Plan.Delivery != j.delivery {
			return false, false
		}
		j.plan(now, o)
		return true, false
	case j.Done && (j.Status.Final() || o.Status == spillway.InDoubt):
		return false, false
	}
	finished = !j.Done
	j.Done, j.Status, j.Reason, j.Value = true, o.Status, o.Reason, o.Value
	j.NotBefore, j.retrying, j.intent = time.Time{}, false, false
	return true, finished
}

func (j *modelJob) plan(now time.Time, o *ledger.Outcome) {
	j.Attempt, j.lost, j.delivery = o.Plan.Attempt, o.Plan.Lost, j.delivery+1
	if j.NotBefore = o.Plan.NotBefore; j.NotBefore.IsZero() {
		j.NotBefore = now
	}
	j.Reason, j.Value, j.retrying, j.intent = o.Reason, o.Value, o.Status == spillway.Retry, false
}

// again reopens the job.
func (j *modelJob) again(now time.Time, retrying bool) {
	j.Done, j.Status, j.Reason, j.Value = false, 0, "", nil
	j.Attempt, j.lost, j.delivery, j.NotBefore, j.retrying = 1, 0, j.delivery+1, now, retrying
}

func (g *modelGroup) settle(now time.Time, s ledger.Settlement) (m ledger.Merged) {
	for k := range s.Outcomes {
		o := &s.Outcomes[k]
		for i := range o.Jobs.All {
			if i >= g.Total {
				continue
			}
			changed, finished := g.jobs[i].settle(now, o)
			if !changed {
				continue
			}
			m.Changed++
			switch one := spillway.One(i, i+1); {
			case finished:
				m.Finished = m.Finished.Union(one)
				*map[spillway.Status]*int64{
					spillway.OK: &m.Succeeded, spillway.Failed: &m.Failed, spillway.Skipped: &m.Skipped, spillway.InDoubt: &m.InDoubt,
				}[o.Status]++
			case !g.jobs[i].Done:
				m.Planned = m.Planned.Union(one)
			}
		}
	}
	if m.Changed > 0 && g.Started.IsZero() {
		g.Started = now
	}
	m.Ready = g.ready()
	return m
}

func (g *modelGroup) ready() bool {
	c := g.counts()
	return g.State == spillway.Running && c.Final() == g.Total
}

func (g *modelGroup) verify(now time.Time, jobs spillway.Spans, intend bool) (run, final spillway.Spans) {
	for i := range jobs.All {
		if i >= g.Total {
			continue
		}
		j, one := &g.jobs[i], spillway.One(i, i+1)
		switch {
		case j.Done:
			final = final.Union(one)
		case !g.State.Runs() || intend && j.intent:
		default:
			run = run.Union(one)
			j.intent = j.intent || intend
		}
	}
	if intend && len(run) > 0 && g.Started.IsZero() {
		g.Started = now
	}
	return run, final
}

// next is the end of what was touched.
func (g *modelGroup) next() (n int64) {
	for i := range g.jobs {
		j := &g.jobs[i]
		if j.Done && !j.bad || j.intent || j.delivery > 1 {
			n = int64(i) + 1
		}
	}
	return n
}

func (g *modelGroup) adopt(now time.Time) {
	for i := range g.next() {
		j := &g.jobs[i]
		switch {
		case j.Done:
		case j.intent:
			j.Done, j.Status, j.Reason, j.Value = true, spillway.InDoubt, "", json.RawMessage(nil)
			j.intent, j.retrying, j.NotBefore = false, false, time.Time{}
		case !j.waiting():
			j.delivery, j.NotBefore = 2, now
		}
	}
}
