package bulk

import (
	"context"
	"iter"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// Failures yields the failed, skipped and in-doubt jobs of a group in order,
// from a job on, with their reasons and payloads.
func (e *Engine) Failures(ctx context.Context, id spillway.GroupID, from int64) iter.Seq2[JobView, error] {
	return e.read(ctx, ledger.JobQuery{
		Group: id, Data: true, From: from,
		Statuses: []spillway.Status{spillway.Failed, spillway.Skipped, spillway.InDoubt},
	})
}

// Results yields the jobs of a group that have a value, in order, from a job
// on.
func (e *Engine) Results(ctx context.Context, id spillway.GroupID, from int64) iter.Seq2[JobView, error] {
	return e.read(ctx, ledger.JobQuery{Group: id, Values: true, From: from})
}

func (e *Engine) read(ctx context.Context, q ledger.JobQuery) iter.Seq2[JobView, error] {
	return func(yield func(JobView, error) bool) {
		g, err := e.find(ctx, q.Group)
		if err != nil {
			yield(JobView{}, err)
			return
		}
		for {
			jobs, next, err := e.ledger.Read(ctx, q)
			if err != nil {
				yield(JobView{}, err)
				return
			}
			for _, j := range jobs {
				if !yield(jobView(g, j), nil) {
					return
				}
			}
			if q.From = next; next == 0 {
				return
			}
		}
	}
}

// Job reads one job.
func (e *Engine) Job(ctx context.Context, id spillway.GroupID, index int64) (*JobView, error) {
	g, err := e.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= g.Total {
		return nil, spillway.Errorf(spillway.CodeNotFound, "group %s has the jobs 0 to %d, not %d", id, g.Total-1, index)
	}
	jobs, _, err := e.ledger.Read(ctx, ledger.JobQuery{Group: id, From: index, Limit: 1, Data: true})
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 || jobs[0].Index != index {
		return nil, spillway.Errorf(spillway.CodeInternal, "job %d of group %s could not be read", index, id)
	}
	v := jobView(g, jobs[0])
	return &v, nil
}

func jobView(g ledger.Group, j ledger.JobRecord) JobView {
	v := JobView{Index: j.Index, Error: j.Reason, Attempt: j.Attempt, Value: j.Value, Data: j.Data}
	switch {
	case j.Done:
		v.Status = j.Status.String()
	case g.State == spillway.Cancelled:
		v.Status = "cancelled"
	case !j.NotBefore.IsZero():
		v.Status, v.NotBefore = "retrying", moment(j.NotBefore)
	default:
		v.Status = "pending"
	}
	return v
}
