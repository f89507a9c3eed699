package bulk

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// tenants is the tenants that the queue has been told of, and who is paused.
type tenants struct {
	mu     sync.Mutex
	known  map[spillway.TenantID]bool // false: told, and perhaps in vain
	paused map[spillway.TenantID]bool
}

// kindTenant is the kind of the ledger's settings that hold paused tenants.
const kindTenant = "tenant"

type tenantSetting struct {
	Paused bool `json:"paused"`
}

func (e *Engine) loadTenants(ctx context.Context) error {
	e.tenants.known, e.tenants.paused = map[spillway.TenantID]bool{}, map[spillway.TenantID]bool{}
	settings, err := e.ledger.Load(ctx, kindTenant)
	if err != nil {
		return err
	}
	for _, s := range settings {
		var v tenantSetting
		if err := json.Unmarshal(s.Value, &v); err != nil {
			return spillway.Errorf(spillway.CodeInternal, "the ledger's setting of tenant %q is damaged: %w", s.Name, err)
		}
		e.tenants.paused[spillway.TenantID(s.Name)] = v.Paused
	}
	return nil
}

// fresh says that the queue must be told of a tenant.
func (t *tenants) fresh(e *Engine, id spillway.TenantID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, told := t.known[id]
	return !known && (told || t.paused[id] || e.cfg.tenant(id).Weight != 0)
}

// setting is what the queue must know of a tenant.
func (t *tenants) setting(e *Engine, id spillway.TenantID) queue.Tenant {
	t.mu.Lock()
	defer t.mu.Unlock()
	return queue.Tenant{ID: id, Weight: e.cfg.tenant(id).Weight, Paused: t.paused[id]}
}

// settings is the setting of every tenant that the queue was told of.
func (t *tenants) settings(e *Engine) []queue.Tenant {
	t.mu.Lock()
	ids := slices.Collect(maps.Keys(t.known))
	t.mu.Unlock()
	out := make([]queue.Tenant, len(ids))
	for i, id := range ids {
		out[i] = t.setting(e, id)
	}
	return out
}

// told keeps whether the queue knows a tenant's setting.
func (t *tenants) told(id spillway.TenantID, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[id] = known
}

// PauseTenant keeps a tenant's jobs from being handed out, or ends that.
func (e *Engine) PauseTenant(ctx context.Context, t spillway.TenantID, paused bool, by string) error {
	value, err := json.Marshal(tenantSetting{Paused: paused})
	if err != nil {
		return err
	}
	now := time.Now()
	if err := e.ledger.Save(ctx, now, []ledger.Setting{{Kind: kindTenant, Name: string(t), Value: value, By: by, At: now}}); err != nil {
		return err
	}
	e.tenants.mu.Lock()
	e.tenants.paused[t] = paused
	e.tenants.mu.Unlock()
	e.resources.telling.Lock()
	err = e.tell(ctx, queue.Settings{Tenants: []queue.Tenant{e.tenants.setting(e, t)}})
	e.resources.telling.Unlock()
	e.events.publish(Event{Type: "tenant", Tenant: string(t), At: now})
	return err
}

// Tenants lists the tenants that have groups or are configured.
func (e *Engine) Tenants(ctx context.Context) ([]*Tenant, error) {
	uses, err := e.ledger.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	byID := map[spillway.TenantID]*Tenant{}
	get := func(id spillway.TenantID) *Tenant {
		if byID[id] == nil {
			rule := e.cfg.tenant(id)
			byID[id] = &Tenant{ID: id, Weight: cmp.Or(rule.Weight, 1), MaxGroups: rule.MaxGroups, MaxBytes: rule.MaxBytes}
		}
		return byID[id]
	}
	for _, u := range uses {
		t := get(u.Tenant)
		t.Groups, t.Unfinished, t.Bytes = u.Groups, u.Unfinished, u.Bytes
	}
	for id := range e.cfg.Tenants {
		if id != "*" {
			get(id)
		}
	}
	e.tenants.mu.Lock()
	for id, paused := range e.tenants.paused {
		if paused {
			get(id).Paused = true
		}
	}
	e.tenants.mu.Unlock()
	out := make([]*Tenant, 0, len(byID))
	for _, t := range byID {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *Tenant) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// EraseTenant cancels a tenant's groups and deletes everything of it. It
// answers the number of groups deleted.
func (e *Engine) EraseTenant(ctx context.Context, t spillway.TenantID) (groups int64, err error) {
	if t == "" {
		return 0, spillway.Errorf(spillway.CodeInvalid, "which tenant is to be erased?")
	}
	if err := e.cancelAll(ctx, t); err != nil {
		return 0, err
	}
	for {
		p, err := e.ledger.Prune(ctx, time.Now(), ledger.Prune{Tenant: t})
		groups += p.Groups
		if err != nil || !p.More {
			return groups, err
		}
	}
}

func (e *Engine) cancelAll(ctx context.Context, t spillway.TenantID) error {
	f := ledger.Filter{Tenant: t, States: []spillway.State{spillway.Receiving, spillway.Running, spillway.Paused}}
	for {
		page, next, err := e.ledger.Find(ctx, f)
		if err != nil {
			return err
		}
		for _, g := range page {
			if _, err := e.Cancel(ctx, g.ID); err != nil {
				return err
			}
		}
		if f.Cursor = next; next == "" {
			return nil
		}
	}
}

// pruneEvery is how often retention is applied.
const pruneEvery = 10 * time.Minute

func (e *Engine) pruneLoop(ctx context.Context) error {
	return every(ctx, pruneEvery, nil, func() {
		if p, err := e.Prune(ctx); err != nil {
			e.warn(ctx, "retention could not be applied; it will be tried again", err)
		} else if p.Groups+p.Chunks > 0 {
			e.log.Info("retention was applied", "groups", p.Groups, "chunks", p.Chunks)
		}
	})
}

// Prune applies retention now, in bounded steps.
func (e *Engine) Prune(ctx context.Context) (total ledger.Pruned, err error) {
	now := time.Now()
	var p ledger.Prune
	if r := e.cfg.Retention.Payloads; r > 0 {
		p.Payloads = now.Add(-r)
	}
	if r := e.cfg.Retention.Groups; r > 0 {
		p.Groups = now.Add(-r)
	}
	for {
		x, err := e.ledger.Prune(ctx, now, p)
		total.Groups += x.Groups
		total.Chunks += x.Chunks
		if err != nil || !x.More {
			return total, err
		}
	}
}
