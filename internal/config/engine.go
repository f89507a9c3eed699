package config

import (
	"cmp"
	"strings"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// Engine is the engine's part of the configuration. The caller adds the
// ledger, the queue, the sender of callbacks and the logger.
func (c *Config) Engine() bulk.Config {
	return bulk.Config{
		Workers:   c.Workers,
		Drain:     orNegative(c.Drain),
		Resources: c.Resources.rules(),
		Tenants:   c.tenantRules(),
		Retention: bulk.Retention{
			Payloads: orNegative(c.Retention.Payloads),
			Groups:   orNegative(c.Retention.Groups),
		},
	}
}

// orNegative is how the engine is told "none": a zero would be its default.
func orNegative(d *Duration) time.Duration {
	switch {
	case d == nil:
		return 0
	case *d == 0:
		return -1
	}
	return time.Duration(*d)
}

func (r Resources) rules() []bulk.ResourceRule {
	rules := make([]bulk.ResourceRule, 0, len(r))
	for _, x := range r {
		rules = append(rules, bulk.ResourceRule{
			Name:        x.Name,
			Rate:        flow.Rate(x.Rate),
			Window:      x.Limiter == "window",
			Concurrency: x.Concurrency,
			Parent:      spillway.ResourceName(x.Parent),
			Weight:      x.Weight,
		})
	}
	return rules
}

func (c *Config) tenantRules() map[spillway.TenantID]bulk.TenantRule {
	rules := make(map[spillway.TenantID]bulk.TenantRule, len(c.Tenants))
	for name, t := range c.Tenants {
		rules[spillway.TenantID(name)] = bulk.TenantRule{
			Weight:    t.Weight,
			MaxGroups: t.MaxGroups,
			MaxBytes:  int64(t.MaxBytes),
		}
	}
	return rules
}

// ResourceOf is the resource that an action wears down for a tenant; "" for an
// action that is not configured.
func (c *Config) ResourceOf(action spillway.ActionName, t spillway.TenantID) spillway.ResourceName {
	a, known := c.Actions[string(action)]
	if !known {
		return ""
	}
	return spillway.ResourceName(strings.ReplaceAll(cmp.Or(a.Resource, string(action)), "{tenant}", string(t)))
}

// Settings is the action as the engine takes it, without its handler: Post,
// Secret and Exec are the caller's to make it from.
func (a Action) Settings() bulk.Action {
	reducer, _ := bulk.ReducerNamed(a.Reduce) // checked by Parse
	return bulk.Action{
		Resource:    a.Resource,
		Batch:       a.Batch,
		Attempts:    a.Attempts,
		Backoff:     orNegative(a.Backoff),
		Timeout:     time.Duration(a.Timeout),
		Concurrency: a.Concurrency,
		Priority:    time.Duration(a.Priority * float64(time.Second)),
		Order:       queue.Order(a.Order),
		Delivery:    spillway.Delivery(a.Delivery),
		Reducer:     reducer,
		Pull:        a.Pull,
	}
}
