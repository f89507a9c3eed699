package memqueue

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// What has ended leaves nothing behind, however many names have come and gone,
// and even if some instance stopped claiming long ago.
func TestForgetsWhatHasEnded(t *testing.T) {
	q, ctx, now := New(Options{Fresh: true}), context.Background(), time.Unix(1_000_000, 0)
	claim := queue.Claim{Instance: "i", Actions: []spillway.ActionName{"act"}, Visibility: time.Minute}
	for _, instance := range []string{"gone", "i"} {
		c := claim
		c.Instance, c.Leases = instance, []spillway.LeaseID{"first"}
		if _, err := q.Claim(ctx, now, c); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2000 {
		g := queue.Group{
			ID: spillway.GroupID(fmt.Sprint("g", i)), Version: 1, Total: 3, Sealed: true, Submitted: now, Action: "act",
			Tenant: spillway.TenantID(fmt.Sprint("t", i)), Resource: spillway.ResourceName(fmt.Sprint("r", i)),
		}
		claim.Leases = []spillway.LeaseID{spillway.LeaseID(fmt.Sprint("l", i))}
		must(t, q.Put(ctx, now, []queue.Group{g}))
		got, err := q.Claim(ctx, now, claim)
		must(t, err)
		retry := []queue.Retry{{Jobs: got.Leases[0].Jobs}}
		_, err = q.Settle(ctx, now, []queue.Settlement{{Ref: got.Leases[0].Ref, Retries: retry}})
		must(t, err)
		g.Version, g.Gone = 2, true
		must(t, q.Put(ctx, now, []queue.Group{g}))
	}
	checkViews(t, q)
	kept := map[string]int{
		"groups": len(q.groups), "resources": len(q.resources), "tenants": len(q.tenants), "leases": len(q.leases),
		"deadlines": q.deadlines.len(), "needs": q.needs.len(),
	}
	for what, n := range kept {
		if n != 0 {
			t.Errorf("%d %s are kept", n, what)
		}
	}
	views := len(q.views)
	for i := range 3 * maxViews { // with room for any batch
		claim.MaxJobs, claim.Leases = int64(i+1), []spillway.LeaseID{"none"}
		_, err := q.Claim(ctx, now, claim)
		must(t, err)
	}
	if len(q.views) != views {
		t.Errorf("%d views are kept of one shape", len(q.views)-views+1)
	}
	for i := range 3 * maxViews {
		claim.Instance, claim.Leases = fmt.Sprint("i", i), []spillway.LeaseID{"none"}
		_, err := q.Claim(ctx, now, claim)
		must(t, err)
	}
	if len(q.views) > maxViews {
		t.Errorf("%d views are kept", len(q.views))
	}
}

// A view drops the seats of resources that are gone, looked at or not.
func checkViews(t *testing.T, q *Queue) {
	t.Helper()
	for _, v := range q.views {
		if len(v.dirty) > 200 || v.sets[0].due.len() > 0 || v.sets[0].wait.len() > 0 {
			t.Errorf("the view of %s keeps %d seats to look at", v.instance, len(v.dirty))
		}
	}
}

// Resources that were told and used once are forgotten with their parents, so
// that what is kept depends on how many are used at a time.
func TestForgetsResourcesUsedOnce(t *testing.T) {
	q, ctx, now := New(Options{Fresh: true}), context.Background(), time.Unix(1_000_000, 0)
	claim := queue.Claim{Instance: "i", Actions: []spillway.ActionName{"act", "other"}, Visibility: time.Minute, PerResource: 8}
	for i := range 20_000 {
		now = now.Add(time.Second)
		name := fmt.Sprint("r", i)
		parent := queue.Resource{Name: spillway.ResourceName("parent of " + name), Rate: flow.Rate{N: 100, Per: time.Second}}
		child := queue.Resource{Name: spillway.ResourceName(name), Rate: parent.Rate, Parent: parent.Name}
		must(t, q.Configure(ctx, now, queue.Settings{Resources: []queue.Resource{parent, child}}))
		g := queue.Group{
			ID: spillway.GroupID("g" + name), Version: 1, Total: 1, Sealed: true, Submitted: now,
			Tenant: spillway.TenantID("t" + name), Resource: child.Name, Action: claim.Actions[i%2],
		}
		must(t, q.Put(ctx, now, []queue.Group{g}))
		claim.Leases = []spillway.LeaseID{spillway.LeaseID("l" + name)}
		got, err := q.Claim(ctx, now, claim)
		must(t, err)
		if len(got.Leases) != 1 {
			t.Fatalf("%s: nothing is granted", name)
		}
		_, err = q.Settle(ctx, now, []queue.Settlement{{Ref: got.Leases[0].Ref, Finished: 1}})
		must(t, err)
		g.Version, g.Gone = 2, true
		must(t, q.Put(ctx, now, []queue.Group{g}))
		if n, most := len(q.resources), 3*int(queue.KeepUnused/time.Second)+10; n > most {
			t.Fatalf("%d resources are kept after %d", n, i)
		}
	}
	for range 2 { // children, then parents
		now = now.Add(queue.KeepUnused)
		must(t, q.Configure(ctx, now, queue.Settings{}))
	}
	checkViews(t, q)
	if n := len(q.resources) + q.unused.len() + len(q.tenants); n != 0 {
		t.Errorf("%d resources and %d tenants are kept, %d of them to be forgotten", len(q.resources), len(q.tenants), q.unused.len())
	}
	for _, v := range q.views {
		for i := range v.sets {
			if n := len(v.sets[i].gates); n > 0 {
				t.Errorf("a view keeps %d gates", n)
			}
		}
	}
}

// A busy resource forgets tenants once virtual time has passed what they owed.
func TestForgetsTenantsOfABusyResource(t *testing.T) {
	q, ctx, now := New(Options{Fresh: true}), context.Background(), time.Unix(1_000_000, 0)
	claim := queue.Claim{Instance: "i", Actions: []spillway.ActionName{"act"}, Visibility: time.Minute}
	busy := queue.Group{ID: "busy", Version: 1, Total: 1 << 40, Submitted: now, Action: "act", Tenant: "busy", Resource: "r"}
	must(t, q.Put(ctx, now, []queue.Group{busy}))
	for i := range 2000 {
		g := busy
		g.ID, g.Tenant, g.Total = spillway.GroupID(fmt.Sprint("g", i)), spillway.TenantID(fmt.Sprint("t", i)), 1
		must(t, q.Put(ctx, now, []queue.Group{g}))
		for k := range 3 {
			claim.Leases = []spillway.LeaseID{spillway.LeaseID(fmt.Sprint("l", i, "-", k))}
			got, err := q.Claim(ctx, now, claim)
			must(t, err)
			_, err = q.Settle(ctx, now, []queue.Settlement{{Ref: got.Leases[0].Ref, Finished: 1}})
			must(t, err)
		}
		g.Version, g.Gone = 2, true
		must(t, q.Put(ctx, now, []queue.Group{g}))
	}
	if n := len(q.tenants); n > 5 {
		t.Errorf("%d tenants are kept", n)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
