package queuetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// start is when stories begin: late enough for any epoch before it.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a queue with a clock and short words for what the stories do. What
// goes wrong ends the test.
type world struct {
	*testing.T
	q       queue.Queue
	now     time.Time
	ids     int
	actions []spillway.ActionName // that claims name
}

func newWorld(t *testing.T, q queue.Queue, o Options) *world {
	now := start
	if !o.Epoch.IsZero() {
		now = o.Epoch
	}
	return &world{T: t, q: q, now: now, actions: []spillway.ActionName{"act"}}
}

// must ends the test on an error of the driver.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// wait lets time pass.
func (w *world) wait(d time.Duration) { w.now = w.now.Add(d) }

func (w *world) configure(s queue.Settings) {
	w.Helper()
	w.must(w.q.Configure(context.Background(), w.now, s))
}

// resource sets one resource; action one action; tenant one tenant.
func (w *world) resource(r queue.Resource) {
	w.Helper()
	w.configure(queue.Settings{Resources: []queue.Resource{r}})
}

func (w *world) action(a queue.Action) {
	w.Helper()
	w.configure(queue.Settings{Actions: []queue.Action{a}})
}

func (w *world) tenant(t queue.Tenant) {
	w.Helper()
	w.configure(queue.Settings{Tenants: []queue.Tenant{t}})
}

// group is a sealed group of tenant "ten", action "act", resource "res".
func (w *world) group(id string, total int64) queue.Group {
	return queue.Group{
		ID: spillway.GroupID(id), Version: 1, Tenant: "ten", Action: "act", Resource: "res",
		Total: total, Sealed: true, Submitted: w.now,
	}
}

func (w *world) put(groups ...queue.Group) {
	w.Helper()
	w.must(w.q.Put(context.Background(), w.now, groups))
}

// ask is a claim of n leases with new ids.
func (w *world) ask(n int) queue.Claim {
	c := queue.Claim{Instance: "i1", Actions: w.actions, Visibility: time.Minute}
	for range n {
		w.ids++
		c.Leases = append(c.Leases, spillway.LeaseID(fmt.Sprintf("l%d", w.ids)))
	}
	return c
}

func (w *world) claim(c queue.Claim) queue.Claimed {
	w.Helper()
	got, err := w.q.Claim(context.Background(), w.now, c)
	w.must(err)
	return got
}

// some claims n leases and returns those granted.
func (w *world) some(n int) []queue.Lease {
	w.Helper()
	return w.claim(w.ask(n)).Leases
}

// one claims one lease, which must be granted.
func (w *world) one() queue.Lease {
	w.Helper()
	got := w.some(1)
	if len(got) != 1 {
		w.Fatalf("at +%v no lease is granted", w.now.Sub(start))
	}
	return got[0]
}

// none claims one lease, which must not be granted, and returns when to ask
// again, counted from now; negative is only after a change.
func (w *world) none() time.Duration {
	w.Helper()
	got := w.claim(w.ask(1))
	if len(got.Leases) > 0 {
		w.Fatalf("at +%v %v of %s is granted", w.now.Sub(start), got.Leases[0].Jobs, got.Leases[0].Group)
	}
	if got.Next.IsZero() {
		return -1
	}
	if !got.Next.After(w.now) {
		w.Fatalf("nothing is granted, and the claim is to be asked again %v from now", got.Next.Sub(w.now))
	}
	return got.Next.Sub(w.now)
}

// settle ends a lease; held is the queue's answer.
func (w *world) settle(l queue.Lease, s queue.Settlement) (held bool) {
	w.Helper()
	s.Ref = l.Ref
	got, err := w.q.Settle(context.Background(), w.now, []queue.Settlement{s})
	w.must(err)
	return got[0]
}

// done settles a lease with every job finished.
func (w *world) done(l queue.Lease) {
	w.Helper()
	if !w.settle(l, queue.Settlement{Finished: l.Jobs.Len()}) {
		w.Fatalf("lease %s is no longer held", l.ID)
	}
}

// retry settles a lease with all its jobs to be delivered again.
func (w *world) retry(l queue.Lease, notBefore time.Time) {
	w.Helper()
	r := queue.Retry{Jobs: l.Jobs, NotBefore: notBefore}
	if !w.settle(l, queue.Settlement{Retries: []queue.Retry{r}}) {
		w.Fatalf("lease %s is no longer held", l.ID)
	}
}

func (w *world) extend(l queue.Lease, x queue.Extension) (held bool) {
	w.Helper()
	x.Ref = l.Ref
	got, err := w.q.Extend(context.Background(), w.now, []queue.Extension{x})
	w.must(err)
	return got[0]
}

func (w *world) reclaim() []queue.Lease {
	w.Helper()
	got, err := w.q.Reclaim(context.Background(), w.now, 100)
	w.must(err)
	return got
}

func (w *world) promote() []queue.Due {
	w.Helper()
	got, err := w.q.Promote(context.Background(), w.now, 100)
	w.must(err)
	return got
}

func (w *world) feed(f queue.Feed) {
	w.Helper()
	w.must(w.q.Feed(context.Background(), w.now, []queue.Feed{f}))
}

func (w *world) stats(id spillway.GroupID) queue.GroupStats {
	w.Helper()
	got, err := w.q.Stats(context.Background(), w.now, queue.Query{Groups: []spillway.GroupID{id}})
	w.must(err)
	return got.Groups[id]
}

func (w *world) resourceStats(name spillway.ResourceName) queue.ResourceStats {
	w.Helper()
	got, err := w.q.Stats(context.Background(), w.now, queue.Query{Resources: []spillway.ResourceName{name}})
	w.must(err)
	return got.Resources[name]
}

// equal fails unless got is want.
func equal[T comparable](w *world, what string, got, want T) {
	w.Helper()
	if got != want {
		w.Fatalf("%s is %v, not %v", what, got, want)
	}
}

// jobs fails unless a lease holds the jobs [from, to).
func (w *world) jobs(l queue.Lease, from, to int64) {
	w.Helper()
	if len(l.Jobs) != 1 || l.Jobs[0] != (spillway.Span{From: from, To: to}) {
		w.Fatalf("the lease holds %v, not [%d, %d)", l.Jobs, from, to)
	}
}

// perSecond is a rate of n a second.
func perSecond(n int64) flow.Rate { return flow.Rate{N: n, Per: time.Second} }
