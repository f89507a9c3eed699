package bulk_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// faults is how calls of a store fail: by chance, from a seed, or all of them
// while it is down. A lost answer is an error although the call happened.
type faults struct {
	seed              uint64
	fail, lose, delay float64 // probabilities
	code              spillway.Code
	down              atomic.Bool
	on                atomic.Bool // whether chance plays at all
	calls             atomic.Int64

	mu     sync.Mutex
	random *rand.Rand
}

func newFaults(t *testing.T, seed uint64, fail, lose, delay float64) *faults {
	t.Logf("seed %d", seed)
	f := &faults{seed: seed, fail: fail, lose: lose, delay: delay, code: spillway.CodeUnavailable, random: rand.New(rand.NewPCG(seed, 2))}
	f.on.Store(true)
	return f
}

func (f *faults) draw() (fail, lose bool, delay time.Duration) {
	if !f.on.Load() {
		return false, false, 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.random.Float64()
	if f.random.Float64() < f.delay {
		delay = time.Duration(f.random.IntN(200)) * time.Millisecond
	}
	return x < f.fail, x >= f.fail && x < f.fail+f.lose, delay
}

// call makes a call, or not, or forgets that it did.
func (f *faults) call(ctx context.Context, what string, make func() error) error {
	f.calls.Add(1)
	fail, lose, delay := f.draw()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
	}
	if fail || f.down.Load() {
		return spillway.Errorf(f.code, "%s: the store is down", what)
	}
	if err := make(); err != nil {
		return err
	}
	if lose {
		return spillway.Errorf(f.code, "%s: the answer was lost", what)
	}
	return nil
}

// answer is call for methods that answer something.
func answer[T any](ctx context.Context, f *faults, what string, make func() (T, error)) (out T, err error) {
	err = f.call(ctx, what, func() (err error) { out, err = make(); return err })
	if err != nil {
		var none T
		return none, err
	}
	return out, nil
}

type faultyLedger struct {
	ledger.Ledger
	f *faults
}

func (l faultyLedger) Create(ctx context.Context, now time.Time, x []ledger.NewGroup) ([]ledger.Created, error) {
	return answer(ctx, l.f, "create", func() ([]ledger.Created, error) { return l.Ledger.Create(ctx, now, x) })
}

func (l faultyLedger) Append(ctx context.Context, now time.Time, x []ledger.Append) ([]ledger.Appended, error) {
	return answer(ctx, l.f, "append", func() ([]ledger.Appended, error) { return l.Ledger.Append(ctx, now, x) })
}

func (l faultyLedger) Change(ctx context.Context, now time.Time, c ledger.Change) (ledger.Group, error) {
	return answer(ctx, l.f, "change", func() (ledger.Group, error) { return l.Ledger.Change(ctx, now, c) })
}

func (l faultyLedger) Complete(ctx context.Context, now time.Time, c []ledger.Completion) ([]ledger.Group, error) {
	return answer(ctx, l.f, "complete", func() ([]ledger.Group, error) { return l.Ledger.Complete(ctx, now, c) })
}

func (l faultyLedger) Index(ctx context.Context, now time.Time, q ledger.IndexQuery) ([]ledger.Indexed, error) {
	return answer(ctx, l.f, "index", func() ([]ledger.Indexed, error) { return l.Ledger.Index(ctx, now, q) })
}

func (l faultyLedger) Verify(ctx context.Context, now time.Time, c []ledger.Check) ([]ledger.Verdict, error) {
	return answer(ctx, l.f, "verify", func() ([]ledger.Verdict, error) { return l.Ledger.Verify(ctx, now, c) })
}

func (l faultyLedger) Payload(ctx context.Context, j []ledger.JobSet) ([]ledger.Payload, error) {
	return answer(ctx, l.f, "payload", func() ([]ledger.Payload, error) { return l.Ledger.Payload(ctx, j) })
}

func (l faultyLedger) Settle(ctx context.Context, now time.Time, s []ledger.Settlement) ([]ledger.Merged, error) {
	return answer(ctx, l.f, "settle", func() ([]ledger.Merged, error) { return l.Ledger.Settle(ctx, now, s) })
}

func (l faultyLedger) Find(ctx context.Context, f ledger.Filter) (g []ledger.Group, next string, err error) {
	err = l.f.call(ctx, "find", func() (err error) { g, next, err = l.Ledger.Find(ctx, f); return err })
	return g, next, err
}

func (l faultyLedger) Waiting(ctx context.Context, id spillway.GroupID, by time.Time, limit int) (due []ledger.Waiting, left int64, at time.Time, err error) {
	err = l.f.call(ctx, "waiting", func() (err error) { due, left, at, err = l.Ledger.Waiting(ctx, id, by, limit); return err })
	return due, left, at, err
}

type faultyQueue struct {
	queue.Queue
	f *faults
}

func (q faultyQueue) Put(ctx context.Context, now time.Time, g []queue.Group) error {
	return q.f.call(ctx, "put", func() error { return q.Queue.Put(ctx, now, g) })
}

func (q faultyQueue) Configure(ctx context.Context, now time.Time, s queue.Settings) error {
	return q.f.call(ctx, "configure", func() error { return q.Queue.Configure(ctx, now, s) })
}

func (q faultyQueue) Feed(ctx context.Context, now time.Time, f []queue.Feed) error {
	return q.f.call(ctx, "feed", func() error { return q.Queue.Feed(ctx, now, f) })
}

func (q faultyQueue) Claim(ctx context.Context, now time.Time, c queue.Claim) (queue.Claimed, error) {
	return answer(ctx, q.f, "claim", func() (queue.Claimed, error) { return q.Queue.Claim(ctx, now, c) })
}

func (q faultyQueue) Extend(ctx context.Context, now time.Time, x []queue.Extension) ([]bool, error) {
	return answer(ctx, q.f, "extend", func() ([]bool, error) { return q.Queue.Extend(ctx, now, x) })
}

func (q faultyQueue) Settle(ctx context.Context, now time.Time, s []queue.Settlement) ([]bool, error) {
	return answer(ctx, q.f, "settle", func() ([]bool, error) { return q.Queue.Settle(ctx, now, s) })
}

func (q faultyQueue) Reclaim(ctx context.Context, now time.Time, n int) ([]queue.Lease, error) {
	return answer(ctx, q.f, "reclaim", func() ([]queue.Lease, error) { return q.Queue.Reclaim(ctx, now, n) })
}

func (q faultyQueue) Promote(ctx context.Context, now time.Time, n int) ([]queue.Due, error) {
	return answer(ctx, q.f, "promote", func() ([]queue.Due, error) { return q.Queue.Promote(ctx, now, n) })
}

func (q faultyQueue) Stats(ctx context.Context, now time.Time, x queue.Query) (queue.Stats, error) {
	return answer(ctx, q.f, "stats", func() (queue.Stats, error) { return q.Queue.Stats(ctx, now, x) })
}

// on wraps an engine's stores with faults; nil is a store without.
func on(l, q *faults) func(ledger.Ledger, queue.Queue) (ledger.Ledger, queue.Queue) {
	return func(x ledger.Ledger, y queue.Queue) (ledger.Ledger, queue.Queue) {
		if l != nil {
			x = faultyLedger{x, l}
		}
		if q != nil {
			y = faultyQueue{y, q}
		}
		return x, y
	}
}
