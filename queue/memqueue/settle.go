package memqueue

import (
	"context"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// Settle implements queue.Queue.
func (q *Queue) Settle(_ context.Context, now time.Time, ss []queue.Settlement) ([]bool, error) {
	if err := q.enter(now); err != nil {
		return nil, err
	}
	defer q.mu.Unlock()
	held := make([]bool, len(ss))
	for i := range ss {
		if l := q.lease(ss[i].Ref); l != nil {
			held[i] = true
			q.settle(l, &ss[i])
		}
	}
	return held, nil
}

func (q *Queue) settle(l *lease, s *queue.Settlement) {
	g := l.group
	q.end(l)
	returned := s.Return.Intersect(l.Jobs)
	q.giveTokens(l, l.certain(returned.Len())+s.Refund)
	g.finished = min(g.total, g.finished+max(0, s.Finished))
	g.whole = s.Whole
	if g.gone {
		q.release(g)
		return
	}
	g.giveBack(q.now, returned, l)
	left := l.Jobs.Minus(returned)
	for _, x := range s.Retries {
		jobs := x.Jobs.Intersect(left)
		left = left.Minus(jobs)
		q.retry(g, jobs, x)
	}
	q.place(g)
}

// certain is the tokens of n returned jobs. After a refund the lease holds the
// true cost of its jobs without saying which costs what: each is at least 1,
// and none of those that ran more than was charged for it.
func (l *lease) certain(n int64) int64 {
	if n == 0 {
		return 0
	}
	ran := l.Jobs.Len() - n
	return max(n, l.left-ran*l.cost)
}

// retry holds jobs for their next delivery, each at the place in line that it
// has among the resource's waiting retries.
func (q *Queue) retry(g *group, jobs spillway.Spans, x queue.Retry) {
	r := g.resource()
	notBefore := at(x.NotBefore, 0)
	rank := r.waiting
	for len(jobs) > 0 {
		due := flow.Stagger(q.now, rank, r.limit.rate)
		n := flow.StaggerRun(rank, r.limit.rate)
		if notBefore >= due {
			// All that the backoff outlasts is one run.
			due, n = notBefore, q.outlasted(rank, notBefore, r.limit.rate)
		}
		var run spillway.Spans
		run, jobs = jobs.Take(n)
		rank += run.Len()
		g.keep(q.now, due, run, x)
	}
}

// outlasted is how many ranks from rank on are due by a time.
func (q *Queue) outlasted(rank int64, by flow.Time, r flow.Rate) int64 {
	n := flow.StaggerRun(rank, r)
	for n < spillway.ChunkSize && flow.Stagger(q.now, rank+n, r) <= by {
		n += flow.StaggerRun(rank+n, r)
	}
	return n
}

// release drops a group that has ended once its last lease is settled.
func (q *Queue) release(g *group) {
	q.place(g)
	if len(g.leases) > 0 {
		return
	}
	delete(q.groups, g.id)
	s, r := g.share(), g.resource()
	s.groups--
	r.groups--
	if s.groups == 0 {
		q.retire(s)
	}
	q.forget(r)
	q.dropResource(r)
}
