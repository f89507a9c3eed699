package queuetest

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/queue"
)

// Benchmark measures what the hot calls of a driver cost as the index grows.
func Benchmark(b *testing.B, open func(b *testing.B, o Options) queue.Queue) {
	shapes := []struct {
		name string
		fill func(int) queue.Group
		n    int
	}{
		{"groups=10", sameTenant, 10},
		{"groups=10000", sameTenant, 10_000},
		{"tenants=10000", ownTenant, 10_000},
		{"resources=10000", ownResource, 10_000},
		{"idle-resources=10000", idleResource, 10_000},
	}
	for _, s := range shapes {
		b.Run("claim+settle/"+s.name, func(b *testing.B) {
			benchClaim(b, filled(b, open, s.n, s.fill))
		})
	}
	b.Run("claim+settle/rate/children=10000", func(b *testing.B) {
		benchClaim(b, filled(b, open, 10_000, ownResource), parentRate()...)
	})
	b.Run("claim+settle/rate/groups=10000", func(b *testing.B) {
		benchClaim(b, filled(b, open, 10_000, sameTenant), queue.Resource{Name: "res", Rate: perSecond(1000)})
	})
	for _, hanging := range []int{8, 50} {
		b.Run(fmt.Sprintf("claim+settle/workers=64/hanging=%d", hanging), func(b *testing.B) {
			benchCrew(b, filled(b, open, 10_000, ownTenant), hanging)
		})
	}
	b.Run("claim/nothing-due/groups=10000", func(b *testing.B) {
		benchEmpty(b, filled(b, open, 10_000, sameTenant))
	})
	b.Run("settle/retries", func(b *testing.B) { benchRetry(b, filled(b, open, 10_000, sameTenant)) })
	b.Run("bytes/groups=100000", func(b *testing.B) { benchBytes(b, open) })
}

// forever is more jobs than a benchmark claims.
const forever = 1 << 50

func sameTenant(i int) queue.Group {
	return queue.Group{
		ID: spillway.GroupID(fmt.Sprintf("group-%08d", i)), Version: 1, Tenant: "ten", Resource: "res", Action: "act",
		Total: forever, Sealed: true, Submitted: start.Add(time.Duration(i) * time.Millisecond),
	}
}

func ownTenant(i int) queue.Group {
	g := sameTenant(i)
	g.Tenant = spillway.TenantID(fmt.Sprintf("tenant-%d", i))
	return g
}

func ownResource(i int) queue.Group {
	g := ownTenant(i)
	g.Resource = spillway.ResourceName(fmt.Sprintf("resource-%d", i))
	return g
}

// idleResource has work on the first resource only.
func idleResource(i int) queue.Group {
	g := ownResource(i)
	if i > 0 {
		g.Total = 0
	}
	return g
}

func filled(b *testing.B, open func(*testing.B, Options) queue.Queue, n int, fill func(int) queue.Group) queue.Queue {
	q := open(b, Options{Fresh: true})
	groups := make([]queue.Group, n)
	for i := range groups {
		groups[i] = fill(i)
	}
	check(b, q.Configure(context.Background(), start, queue.Settings{Actions: []queue.Action{{Name: "act", Batch: 10}}}))
	check(b, q.Put(context.Background(), start, groups))
	return q
}

func check(b *testing.B, err error) {
	if err != nil {
		b.Helper()
		b.Fatal(err)
	}
}

// parentRate makes all resources of ownResource children of one with a rate.
func parentRate() []queue.Resource {
	all := []queue.Resource{{Name: "par", Rate: perSecond(1000)}}
	for i := range 10_000 {
		all = append(all, queue.Resource{Name: ownResource(i).Resource, Parent: "par"})
	}
	return all
}

// asks makes a benchmark's claims.
type asks struct {
	claim queue.Claim
	n     int
}

func newAsks() *asks {
	return &asks{claim: queue.Claim{
		Instance: "i1", Actions: []spillway.ActionName{"act"}, Visibility: time.Minute, Leases: make([]spillway.LeaseID, 1),
	}}
}

func (a *asks) next() queue.Claim {
	a.n++
	a.claim.Leases[0] = spillway.LeaseID(fmt.Sprint(a.n))
	return a.claim
}

// benchClaim claims one lease and settles it; with a rate each claim comes when
// the last one said.
func benchClaim(b *testing.B, q queue.Queue, resources ...queue.Resource) {
	ctx, now, a := context.Background(), start, newAsks()
	check(b, q.Configure(ctx, now, queue.Settings{Resources: resources}))
	settle := make([]queue.Settlement, 1)
	b.ReportAllocs()
	_, err := q.Claim(ctx, now, a.next()) // builds the view
	check(b, err)
	for b.Loop() {
		got, err := q.Claim(ctx, now, a.next())
		check(b, err)
		now = now.Add(time.Millisecond)
		if got.Next.After(now) {
			now = got.Next
		}
		if len(got.Leases) == 0 {
			continue
		}
		settle[0] = queue.Settlement{Ref: got.Leases[0].Ref, Finished: got.Leases[0].Jobs.Len()}
		_, err = q.Settle(ctx, now, settle)
		check(b, err)
	}
}

// benchCrew is benchClaim for one of many workers, some of which hang with
// tenants that have the least virtual time.
func benchCrew(b *testing.B, q queue.Queue, hanging int) {
	ctx, now, a := context.Background(), start, newAsks()
	a.claim.PerResource, a.claim.Visibility = 64, time.Hour
	var heavy queue.Settings
	for i := range hanging {
		heavy.Tenants = append(heavy.Tenants, queue.Tenant{ID: ownTenant(i).Tenant, Weight: 100})
	}
	check(b, q.Configure(ctx, now, heavy))
	for range hanging {
		_, err := q.Claim(ctx, now, a.next())
		check(b, err)
	}
	settle := make([]queue.Settlement, 1)
	b.ReportAllocs()
	for b.Loop() {
		got, err := q.Claim(ctx, now, a.next())
		check(b, err)
		now = now.Add(time.Microsecond)
		settle[0] = queue.Settlement{Ref: got.Leases[0].Ref, Finished: got.Leases[0].Jobs.Len()}
		_, err = q.Settle(ctx, now, settle)
		check(b, err)
	}
}

// benchEmpty claims when nothing is due.
func benchEmpty(b *testing.B, q queue.Queue) {
	ctx, a := context.Background(), newAsks()
	r := queue.Resource{Name: "res", Rate: perSecond(1)}
	check(b, q.Configure(ctx, start, queue.Settings{Resources: []queue.Resource{r}}))
	_, err := q.Claim(ctx, start, a.next())
	check(b, err)
	b.ReportAllocs()
	for b.Loop() {
		got, err := q.Claim(ctx, start, a.next())
		check(b, err)
		if len(got.Leases) > 0 {
			b.Fatal("something is due")
		}
	}
}

// benchRetry settles leases with half of their jobs to be delivered again.
func benchRetry(b *testing.B, q queue.Queue) {
	ctx, now, a := context.Background(), start, newAsks()
	b.ReportAllocs()
	for b.Loop() {
		got, err := q.Claim(ctx, now, a.next())
		check(b, err)
		now = now.Add(10 * time.Millisecond)
		for _, l := range got.Leases {
			again, _ := l.Jobs.Take(l.Jobs.Len() / 2)
			s := queue.Settlement{Ref: l.Ref, Finished: l.Jobs.Len() - again.Len(), Retries: []queue.Retry{{Jobs: again}}}
			_, err = q.Settle(ctx, now, []queue.Settlement{s})
			check(b, err)
		}
	}
}

// benchBytes measures what a waiting group costs.
func benchBytes(b *testing.B, open func(*testing.B, Options) queue.Queue) {
	const n = 100_000
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		q := filled(b, open, n, sameTenant)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/group")
		runtime.KeepAlive(q)
	}
}
