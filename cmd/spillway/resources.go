package main

import (
	"context"
	"fmt"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/flow"
)

// resourcesCmd looks after resources.
type resourcesCmd struct {
	List   resourcesListCmd   `cmd:"" help:"List resources with their limits and what was measured."`
	Show   resourcesShowCmd   `cmd:"" help:"Show one resource."`
	Set    resourcesSetCmd    `cmd:"" help:"Change a resource's limits."`
	Pause  resourcesPauseCmd  `cmd:"" help:"Hand out no more jobs of a resource."`
	Resume resourcesResumeCmd `cmd:"" help:"Let a paused resource go on."`
}

type resourcesListCmd struct{ targetFlags }

func (resourcesListCmd) Help() string {
	return "Example:\n\n    spillway resources list --server http://127.0.0.1:8080\n"
}

func (c *resourcesListCmd) Run(a *app) error {
	return c.with(a, reading, func(ctx context.Context, o operator) error {
		all, err := o.Resources(ctx)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, r := range all {
			if a.json {
				if err := a.emit(r); err != nil {
					return err
				}
			}
			rows = append(rows, []string{
				string(r.Name), rateWord(r.Rate), limitWord(r.Concurrency), resourceState(r), fmt.Sprint(r.Groups),
				fmt.Sprint(r.Tenants), count(r.Ready), count(r.Waiting), count(r.InFlight), count(r.Granted),
			})
		}
		if a.json {
			return nil
		}
		return a.table("RESOURCE RATE CONCURRENCY STATE GROUPS TENANTS READY WAITING IN_FLIGHT GRANTED", rows)
	})
}

func rateWord(rate string) string {
	if rate == "" {
		return "unlimited"
	}
	return rate
}

func limitWord(n int64) string {
	if n == 0 {
		return "unlimited"
	}
	return count(n)
}

func resourceState(r *bulk.Resource) string {
	switch {
	case r.Paused:
		return "paused"
	case r.Breaker == "open":
		return "down"
	}
	return "open"
}

// oneResource is the flags of a verb for one resource.
type oneResource struct {
	Name string `arg:"" help:"The resource."`
	targetFlags
}

func (c oneResource) do(a *app, use use, call func(context.Context, operator, spillway.ResourceName) (*bulk.Resource, error)) error {
	return c.with(a, use, func(ctx context.Context, o operator) error {
		r, err := call(ctx, o, spillway.ResourceName(c.Name))
		if err != nil {
			return err
		}
		if a.json {
			return a.emit(r)
		}
		return a.fields("resource", string(r.Name), "rate", rateWord(r.Rate), "limiter", r.Limiter, "concurrency", limitWord(r.Concurrency),
			"parent", string(r.Parent), "state", resourceState(r), "cause", r.Cause, "groups", fmt.Sprint(r.Groups), "tenants", fmt.Sprint(r.Tenants),
			"ready", count(r.Ready), "waiting", count(r.Waiting), "in flight", count(r.InFlight), "granted", count(r.Granted),
			"changed by", r.ChangedBy, "changed", when(r.ChangedAt))
	})
}

type resourcesShowCmd struct{ oneResource }

func (resourcesShowCmd) Help() string {
	return "Example:\n\n    spillway resources show customers --server http://127.0.0.1:8080\n"
}

func (c *resourcesShowCmd) Run(a *app) error {
	return c.do(a, reading, func(ctx context.Context, o operator, name spillway.ResourceName) (*bulk.Resource, error) {
		return o.Resource(ctx, name)
	})
}

type resourcesSetCmd struct {
	oneResource
	Rate        *string `help:"N/PERIOD, such as 500/s; \"\" or unlimited for no bound." placeholder:"N/PERIOD" env:"-"`
	Concurrency *int64  `help:"Jobs in flight; 0 for no bound." placeholder:"N" env:"-"`
}

func (resourcesSetCmd) Help() string {
	return "Example:\n\n    spillway resources set customers --rate 500/s --server http://127.0.0.1:8080\n"
}

func (c *resourcesSetCmd) Run(a *app) error {
	var change bulk.ResourceChange
	if c.Rate != nil {
		text := *c.Rate
		if text == "unlimited" {
			text = ""
		}
		rate, err := flow.ParseRate(text)
		if err != nil {
			return usagef("--rate: %w", err)
		}
		change.Rate = &rate
	}
	if change.Concurrency = c.Concurrency; c.Concurrency != nil && *c.Concurrency < 0 {
		return usagef("--concurrency: %d is below 0", *c.Concurrency)
	}
	if c.Rate == nil && c.Concurrency == nil {
		return usagef("nothing to set: give --rate or --concurrency")
	}
	return c.set(a, change)
}

func (c oneResource) set(a *app, change bulk.ResourceChange) error {
	return c.do(a, changing, func(ctx context.Context, o operator, name spillway.ResourceName) (*bulk.Resource, error) {
		return o.SetResource(ctx, name, change, whoami())
	})
}

type resourcesPauseCmd struct{ oneResource }

func (resourcesPauseCmd) Help() string {
	return "Example:\n\n    spillway resources pause customers --server http://127.0.0.1:8080\n"
}

func (c *resourcesPauseCmd) Run(a *app) error {
	return c.set(a, bulk.ResourceChange{Paused: new(true)})
}

type resourcesResumeCmd struct{ oneResource }

func (resourcesResumeCmd) Help() string {
	return "Example:\n\n    spillway resources resume customers --server http://127.0.0.1:8080\n"
}

func (c *resourcesResumeCmd) Run(a *app) error {
	return c.set(a, bulk.ResourceChange{Paused: new(false)})
}
