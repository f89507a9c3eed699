package main

import (
	"context"
	"fmt"
	"os/user"

	"github.com/spillway/spillway"
)

// tenantsCmd looks after tenants.
type tenantsCmd struct {
	List   tenantsListCmd   `cmd:"" help:"List tenants and what they use."`
	Pause  tenantsPauseCmd  `cmd:"" help:"Hand out no more jobs of a tenant."`
	Resume tenantsResumeCmd `cmd:"" help:"Let a paused tenant go on."`
	Erase  tenantsEraseCmd  `cmd:"" help:"Revoke a tenant's API keys, cancel its groups and delete everything of it."`
}

type tenantsListCmd struct{ targetFlags }

func (tenantsListCmd) Help() string {
	return "Example:\n\n    spillway tenants list --db spillway.db\n"
}

func (c *tenantsListCmd) Run(a *app) error {
	return c.with(a, reading, func(ctx context.Context, o operator) error {
		all, err := o.Tenants(ctx)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, t := range all {
			if a.json {
				if err := a.emit(t); err != nil {
					return err
				}
			}
			state := "open"
			if t.Paused {
				state = "paused"
			}
			rows = append(rows, []string{string(t.ID), fmt.Sprint(t.Weight), state, count(t.Groups), count(t.Unfinished), count(t.Bytes)})
		}
		if a.json {
			return nil
		}
		return a.table("TENANT WEIGHT STATE GROUPS UNFINISHED BYTES", rows)
	})
}

// oneTenant is the flags of a verb for one tenant.
type oneTenant struct {
	Name string `arg:"" help:"The tenant."`
	targetFlags
}

func (c oneTenant) pause(a *app, paused bool) error {
	return c.with(a, changing, func(ctx context.Context, o operator) error {
		if err := o.PauseTenant(ctx, spillway.TenantID(c.Name), paused, whoami()); err != nil {
			return err
		}
		if a.json {
			return a.emit(map[string]any{"id": c.Name, "paused": paused})
		}
		word := "goes on"
		if paused {
			word = "is paused"
		}
		return a.say("tenant %s %s", printable(c.Name), word)
	})
}

type tenantsPauseCmd struct{ oneTenant }

func (tenantsPauseCmd) Help() string {
	return "Example:\n\n    spillway tenants pause acme --server http://127.0.0.1:8080\n"
}
func (c *tenantsPauseCmd) Run(a *app) error { return c.pause(a, true) }

type tenantsResumeCmd struct{ oneTenant }

func (tenantsResumeCmd) Help() string {
	return "Example:\n\n    spillway tenants resume acme --server http://127.0.0.1:8080\n"
}
func (c *tenantsResumeCmd) Run(a *app) error { return c.pause(a, false) }

type tenantsEraseCmd struct {
	oneTenant
	Yes bool `help:"Do it: nothing of the tenant can be brought back." env:"-"`
}

func (tenantsEraseCmd) Help() string {
	return "Example:\n\n    spillway tenants erase acme --yes --server http://127.0.0.1:8080\n"
}

func (c *tenantsEraseCmd) Run(a *app) error {
	if !c.Yes {
		return usagef("this deletes everything of tenant %s for good; add --yes to do it", c.Name)
	}
	return c.with(a, changing, func(ctx context.Context, o operator) error {
		n, err := o.EraseTenant(ctx, spillway.TenantID(c.Name))
		if err != nil {
			return err
		}
		if a.json {
			return a.emit(map[string]any{"id": c.Name, "groups": n})
		}
		return a.say("erased %s of tenant %s; its API keys are revoked", many(n, "group"), printable(c.Name))
	})
}

// whoami is who makes a change, as it is kept with it.
func whoami() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return "cli:" + u.Username
	}
	return "cli"
}
