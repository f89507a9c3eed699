package bulk

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// resources is the resources that the queue has been told of, and what people
// changed of them.
type resources struct {
	// telling makes what the queue is told last the last word; it is taken
	// before mu, and changing before both.
	changing, telling sync.Mutex

	mu        sync.Mutex
	known     map[spillway.ResourceName]time.Time // when told; zero is in vain
	overrides map[spillway.ResourceName]override
}

// override is what was changed of a resource while it runs; it is a setting of
// the ledger and outlives restarts.
type override struct {
	Rate        *string `json:"rate,omitempty"`
	Concurrency *int64  `json:"concurrency,omitempty"`
	Paused      bool    `json:"paused,omitempty"`
	by          string
	at          time.Time
}

// kindResource is the kind of the ledger's settings that hold overrides.
const kindResource = "resource"

// ResourceChange is what to change of a resource; nil fields stay.
type ResourceChange struct {
	Rate        *flow.Rate
	Concurrency *int64
	Paused      *bool
}

func (e *Engine) loadResources(ctx context.Context) error {
	e.resources.known = map[spillway.ResourceName]time.Time{}
	e.resources.overrides = map[spillway.ResourceName]override{}
	settings, err := e.ledger.Load(ctx, kindResource)
	if err != nil {
		return err
	}
	for _, s := range settings {
		o := override{by: s.By, at: s.At}
		if err := json.Unmarshal(s.Value, &o); err != nil {
			return spillway.Errorf(spillway.CodeInternal, "the ledger's setting of resource %q is damaged: %w", s.Name, err)
		}
		e.resources.overrides[spillway.ResourceName(s.Name)] = o
	}
	return nil
}

// knowsLocked says that the queue was told of a resource so lately that it
// remembers, used or not.
func (r *resources) knowsLocked(name spillway.ResourceName) bool {
	return time.Since(r.known[name]) < queue.KeepUnused/2
}

// ensure tells the queue of a resource, its parents and a tenant, unless it
// knows.
func (e *Engine) ensure(ctx context.Context, name spillway.ResourceName, t spillway.TenantID) error {
	e.resources.mu.Lock()
	known := e.resources.knowsLocked(name)
	e.resources.mu.Unlock()
	if known && !e.tenants.fresh(e, t) {
		return nil
	}
	e.resources.telling.Lock()
	defer e.resources.telling.Unlock()
	var s queue.Settings
	e.resources.mu.Lock()
	for r := name; r != "" && !e.resources.knowsLocked(r); {
		x := e.limitsLocked(r)
		s.Resources = append(s.Resources, x)
		r = x.Parent
	}
	e.resources.mu.Unlock()
	if e.tenants.fresh(e, t) {
		s.Tenants = append(s.Tenants, e.tenants.setting(e, t))
	}
	slices.Reverse(s.Resources) // parents first
	return e.tell(ctx, s)
}

// tell gives the queue settings, and keeps that it knows them. The caller holds
// telling.
func (e *Engine) tell(ctx context.Context, s queue.Settings) error {
	now := time.Now()
	err := e.queue.Configure(ctx, now, s)
	if err != nil {
		now = time.Time{}
	}
	e.resources.mu.Lock()
	for _, r := range s.Resources {
		e.resources.known[r.Name] = now
	}
	e.resources.mu.Unlock()
	for _, t := range s.Tenants {
		e.tenants.told(t.ID, err == nil)
	}
	e.bell.ring()
	return err
}

// tellAll tells the queue everything again, in case it lost what it was told,
// but for resources without groups: those are told when they get one.
func (e *Engine) tellAll(ctx context.Context) error {
	e.resources.telling.Lock()
	defer e.resources.telling.Unlock()
	stats, err := e.queue.Stats(ctx, time.Now(), queue.Query{AllResources: true})
	if err != nil {
		return err
	}
	var s queue.Settings
	e.actions.mu.RLock()
	for name, a := range e.actions.byName {
		s.Actions = append(s.Actions, a.setting(name))
	}
	e.actions.mu.RUnlock()
	used := map[spillway.ResourceName]bool{}
	e.resources.mu.Lock()
	for name, x := range stats.Resources {
		for r := name; x.Groups > 0 && r != "" && !used[r]; r = e.cfg.parent(r) {
			used[r] = true
		}
	}
	for name := range used {
		s.Resources = append(s.Resources, e.limitsLocked(name))
	}
	maps.DeleteFunc(e.resources.known, func(name spillway.ResourceName, _ time.Time) bool { return !used[name] })
	e.resources.mu.Unlock()
	s.Tenants = e.tenants.settings(e)
	return e.tell(ctx, s)
}

// limitsLocked is a resource's settings as they hold now.
func (e *Engine) limitsLocked(name spillway.ResourceName) queue.Resource {
	rule := e.cfg.rule(name)
	r := queue.Resource{
		Name: name, Rate: rule.Rate, Window: rule.Window, Concurrency: rule.Concurrency,
		Parent: e.cfg.parent(name), Weight: rule.Weight, Broken: e.breakers.open(name),
	}
	o := e.resources.overrides[name]
	if o.Rate != nil {
		r.Rate, _ = flow.ParseRate(*o.Rate) // written by us
	}
	if o.Concurrency != nil {
		r.Concurrency = *o.Concurrency
	}
	r.Paused = o.Paused
	return r
}

// configure tells the queue what holds for a resource now.
func (e *Engine) configure(ctx context.Context, name spillway.ResourceName) error {
	e.resources.telling.Lock()
	defer e.resources.telling.Unlock()
	e.resources.mu.Lock()
	r := e.limitsLocked(name)
	e.resources.mu.Unlock()
	return e.tell(ctx, queue.Settings{Resources: []queue.Resource{r}})
}

// SetResource changes a resource's limits, or pauses or resumes it. It holds
// when the call returns, and after restarts, in place of the configuration.
func (e *Engine) SetResource(ctx context.Context, name spillway.ResourceName, c ResourceChange, by string) (*Resource, error) {
	if name == "" || len(name) > MaxName {
		return nil, spillway.Errorf(spillway.CodeInvalid, "a resource's name must have 1 to %d bytes", MaxName)
	}
	if c.Concurrency != nil && *c.Concurrency < 0 {
		return nil, spillway.Errorf(spillway.CodeInvalid, "concurrency %d is below 0", *c.Concurrency)
	}
	e.resources.changing.Lock()
	defer e.resources.changing.Unlock()
	e.resources.mu.Lock()
	o := e.resources.overrides[name]
	e.resources.mu.Unlock()
	if c.Rate != nil {
		rate := c.Rate.String()
		o.Rate = &rate
	}
	if c.Concurrency != nil {
		o.Concurrency = c.Concurrency
	}
	if c.Paused != nil {
		o.Paused = *c.Paused
	}
	o.by, o.at = by, time.Now()
	value, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	if err := e.ledger.Save(ctx, o.at, []ledger.Setting{{Kind: kindResource, Name: string(name), Value: value, By: by, At: o.at}}); err != nil {
		return nil, err
	}
	e.resources.mu.Lock()
	e.resources.overrides[name] = o
	e.resources.mu.Unlock()
	if err := e.configure(ctx, name); err != nil {
		return nil, err
	}
	r, err := e.Resource(ctx, name)
	if err == nil {
		e.events.publish(Event{Type: "resource", Resource: r, At: o.at})
	}
	return r, err
}

// Governed reports whether a resource has limits of its own: a rule of the
// configuration fits its name, or someone has set them.
func (e *Engine) Governed(name spillway.ResourceName) bool {
	e.resources.mu.Lock()
	defer e.resources.mu.Unlock()
	_, set := e.resources.overrides[name]
	return set || e.cfg.rule(name).Name != string(name) || slices.ContainsFunc(e.cfg.Resources, func(r ResourceRule) bool { return r.Name == string(name) })
}

// Foreign reports whether a resource is made from the tenant by an action
// ("wa-{tenant}"), and from another tenant than this one.
func (e *Engine) Foreign(name spillway.ResourceName, t spillway.TenantID) bool {
	e.actions.mu.RLock()
	defer e.actions.mu.RUnlock()
	for _, a := range e.actions.byName {
		if strings.Contains(a.Resource, "{tenant}") && name != a.resource(t) &&
			fits(strings.ReplaceAll(a.Resource, "{tenant}", "*"), string(name)) {
			return true
		}
	}
	return false
}

// Resource reads one resource.
func (e *Engine) Resource(ctx context.Context, name spillway.ResourceName) (*Resource, error) {
	s, err := e.queue.Stats(ctx, time.Now(), queue.Query{Resources: []spillway.ResourceName{name}})
	if err != nil {
		return nil, err
	}
	e.resources.mu.Lock()
	defer e.resources.mu.Unlock()
	_, changed := e.resources.overrides[name]
	if _, used := s.Resources[name]; !used && !changed && e.cfg.rule(name).Name != string(name) {
		return nil, spillway.Errorf(spillway.CodeNotFound, "there is no resource %q", name)
	}
	return e.resourceViewLocked(name, s.Resources[name]), nil
}

// Resources lists the resources that are configured by name, were changed, or
// have work, in order of name.
func (e *Engine) Resources(ctx context.Context) ([]*Resource, error) {
	s, err := e.queue.Stats(ctx, time.Now(), queue.Query{AllResources: true})
	if err != nil {
		return nil, err
	}
	e.resources.mu.Lock()
	defer e.resources.mu.Unlock()
	names := map[spillway.ResourceName]bool{}
	for name := range s.Resources {
		names[name] = true
	}
	for name := range e.resources.overrides {
		names[name] = true
	}
	for _, r := range e.cfg.Resources {
		if !slices.Contains([]byte(r.Name), '*') {
			names[spillway.ResourceName(r.Name)] = true
		}
	}
	out := make([]*Resource, 0, len(names))
	for name := range names {
		out = append(out, e.resourceViewLocked(name, s.Resources[name]))
	}
	slices.SortFunc(out, func(a, b *Resource) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

func (e *Engine) resourceViewLocked(name spillway.ResourceName, s queue.ResourceStats) *Resource {
	l, o := e.limitsLocked(name), e.resources.overrides[name]
	v := &Resource{
		Name: name, Rate: l.Rate.String(), Limiter: "sliding", Concurrency: l.Concurrency, Parent: l.Parent,
		Weight: l.Weight, Paused: l.Paused, Breaker: "closed",
		Groups: s.Groups, Tenants: s.Tenants, Ready: s.Ready, Waiting: s.Waiting, InFlight: s.InFlight,
		InPeriod: s.InPeriod, Granted: s.Granted, ChangedBy: o.by, ChangedAt: moment(o.at),
	}
	if l.Window {
		v.Limiter = "window"
	}
	if l.Broken {
		v.Breaker, v.Cause = "open", e.breakers.cause(name)
	}
	return v
}
