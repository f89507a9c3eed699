package memqueue

import (
	"context"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// Claim implements queue.Queue.
func (q *Queue) Claim(_ context.Context, now time.Time, c queue.Claim) (queue.Claimed, error) {
	if err := check(c); err != nil {
		return queue.Claimed{}, err
	}
	if err := q.enter(now); err != nil {
		return queue.Claimed{}, err
	}
	defer q.mu.Unlock()
	v := q.view(c)
	var out queue.Claimed
	for _, id := range c.Leases {
		if l := q.leases[id]; l != nil {
			if !l.taken {
				out.Leases = append(out.Leases, l.answer())
			}
			continue
		}
		s := v.next(q)
		if s == nil {
			continue
		}
		out.Leases = append(out.Leases, q.grant(s.pick, id, c).answer())
	}
	if v.next(q) != nil {
		out.Next = q.now.Time()
	} else {
		out.Next = when(v.wake())
	}
	return out, nil
}

// check says what is wrong with a claim.
func check(c queue.Claim) error {
	switch {
	case len(c.Leases) == 0:
		return spillway.Errorf(spillway.CodeInvalid, "a claim needs at least one lease id")
	case len(c.Actions) == 0:
		return spillway.Errorf(spillway.CodeInvalid, "a claim names at least one action")
	case c.Visibility <= 0:
		return spillway.Errorf(spillway.CodeInvalid, "a claim needs a visibility of more than 0, not %v", c.Visibility)
	}
	return nil
}

// Extend implements queue.Queue.
func (q *Queue) Extend(_ context.Context, now time.Time, xs []queue.Extension) ([]bool, error) {
	if err := q.enter(now); err != nil {
		return nil, err
	}
	defer q.mu.Unlock()
	held := make([]bool, len(xs))
	for i, x := range xs {
		l := q.lease(x.Ref)
		if l == nil {
			continue
		}
		held[i] = true
		if !x.Until.IsZero() {
			l.deadline = flow.At(x.Until)
			q.deadlines.set(l, float64(l.deadline), l.Token)
		}
		if more := x.Refund - l.refund; more > 0 {
			l.refund = x.Refund
			q.giveTokens(l, more)
			q.place(l.group)
		}
	}
	return held, nil
}

// Reclaim implements queue.Queue.
func (q *Queue) Reclaim(_ context.Context, now time.Time, max int) ([]queue.Lease, error) {
	if err := q.enter(now); err != nil {
		return nil, err
	}
	defer q.mu.Unlock()
	var out []queue.Lease
	for len(out) < max {
		l := q.deadlines.top()
		if l == nil || l.deadline > q.now {
			break
		}
		q.token++
		l.Token = q.token
		l.deadline = q.now.Add(queue.ReclaimWait)
		q.deadlines.set(l, float64(l.deadline), l.Token)
		if !l.taken {
			l.taken = true
			l.group.share().hold(l.Instance, -1)
			l.group.resource().mark()
		}
		out = append(out, l.answer())
	}
	return out, nil
}
