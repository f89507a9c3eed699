package bulk_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/bulktest"
	"github.com/spillway/spillway/queue"
)

func TestTenantsShareByWeightAndPauseAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{
			Workers: 16, Resources: []bulk.ResourceRule{{Name: "tag", Rate: perSecond(300)}},
			Tenants: map[spillway.TenantID]bulk.TenantRule{"big": {Weight: 2}},
		})
		b.Handle("tag", bulk.Action{Batch: 10}, slow(20*time.Millisecond))
		b.Start()
		big := b.Submit(bulk.Submission{Tenant: "big", Action: "tag"}, bulktest.Numbers(20_000))
		small := b.Submit(bulk.Submission{Tenant: "small", Action: "tag"}, bulktest.Numbers(20_000))
		done := func(id spillway.GroupID) int64 {
			g, err := b.Group(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return g.Succeeded
		}
		within := func(what string, got, want int64) {
			t.Helper()
			if got < want*95/100 || got > want*105/100 {
				t.Errorf("%s: %d jobs, want about %d", what, got, want)
			}
		}
		time.Sleep(20 * time.Second)
		within("weight 2", done(big.ID), 4000)
		within("weight 1", done(small.ID), 2000)
		if err := b.PauseTenant(t.Context(), "big", true, "test"); err != nil {
			t.Fatal(err)
		}
		b.Restart() // the pause survives it
		time.Sleep(time.Second)
		before, alone := done(big.ID), done(small.ID)
		if w, err := b.Why(t.Context(), big.ID); err != nil || w.Code != "tenant_paused" {
			t.Errorf("why: %+v, %v", w, err)
		}
		time.Sleep(10 * time.Second)
		if n := done(big.ID); n != before {
			t.Errorf("%d jobs of a paused tenant ran", n-before)
		}
		within("alone", done(small.ID)-alone, 3000)
		if err := b.PauseTenant(t.Context(), "big", false, "test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if done(big.ID) == before {
			t.Error("the tenant did not go on")
		}
	})
}

func TestTenantsHaveLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Tenants: map[spillway.TenantID]bulk.TenantRule{
			"few": {MaxGroups: 2}, "light": {MaxBytes: 1000},
		}})
		b.Handle("tag", bulk.Action{Batch: 10}, ok)
		b.Start()
		later := time.Now().Add(time.Hour)
		submit := func(tenant spillway.TenantID, key string, n int) (*bulk.Group, error) {
			g, _, err := b.Engine.Submit(t.Context(), bulk.Submission{Tenant: tenant, Action: "tag", Key: key, NotBefore: later}, bulktest.Numbers(n))
			return g, err
		}
		first, err := submit("few", "1", 5)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := submit("few", "2", 5); err != nil {
			t.Fatal(err)
		}
		if _, err := submit("few", "3", 5); !errors.Is(err, spillway.CodeLimit) {
			t.Errorf("a third group: %v", err)
		}
		if g, err := submit("few", "1", 5); err != nil || g.ID != first.ID {
			t.Errorf("a known key counts no second time: %+v, %v", g, err)
		}
		if _, err := b.Cancel(t.Context(), first.ID); err != nil {
			t.Fatal(err)
		}
		finish(t, b, first.ID)
		if _, err := submit("few", "3", 5); err != nil {
			t.Errorf("a third group after one has ended: %v", err)
		}
		if g, err := submit("light", "", 10_000); !errors.Is(err, spillway.CodeLimit) || g.Sealed {
			t.Errorf("too many bytes: %+v, %v", g, err)
		}
		if _, err := submit("others", "", 10_000); err != nil {
			t.Errorf("another tenant: %v", err)
		}
	})
}

func TestKeysAreOfTheirTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{})
		b.Handle("tag", bulk.Action{Batch: 10}, ok)
		b.Handle("untag", bulk.Action{Batch: 10}, ok)
		b.Start()
		submit := func(s bulk.Submission) (*bulk.Group, bool, error) {
			s.Key = "k"
			return b.Engine.Submit(t.Context(), s, bulktest.Numbers(10))
		}
		g, existing, err := submit(bulk.Submission{Tenant: "a", Action: "tag"})
		if err != nil || existing {
			t.Fatal(g, existing, err)
		}
		if same, existing, err := submit(bulk.Submission{Tenant: "a", Action: "tag"}); err != nil || !existing || same.ID != g.ID {
			t.Errorf("the same again: %+v, %v, %v", same, existing, err)
		}
		for _, s := range []bulk.Submission{{Tenant: "a", Action: "untag"}, {Tenant: "a", Action: "tag", Resource: "other"}} {
			if _, _, err := submit(s); !errors.Is(err, spillway.CodeKeyConflict) {
				t.Errorf("%+v: %v", s, err)
			}
		}
		if other, existing, err := submit(bulk.Submission{Tenant: "b", Action: "tag"}); err != nil || existing || other.ID == g.ID {
			t.Errorf("another tenant's: %+v, %v, %v", other, existing, err)
		}
	})
}

// most tracks how many jobs are in handlers at once, of each group and in all.
type most struct {
	mu       sync.Mutex
	now, max map[string]int64
}

func (m *most) add(n int64, keys ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now == nil {
		m.now, m.max = map[string]int64{}, map[string]int64{}
	}
	for _, k := range keys {
		m.now[k] += n
		m.max[k] = max(m.max[k], m.now[k])
	}
}

func (m *most) during(d time.Duration) bulk.Handler {
	return func(ctx context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
		n := int64(len(b.Jobs))
		keys := []string{"action " + string(b.Action), "resource " + string(b.Resource), "tenant " + string(b.Tenant)}
		m.add(n, keys...)
		defer m.add(-n, keys...)
		return slow(d)(ctx, b)
	}
}

func TestConcurrencyOfActionResourceAndGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 64, Resources: []bulk.ResourceRule{{Name: "narrow", Concurrency: 25}}})
		var m most
		h := m.during(100 * time.Millisecond)
		b.Handle("bound", bulk.Action{Resource: "wide", Batch: 7, Concurrency: 20}, h)
		b.Handle("free", bulk.Action{Resource: "narrow", Batch: 7}, h)
		b.Start()
		var ids []spillway.GroupID
		for _, s := range []bulk.Submission{
			{Tenant: "a", Action: "bound"},
			{Tenant: "b", Action: "bound"},
			{Tenant: "c", Action: "free"},
			{Tenant: "d", Action: "free"},
			{Tenant: "own", Action: "free", Resource: "third", Concurrency: 5},
		} {
			ids = append(ids, b.Submit(s, bulktest.Numbers(500)).ID)
		}
		for _, id := range ids {
			if g := finish(t, b, id); g.Succeeded != 500 {
				t.Errorf("got %+v", g)
			}
		}
		for key, want := range map[string]int64{"action bound": 20, "resource narrow": 25, "tenant own": 5} {
			if m.max[key] != want {
				t.Errorf("%s: %d in flight at most, the bound is %d", key, m.max[key], want)
			}
		}
	})
}

func TestResourcePausesAtOnceAndAcrossRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 4})
		var began atomic.Int64
		b.Handle("tag", bulk.Action{Batch: 1}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			began.Add(1)
			return slow(10*time.Millisecond)(ctx, x)
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(1000))
		time.Sleep(500 * time.Millisecond)
		yes, no := true, false
		if r, err := b.SetResource(t.Context(), "tag", bulk.ResourceChange{Paused: &yes}, "me"); err != nil || !r.Paused || r.ChangedBy != "me" {
			t.Fatal(r, err)
		}
		n := began.Load()
		time.Sleep(time.Hour)
		b.Restart()
		time.Sleep(time.Hour)
		if began.Load() != n {
			t.Errorf("%d deliveries of a paused resource", began.Load()-n)
		}
		if w, err := b.Why(t.Context(), g.ID); err != nil || w.Code != "resource_paused" {
			t.Errorf("why: %+v, %v", w, err)
		}
		if _, err := b.SetResource(t.Context(), "tag", bulk.ResourceChange{Paused: &no}, "me"); err != nil {
			t.Fatal(err)
		}
		if g = finish(t, b, g.ID); g.Succeeded != 1000 {
			t.Errorf("got %+v", g)
		}
	})
}

// A parent's rate holds for its children together, to within a block of each.
func TestParentBoundsItsChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Resources: []bulk.ResourceRule{{Name: "all", Rate: perSecond(100)}, {Name: "wa-*", Parent: "all"}}})
		var seen starts
		b.Handle("send", bulk.Action{Resource: "wa-{tenant}", Batch: 10}, seen.during(10*time.Millisecond))
		b.Start()
		var ids []spillway.GroupID
		for _, tenant := range []spillway.TenantID{"a", "b", "c"} {
			ids = append(ids, b.Submit(bulk.Submission{Tenant: tenant, Action: "send"}, bulktest.Numbers(700)).ID)
		}
		for _, id := range ids {
			finish(t, b, id)
		}
		checkBound(t, seen.of(""), perSecond(100+3*10))
		checkUse(t, seen.of(""), perSecond(100))
	})
}

// finished is the order in which groups end.
func finished(t *testing.T, b *bulktest.Bench, ids ...spillway.GroupID) (at []time.Time) {
	for _, id := range ids {
		at = append(at, *finish(t, b, id).FinishedAt)
	}
	return at
}

func TestPriorityOrdersATenantsGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Resources: []bulk.ResourceRule{{Name: "tag", Rate: perSecond(100)}}})
		b.Handle("tag", bulk.Action{Batch: 10}, slow(10*time.Millisecond))
		b.Start()
		old := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(3000))
		short := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(100))
		urgent := b.Submit(bulk.Submission{Action: "tag", Priority: 24 * time.Hour}, bulktest.Numbers(3000))
		at := finished(t, b, old.ID, short.ID, urgent.ID)
		if !at[2].Before(at[0]) || !at[1].Before(at[0]) {
			t.Errorf("old %v, short %v, urgent %v", at[0], at[1], at[2])
		}
	})
}

// With order fair, a tenant's groups go on together whatever their age.
func TestFairOrderServesGroupsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Resources: []bulk.ResourceRule{{Name: "fair", Rate: perSecond(200)}}})
		b.Handle("fair", bulk.Action{Batch: 10, Order: queue.Even}, slow(10*time.Millisecond))
		b.Start()
		var ids []spillway.GroupID
		for range 20 {
			ids = append(ids, b.Submit(bulk.Submission{Action: "fair"}, bulktest.Numbers(1000)).ID)
		}
		for range 5 {
			time.Sleep(10 * time.Second)
			least, most := int64(1<<60), int64(0)
			for _, id := range ids {
				g, err := b.Group(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				least, most = min(least, g.Succeeded), max(most, g.Succeeded)
			}
			if most-least > 20 {
				t.Errorf("the groups are %d to %d jobs far", least, most)
			}
		}
	})
}
