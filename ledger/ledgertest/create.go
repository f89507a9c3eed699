package ledgertest

import (
	"fmt"
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

func testCreate(b *bench) {
	n := newGroup("g1")
	n.Key = "import-1"
	n.Spec = ledger.Spec{
		Rate: "50/5s", Concurrency: 3, Priority: -90 * time.Second, NotBefore: epoch.Add(time.Hour), Expires: epoch.Add(2 * time.Hour),
		Delivery: spillway.AtMostOnce, MaxFailures: "1%", Callback: "http://127.0.0.1/done", TrustedCallback: true,
		CostField: "cost", Labels: map[string]string{"team": "growth"},
	}
	g := b.create(n)
	want := ledger.Group{
		ID: "g1", Tenant: "acme", Action: "tag", Resource: "customers", Key: "import-1", Spec: n.Spec,
		State: spillway.Receiving, Version: g.Version, MaxCost: 1, Created: epoch,
	}
	b.same("created", g, want)
	b.same("found", b.find("g1"), want)
	if d := b.create(newGroup("g2")).Spec.Delivery; d != spillway.AtLeastOnce {
		b.Errorf("delivery %q by default, want %q", d, spillway.AtLeastOnce)
	}
	b.reopen()
	b.same("found after reopening", b.find("g1"), want)

	// A call whose answer was lost is repeated.
	out, err := b.l.Create(b.ctx(), b.now, []ledger.NewGroup{n})
	b.ok(err)
	b.same("created again", out, []ledger.Created{{Group: want, Existing: true}})

	_, err = b.l.Create(b.ctx(), b.now, []ledger.NewGroup{{ID: "g3"}})
	b.refused(err, spillway.CodeInvalid)
}

func testCreateKey(b *bench) {
	first := newGroup("g1")
	first.Key = "k"
	b.create(first)
	b.fill("g1", 0, 5)

	again := first
	again.ID = "g2"
	action, resource, tenant := again, again, again
	action.Action, resource.Resource = "other", "other"
	tenant.ID, tenant.Tenant = "g3", "other"
	out, err := b.l.Create(b.ctx(), b.now, []ledger.NewGroup{again, action, resource, tenant})
	b.ok(err)
	if !out[0].Existing || out[0].Group.ID != "g1" || out[0].Group.Total != 5 {
		b.Errorf("the key again: %+v, want the first group", out[0])
	}
	b.refused(out[1].Err, spillway.CodeKeyConflict)
	b.refused(out[2].Err, spillway.CodeKeyConflict)
	if out[3].Err != nil || out[3].Existing {
		b.Errorf("the key of another tenant: %+v, want a new group", out[3])
	}

	// Of many that come at once with one key, one makes the group.
	var wg sync.WaitGroup
	made := make([]ledger.Created, 8)
	for i := range made {
		n := newGroup(spillway.GroupID(fmt.Sprint("race", i)))
		n.Key = "race"
		wg.Go(func() {
			if out, err := b.l.Create(b.ctx(), b.now, []ledger.NewGroup{n}); err == nil {
				made[i] = out[0]
			}
		})
	}
	wg.Wait()
	fresh := 0
	for _, m := range made {
		if !m.Existing {
			fresh++
		}
		if m.Err != nil || m.Group.ID != made[0].Group.ID {
			b.Errorf("one key gave %q and %q (%v)", made[0].Group.ID, m.Group.ID, m.Err)
		}
	}
	if fresh != 1 {
		b.Errorf("%d of 8 made the group, want 1", fresh)
	}
}

func testCreateLimit(b *bench) {
	var all []ledger.NewGroup
	for i := range 3 {
		n := newGroup(spillway.GroupID(fmt.Sprint("g", i)))
		n.MaxGroups = 2
		all = append(all, n)
	}
	out, err := b.l.Create(b.ctx(), b.now, all)
	b.ok(err)
	b.ok(out[0].Err)
	b.ok(out[1].Err)
	b.refused(out[2].Err, spillway.CodeLimit)

	other := newGroup("other")
	other.Tenant, other.MaxGroups = "other", 2
	b.create(other) // the limit is a tenant's own

	b.change("g0", ledger.Cancel)
	b.complete("g0") // an ended group counts no longer
	b.create(all[2])
}
