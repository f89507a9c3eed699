package ledgertest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

func (r *random) stepCreate() {
	r.Helper()
	r.made++
	n := newGroup(spillway.GroupID(fmt.Sprint("g", r.made)))
	n.Tenant = spillway.TenantID(fmt.Sprint("t", r.made)) // to be erased one by one
	r.did("create %s", n.ID)
	r.create(n)
	r.m.create(r.now, n)
	r.ids = append(r.ids, n.ID)
	g := r.m.groups[n.ID]
	r.appendRows(g, 1000) // so that there is soon more than a chunk
	r.compare(g)
}

func (r *random) stepAppend(g *modelGroup) {
	r.Helper()
	if g.Total > 2600 {
		return
	}
	r.appendRows(g, 1+r.Int64N(500))
}

func (r *random) appendRows(g *modelGroup, n int64) {
	r.Helper()
	n = min(n, spillway.ChunkSize-g.Total%spillway.ChunkSize)
	a := ledger.Append{Group: g.ID, Offset: g.Total, Rows: rows(g.Total, g.Total+n), Hash: r.Uint64()}
	for r.IntN(3) == 0 && len(a.Bad) < 3 {
		a.Bad = append(a.Bad, ledger.BadRow{Index: g.Total + r.Int64N(n), Reason: "ragged"})
	}
	if r.IntN(10) == 0 {
		a.Offset += spillway.ChunkSize // wrong, whatever else is
		a.Bad = nil
	}
	r.did("append %d rows to %s at %d, bad %v", n, g.ID, a.Offset, a.Bad)
	out := r.append(a)
	switch {
	case g.State == spillway.Cancelled:
		r.refused(out.Err, spillway.CodeState)
	case g.Sealed:
		r.refused(out.Err, spillway.CodeSealed)
	case a.Offset != g.Total:
		r.refused(out.Err, spillway.CodeOffset)
	default:
		r.ok(out.Err)
		g.append(a)
	}
	if out.Total != g.Total || out.Version != g.Version || out.State != g.State {
		r.Fatalf("answer %+v, want %d, %d, %s", out, g.Total, g.Version, g.State)
	}
}

func (r *random) stepSettle(g *modelGroup) {
	r.Helper()
	var all []ledger.Settlement
	for range 1 + r.IntN(3) {
		chunk, jobs := r.jobs(g)
		s := ledger.Settlement{Group: g.ID, Chunk: chunk}
		for len(jobs) > 0 {
			var o ledger.Outcome
			o.Jobs, jobs = jobs.Take(1 + r.Int64N(jobs.Len()))
			r.fate(&o)
			s.Outcomes = append(s.Outcomes, o)
			r.did("settle %s: %v %v, plan %+v, %q, %s", g.ID, o.Jobs, o.Status, o.Plan, o.Reason, o.Value)
		}
		all = append(all, s)
	}
	out, err := r.l.Settle(r.ctx(), r.now, all)
	r.ok(err)
	for i, s := range all {
		r.same("merged", out[i], g.settle(r.now, s))
	}
}

// fate gives jobs a random outcome.
func (r *random) fate(o *ledger.Outcome) {
	o.Status = statuses[r.IntN(len(statuses))]
	if r.IntN(3) > 0 {
		o.Reason = fmt.Sprint("reason ", r.IntN(1000))
	}
	if o.Jobs.Len() == 1 && r.IntN(2) == 0 {
		o.Value = json.RawMessage(fmt.Sprint(r.IntN(1000)))
	}
	if o.Status == spillway.Retry || o.Status == spillway.Throttled {
		o.Plan = ledger.Plan{Attempt: 1 + r.IntN(3), Delivery: 1 + r.IntN(3), Lost: r.IntN(2)}
		if r.IntN(3) > 0 {
			o.Plan.NotBefore = r.now.Add(time.Duration(r.IntN(100)) * time.Second)
		}
	}
}

func (r *random) stepVerify(g *modelGroup) {
	r.Helper()
	_, jobs := r.jobs(g)
	intend := r.IntN(3) == 0
	r.did("verify %s: %v, intend %v", g.ID, jobs, intend)
	v := r.verify(g.ID, jobs, intend)
	run, final := g.verify(r.now, jobs, intend)
	r.same("run", v.Run, run)
	r.same("final", v.Final, final)
	if v.State != g.State || v.Version != g.Version {
		r.Fatalf("verdict of %s, version %d; want %s, %d", v.State, v.Version, g.State, g.Version)
	}
	plans := map[int64]ledger.Plan{}
	for _, p := range v.Plans {
		for i := range p.Jobs.All {
			q := p
			q.Jobs = nil
			plans[i] = q
		}
	}
	want := map[int64]ledger.Plan{}
	for i := range run.All {
		if j := &g.jobs[i]; j.waiting() {
			want[i] = ledger.Plan{Attempt: j.Attempt, Delivery: j.delivery, Lost: j.lost, NotBefore: j.NotBefore}
		}
	}
	r.same("plans", plans, want)
}

func (r *random) stepChange(g *modelGroup) {
	r.Helper()
	kinds := []ledger.ChangeKind{
		ledger.Pause, ledger.Resume, ledger.Resume, ledger.RetryFailed, ledger.RetryFailed,
		ledger.Resolve, ledger.Resolve, ledger.Resolve, ledger.Seal, ledger.Cancel,
	}
	c := ledger.Change{Group: g.ID, Kind: kinds[r.IntN(len(kinds))], Reason: "someone"}
	if c.Kind == ledger.Cancel && r.IntN(3) > 0 {
		c.Kind = ledger.Seal
	}
	if c.Kind == ledger.Resolve {
		c.As = []spillway.Status{spillway.OK, spillway.Failed, spillway.Retry}[r.IntN(3)]
		if g.Total > 0 && r.IntN(2) == 0 {
			c.Index = at(r.Int64N(g.Total))
		}
	}
	r.did("%s %s, as %v, index %v", c.Kind, g.ID, c.As, c.Index != nil)
	got, err := r.l.Change(r.ctx(), r.now, c)
	if code := g.change(r.now, c); spillway.CodeOf(err) != code {
		r.Fatalf("error %v, want code %q", err, code)
	} else if code == "" {
		want := g.Group
		want.Counts = g.counts()
		r.same("changed", got, want)
	}
}

func (r *random) stepComplete(g *modelGroup) {
	r.Helper()
	if r.IntN(2) == 0 { // bring it nearer to its end
		for chunk := int64(0); chunk*spillway.ChunkSize < g.Total; chunk++ {
			from := chunk * spillway.ChunkSize
			s := ledger.Settlement{Group: g.ID, Chunk: chunk, Outcomes: []ledger.Outcome{{Jobs: spillway.One(from, from+spillway.ChunkSize)}}}
			r.did("settle %s: all of chunk %d", g.ID, chunk)
			out, err := r.l.Settle(r.ctx(), r.now, []ledger.Settlement{s})
			r.ok(err)
			r.same("merged", out[0], g.settle(r.now, s))
		}
	}
	r.did("complete %s", g.ID)
	out := r.complete(g.ID)
	if g.complete(r.now, json.RawMessage(`{"n":1}`)) != (len(out) == 1) {
		r.Fatalf("completed: %v", out)
	}
}

func (r *random) stepAdopt(g *modelGroup) {
	r.Helper()
	r.did("adopt %s", g.ID)
	out, err := r.l.Index(r.ctx(), r.now, ledger.IndexQuery{IDs: []spillway.GroupID{g.ID}, Adopt: true})
	r.ok(err)
	if len(out) == 1 {
		g.adopt(r.now)
	}
}

func (r *random) stepErase(g *modelGroup) {
	r.Helper()
	r.did("erase %s", g.ID)
	r.prune(ledger.Prune{Tenant: g.Tenant, Limit: 1 + r.IntN(3)})
	delete(r.m.groups, g.ID)
	for i, id := range r.ids {
		if id == g.ID {
			r.ids = append(r.ids[:i], r.ids[i+1:]...)
			break
		}
	}
	groups, _, err := r.l.Find(r.ctx(), ledger.Filter{})
	r.ok(err)
	if len(groups) != len(r.ids) {
		r.Fatalf("%d groups left, want %d", len(groups), len(r.ids))
	}
}

// stepWaiting compares what is due, job by job.
func (r *random) stepWaiting(g *modelGroup) {
	r.Helper()
	by := r.now.Add(time.Duration(r.IntN(60)) * time.Second)
	limit := 1 + r.IntN(8)
	r.did("waiting of %s in %v, at most %d", g.ID, by.Sub(r.now), limit)
	due, left, leftDue, err := r.l.Waiting(r.ctx(), g.ID, by, limit)
	r.ok(err)
	listed := map[int64]bool{}
	var last time.Time
	for _, w := range due {
		for i := range w.Jobs.All {
			if j := &g.jobs[i]; !j.NotBefore.Equal(w.NotBefore) || j.lost != w.Lost || j.NotBefore.After(by) || j.NotBefore.Before(last) {
				r.Fatalf("job %d: listed %+v, want %+v", i, w, j)
			}
			listed[i] = true
		}
		last = w.NotBefore
	}
	var wantLeft int64
	var wantDue time.Time
	for i := range g.jobs {
		if j := &g.jobs[i]; j.waiting() && !listed[int64(i)] {
			wantLeft++
			if wantDue.IsZero() || j.NotBefore.Before(wantDue) {
				wantDue = j.NotBefore
			}
		}
	}
	if left != wantLeft || !leftDue.Equal(wantDue) || len(due) > limit {
		r.Fatalf("%d listed, %d left due %v; want %d, %v", len(due), left, leftDue, wantLeft, wantDue)
	}
	if len(due) < limit && left > 0 && !leftDue.After(by) {
		r.Fatalf("%d of %d listed, though more is due at %v", len(due), limit, leftDue)
	}
}
