package sqlledger

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

const selectVerdict = `SELECT g.seq, g.state, g.version, g.total, g.started, o.sets
	FROM groups g LEFT JOIN outcomes o ON o.pos = g.seq * 17179869184 + $2 WHERE g.id = $1`

// Verify says which jobs are still to run; see ledger.Jobs.
func (l *Ledger) Verify(ctx context.Context, now time.Time, checks []ledger.Check) ([]ledger.Verdict, error) {
	out := make([]ledger.Verdict, len(checks))
	intend := false
	for i := range checks {
		if _, err := chunkOf(checks[i].Group, checks[i].Jobs); err != nil {
			return nil, err
		}
		intend = intend || checks[i].Intend
	}
	if intend {
		err := l.write(ctx, &request{apply: func(b *batch) (err error) {
			out, err = b.verify(now, checks)
			return err
		}})
		if err != nil {
			return nil, err
		}
		return out, nil
	}
	err := l.read(ctx, func(s *session) error {
		for i := range checks {
			if err := readVerdict(s, &checks[i], &out[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// chunkOf is the chunk that all of the jobs are in.
func chunkOf(g spillway.GroupID, jobs spillway.Spans) (int64, error) {
	n := len(jobs)
	if n == 0 {
		return 0, nil
	}
	first, last := spillway.ChunkOf(jobs[0].From), spillway.ChunkOf(jobs[n-1].To-1)
	if jobs[0].From < 0 || first != last {
		return 0, spillway.Errorf(spillway.CodeInvalid, "group %q: jobs %v are of more than one chunk", g, jobs)
	}
	return first, nil
}

// readVerdict is the one read before a delivery: group and chunk at once.
func readVerdict(s *session, k *ledger.Check, v *ledger.Verdict) error {
	first, err := chunkOf(k.Group, k.Jobs)
	if err != nil {
		return err
	}
	first *= spillway.ChunkSize
	return s.each(func(scan func(...any) error) error {
		var seq, total, started int64
		var state string
		var sets []byte
		if err := scan(&seq, &state, &v.Version, &total, &started, &sets); err != nil {
			return err
		}
		c := chunk{pos: position(seq, first)}
		if sets != nil {
			if err := c.decode(sets); err != nil {
				return damaged("outcomes", c.pos, err)
			}
		}
		v.State = spillway.State(state)
		c.judge(k, total, v)
		return nil
	}, selectVerdict, string(k.Group), first)
}

// judge fills in what of the jobs is to run, intents aside.
func (c *chunk) judge(k *ledger.Check, total int64, v *ledger.Verdict) {
	settled := c.settled()
	v.Final = k.Jobs.Intersect(settled)
	if !v.State.Runs() {
		return
	}
	v.Run = k.Jobs.Minus(settled)
	if n := len(v.Run); n > 0 && v.Run[n-1].To > total {
		v.Run = v.Run.Intersect(spillway.One(0, total))
	}
	v.Plans = c.plansOf(v.Run)
}

// plansOf are the plans of jobs, in order of their first.
func (c *chunk) plansOf(jobs spillway.Spans) []ledger.Plan {
	var plans []ledger.Plan
	for _, p := range c.plans {
		if both := p.jobs.Intersect(jobs); len(both) > 0 && p.due != 0 {
			plans = append(plans, ledger.Plan{
				Jobs: both, Attempt: p.attempt, Delivery: p.delivery, Lost: p.lost, NotBefore: fromMicros(p.due),
			})
		}
	}
	slices.SortFunc(plans, func(a, b ledger.Plan) int { return cmp.Compare(a.Jobs[0].From, b.Jobs[0].From) })
	return plans
}

// verify is Verify with intents: only jobs whose intent it sets are to run.
func (b *batch) verify(now time.Time, checks []ledger.Check) ([]ledger.Verdict, error) {
	groups, chunks := make([]*group, len(checks)), make([]*chunk, len(checks))
	for i := range checks {
		k := &checks[i]
		first, err := chunkOf(k.Group, k.Jobs)
		if err != nil {
			return nil, err
		}
		if groups[i], err = b.group(k.Group); err != nil {
			return nil, err
		}
		if groups[i] == nil {
			continue
		}
		if chunks[i], err = b.chunk(chunkPosition(groups[i].seq, first)); err != nil {
			return nil, err
		}
	}
	out := make([]ledger.Verdict, len(checks))
	for i, g := range groups {
		if g != nil {
			b.intend(now, g, chunks[i], &checks[i], &out[i])
		}
	}
	return out, nil
}

func (b *batch) intend(now time.Time, g *group, c *chunk, k *ledger.Check, v *ledger.Verdict) {
	v.State, v.Version = g.State, g.Version
	c.judge(k, g.Total, v)
	if !k.Intend || len(v.Run) == 0 {
		return
	}
	if v.Run = v.Run.Minus(c.intent); len(v.Run) == 0 {
		v.Plans = nil
		return
	}
	v.Plans = c.plansOf(v.Run)
	c.intent = c.intent.Union(v.Run)
	c.dirty = true
	b.begun(now, g)
}
