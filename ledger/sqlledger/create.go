package sqlledger

import (
	"context"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

const (
	selectByKey      = `SELECT id FROM groups WHERE tenant = $1 AND dedup_key = $2 AND dedup_key <> ''`
	selectUnfinished = `SELECT COUNT(*) FROM groups WHERE tenant = $1 AND finished = 0`
)

// Create makes groups; see ledger.Groups. A group whose id is known is
// answered as existing too: the answer to an earlier call was lost.
func (l *Ledger) Create(ctx context.Context, now time.Time, groups []ledger.NewGroup) ([]ledger.Created, error) {
	for _, n := range groups {
		if n.ID == "" || n.Tenant == "" || n.Action == "" || n.Resource == "" {
			return nil, spillway.Errorf(spillway.CodeInvalid, "a group needs an id, a tenant, an action and a resource: got %+v", n)
		}
	}
	var out []ledger.Created
	err := l.write(ctx, &request{apply: func(b *batch) error {
		out = make([]ledger.Created, len(groups))
		if err := b.flush(); err != nil { // the limit is counted by a statement
			return err
		}
		for i := range groups {
			g, existing, err := b.create(now, &groups[i])
			if isStore(err) {
				return err
			}
			out[i] = ledger.Created{Existing: existing, Err: err}
			if g == nil {
				continue
			}
			if out[i].Group, err = b.describe(g); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (b *batch) create(now time.Time, n *ledger.NewGroup) (g *group, existing bool, err error) {
	if g, err = b.known(n); err != nil || g != nil {
		return g, g != nil, err
	}
	if n.MaxGroups > 0 {
		var unfinished int64
		if _, err := b.s.one([]any{&unfinished}, selectUnfinished, string(n.Tenant)); err != nil {
			return nil, false, err
		}
		if unfinished >= n.MaxGroups {
			return nil, false, spillway.Errorf(spillway.CodeLimit,
				"tenant %q has %d unfinished groups, its limit is %d: wait until some have ended, or cancel them", n.Tenant, unfinished, n.MaxGroups)
		}
	}
	g, err = b.add(now, n)
	return g, false, err
}

// known finds the group that a new one repeats, by its id or its key.
func (b *batch) known(n *ledger.NewGroup) (*group, error) {
	g, err := b.group(n.ID)
	if err != nil {
		return nil, err
	}
	if g == nil && n.Key != "" {
		var id string
		found, err := b.s.one([]any{&id}, selectByKey, string(n.Tenant), n.Key)
		if err != nil || !found {
			return nil, err
		}
		if g, err = b.group(spillway.GroupID(id)); err != nil {
			return nil, err
		}
	}
	if g == nil {
		return nil, nil
	}
	if g.Tenant != n.Tenant {
		return nil, spillway.Errorf(spillway.CodeInvalid, "the group id %q is taken", n.ID)
	}
	if g.Action != n.Action || g.Resource != n.Resource {
		return nil, spillway.Errorf(spillway.CodeKeyConflict,
			"the key %q belongs to group %q with action %q on resource %q, not %q on %q: use another key",
			n.Key, g.ID, g.Action, g.Resource, n.Action, n.Resource)
	}
	return g, nil
}

func (b *batch) add(now time.Time, n *ledger.NewGroup) (*group, error) {
	g := &group{Group: ledger.Group{
		ID: n.ID, Tenant: n.Tenant, Action: n.Action, Resource: n.Resource, Key: n.Key, Spec: n.Spec,
		State: spillway.Receiving, Version: 1, MaxCost: 1, Created: fromMicros(micros(now)),
	}}
	if g.Spec.Delivery == "" {
		g.Spec.Delivery = spillway.AtLeastOnce
	}
	if err := g.insert(b.s); err != nil {
		return nil, err
	}
	g.epoch = b.l.epochs.Add(1)
	b.groups[n.ID] = g
	return g, nil
}
