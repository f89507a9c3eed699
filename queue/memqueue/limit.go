package memqueue

import (
	"fmt"

	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// limit is a resource's rate and what counts against it.
type limit struct {
	rate    flow.Rate
	window  bool
	limiter flow.Limiter // nil until there is a rate
	// unlogged is what was granted while there was no rate, the latest at last.
	unlogged int64
	last     flow.Time
}

// unlimited says that a rate bounds nothing.
func unlimited(r flow.Rate) bool { return r.N <= 0 || r.Per <= 0 }

// change sets the rate. What was granted before keeps counting: grants without
// a rate left no log and count as granted together with the latest of them.
func (l *limit) change(rate flow.Rate, window bool, now flow.Time, spent bool, epoch flow.Time) {
	defer func() { l.rate, l.window = rate, window }()
	if unlimited(rate) {
		return
	}
	before, at := l.unlogged, l.last
	switch {
	case l.limiter == nil && spent:
		before, at = rate.N, max(l.last, epoch)
	case l.limiter != nil && (l.unlogged > 0 || l.window != window):
		before, at = before+l.limiter.Spent(rate, now), now
	}
	if l.limiter == nil || l.window != window || l.unlogged > 0 {
		l.limiter = newLimiter(window)
		seed(l.limiter, rate, at, before)
		l.unlogged = 0
	}
}

func newLimiter(window bool) flow.Limiter {
	if window {
		return new(flow.Window)
	}
	return new(flow.Sliding)
}

// seed starts a limiter as if n tokens had been taken at a time.
func seed(l flow.Limiter, r flow.Rate, at flow.Time, n int64) {
	if n <= 0 {
		return
	}
	l.StartSpent(r, at)
	l.Refund(r, at, r.N-min(n, r.N))
}

// fit is when up to n jobs of a cost can have their tokens, and how many of
// them then.
func fit(l flow.Limiter, r flow.Rate, now flow.Time, n, cost int64) (int64, flow.Time) {
	if unlimited(r) {
		return n, now
	}
	size, at := l.Fit(r, now, min(n*cost, r.N))
	if jobs := size / cost; jobs > 0 {
		return min(n, jobs), at
	}
	return 1, l.When(r, now, min(cost, r.N))
}

// fit is when the rate allows up to n jobs of a cost, and how many of them then.
func (l *limit) fit(now flow.Time, n, cost int64) (int64, flow.Time) {
	if unlimited(l.rate) {
		return n, now
	}
	return fit(l.limiter, l.rate, now, n, cost)
}

// take takes what fit promised and returns the stamp of the grant.
func take(l flow.Limiter, r flow.Rate, now flow.Time, n int64) (stamp flow.Time) {
	if unlimited(r) {
		return now
	}
	d := l.Take(r, now, n)
	if !d.Granted {
		panic(fmt.Sprintf("memqueue: flow promised %d tokens of %v at %d and refused them", n, r, now))
	}
	return d.At
}

// charge is what tokens a limiter takes for n jobs of a cost.
func charge(r flow.Rate, n, cost int64) int64 {
	if unlimited(r) {
		return n * cost
	}
	return min(n*cost, r.N)
}

// spend takes tokens at now and returns the stamp that they are logged under.
func (l *limit) spend(now flow.Time, n int64) (stamp flow.Time) {
	if unlimited(l.rate) {
		l.unlogged += n
		l.last = now
		return now
	}
	return take(l.limiter, l.rate, now, n)
}

// refund gives back tokens of a grant.
func (l *limit) refund(stamp flow.Time, n int64) {
	switch {
	case n <= 0:
	case unlimited(l.rate):
		l.unlogged = max(0, l.unlogged-n)
	default:
		l.limiter.Refund(l.rate, stamp, n)
	}
}

// spent is what counts against the rate.
func (l *limit) spent(now flow.Time) int64 {
	if unlimited(l.rate) {
		return 0
	}
	return l.limiter.Spent(l.rate, now)
}

// block is tokens of the parent that a child may spend until they are void.
type block struct {
	left  int64
	until flow.Time
}

// needsBlock says that nothing is granted before the parent gives a block.
func (r *resource) needsBlock(now flow.Time) bool {
	return r.parent != nil && !unlimited(r.parent.limit.rate) && r.block.at(now) == 0
}

// blockSize is the tokens of a block, enough for a job.
func (r *resource) blockSize(cost int64) int64 {
	rate := r.limit.rate
	n := int64(float64(rate.N) * float64(queue.ParentBlock) / float64(rate.Per))
	return min(rate.N, max(n, cost, 1))
}

// fitParent is when the parent allows up to n jobs, and how many of them then.
func (r *resource) fitParent(now flow.Time, n, cost int64) (int64, flow.Time) {
	if r.parent == nil || unlimited(r.parent.limit.rate) {
		return n, now
	}
	l := &r.parent.limit
	cost = min(cost, l.rate.N)
	left := r.block.at(now)
	if left >= cost {
		return min(n, left/cost), now
	}
	draw, at := l.draw(now, left, cost, r.parent.blockSize(cost))
	if left > 0 && at >= r.block.until { // what is left is void by then
		left = 0
		draw, at = l.draw(now, 0, cost, r.parent.blockSize(cost))
	}
	return max(1, min(n, (left+draw)/cost)), at
}

// draw is when a block can be filled up enough for a job, and with how much.
func (l *limit) draw(now flow.Time, left, cost, block int64) (int64, flow.Time) {
	draw, at := l.limiter.Fit(l.rate, now, block-left)
	if left+draw < cost {
		return cost - left, l.limiter.When(l.rate, now, cost-left)
	}
	return draw, at
}

// spendParent takes n tokens from the block at hand, drawing one if needed.
func (r *resource) spendParent(now flow.Time, n, cost int64) {
	if r.parent == nil || unlimited(r.parent.limit.rate) {
		return
	}
	l := &r.parent.limit
	n, cost = min(n, l.rate.N), min(cost, l.rate.N)
	left := r.block.at(now)
	if left < n {
		draw, _ := l.draw(now, left, cost, r.parent.blockSize(cost))
		l.spend(now, draw)
		left += draw
		r.block.until = now.Add(queue.ParentBlock)
		r.parent.mark()
	}
	r.block.left = left - n
}

// at is what is left of the block.
func (b *block) at(now flow.Time) int64 {
	if now >= b.until {
		return 0
	}
	return b.left
}

// refundParent gives tokens back to the block that they came from, or to its
// successor; the parent's own log knows blocks only.
func (r *resource) refundParent(now flow.Time, n int64) {
	if now < r.block.until && !unlimited(r.parent.limit.rate) {
		r.block.left = min(r.block.left+n, r.parent.blockSize(1))
	}
}
