package main

import (
	"context"
	"fmt"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
)

// groupsCmd looks after groups.
type groupsCmd struct {
	List     groupsListCmd     `cmd:"" help:"List groups."`
	Show     groupsShowCmd     `cmd:"" help:"Show one group."`
	Why      groupsWhyCmd      `cmd:"" help:"Say why a group is not running, or not faster."`
	Pause    groupsPauseCmd    `cmd:"" help:"Hand out no more jobs of a group."`
	Resume   groupsResumeCmd   `cmd:"" help:"Let a paused group go on."`
	Cancel   groupsCancelCmd   `cmd:"" help:"End a group; what has not run will not."`
	Retry    groupsRetryCmd    `cmd:"" help:"Run the failed jobs of a group again."`
	Failures groupsFailuresCmd `cmd:"" help:"List failed, skipped and in-doubt jobs with their reasons."`
	Results  groupsResultsCmd  `cmd:"" help:"List the values of the jobs."`
	Resolve  groupsResolveCmd  `cmd:"" help:"Settle what is in doubt."`
	Resend   groupsResendCmd   `cmd:"" help:"Send a group's callback again."`
	Prune    groupsPruneCmd    `cmd:"" help:"Delete what retention no longer keeps."`
}

type groupsListCmd struct {
	Tenant string `help:"Only this tenant's."`
	State  string `enum:",receiving,running,paused,completed,cancelled" default:"" help:"Only groups in this state."`
	Limit  int    `default:"1000" help:"List at most this many."`
	targetFlags
}

func (groupsListCmd) Help() string {
	return "Example:\n\n    spillway groups list --state running --db spillway.db\n"
}

func (c *groupsListCmd) Run(a *app) error {
	if c.Limit < 1 {
		return usagef("--limit: %d is below 1", c.Limit)
	}
	return c.with(a, reading, func(ctx context.Context, o operator) error {
		f := bulk.Filter{Tenant: spillway.TenantID(c.Tenant), State: spillway.State(c.State)}
		var rows [][]string
		for left := c.Limit; left > 0; {
			f.Limit = min(left, 100)
			groups, next, err := o.Groups(ctx, f)
			if err != nil {
				return err
			}
			for _, g := range groups {
				if a.json {
					if err := a.emit(g); err != nil {
						return err
					}
				}
				rows = append(rows, groupRow(g))
			}
			if left -= len(groups); next == "" || len(groups) == 0 {
				break
			}
			f.Cursor = next
		}
		if a.json {
			return nil
		}
		return a.table("GROUP TENANT ACTION STATE TOTAL SUCCEEDED FAILED IN_DOUBT LEFT CREATED", rows)
	})
}

func groupRow(g *bulk.Group) []string {
	return []string{
		string(g.ID), string(g.Tenant), shorten(string(g.Action), 30), string(g.State), count(g.Total), count(g.Succeeded),
		count(g.Failed), count(g.InDoubt), count(g.Total - g.Final()), when(&g.CreatedAt),
	}
}

// oneGroup is the flags of a verb for one group.
type oneGroup struct {
	ID string `arg:"" help:"The group."`
	targetFlags
}

func (c oneGroup) id() spillway.GroupID { return spillway.GroupID(c.ID) }

// do makes one call about the group and shows what it answers.
func (c oneGroup) do(a *app, use use, call func(context.Context, operator) (*bulk.Group, error)) error {
	return c.with(a, use, func(ctx context.Context, o operator) error {
		g, err := call(ctx, o)
		if err != nil {
			return err
		}
		if a.json {
			return a.emit(g)
		}
		return a.showGroup(g)
	})
}

func (a *app) showGroup(g *bulk.Group) error {
	state := string(g.State)
	if g.PausedBy != "" {
		state += " by " + g.PausedBy
	}
	if !g.Sealed && !g.State.Ended() {
		state += ", more rows may come"
	}
	pairs := []string{
		"group", string(g.ID), "tenant", string(g.Tenant), "action", string(g.Action), "resource", string(g.Resource),
		"key", g.Key, "state", state, "rate", g.Rate, "delivery", string(g.Delivery), "max failures", g.MaxFailures, "total", count(g.Total),
	}
	for _, n := range counts(g) {
		if n.n > 0 || n.always {
			pairs = append(pairs, n.what, count(n.n))
		}
	}
	if c := g.Callback; c != nil {
		pairs = append(pairs, "callback", fmt.Sprintf("%s (%s, %d attempts)", c.URL, c.State, c.Attempts))
	}
	pairs = append(pairs, "result", string(g.Result), "created", when(&g.CreatedAt), "started", when(g.StartedAt), "finished", when(g.FinishedAt))
	return a.fields(pairs...)
}

type groupsShowCmd struct{ oneGroup }

func (groupsShowCmd) Help() string { return groupExample("show") }

func (c *groupsShowCmd) Run(a *app) error {
	return c.do(a, reading, func(ctx context.Context, o operator) (*bulk.Group, error) { return o.Group(ctx, c.id()) })
}

type groupsWhyCmd struct{ oneGroup }

func (groupsWhyCmd) Help() string { return groupExample("why") }

func (c *groupsWhyCmd) Run(a *app) error {
	return c.with(a, reading, func(ctx context.Context, o operator) error {
		w, err := o.Why(ctx, c.id())
		if err != nil {
			return err
		}
		if a.json {
			return a.emit(w)
		}
		until := ""
		if w.Until != nil {
			until = " (until " + when(w.Until) + ")"
		}
		_, err = fmt.Fprintf(a.stdout, "%s: %s%s\n", w.Code, printable(w.Reason), until)
		return err
	})
}

func groupExample(verb string) string {
	return "Example:\n\n    spillway groups " + verb + " g_01hzx… --db spillway.db\n"
}
