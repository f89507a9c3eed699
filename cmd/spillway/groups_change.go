package main

import (
	"cmp"
	"context"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/ledger"
)

type groupsPauseCmd struct {
	oneGroup
	Reason string `help:"Who or what pauses it, and why (default: your user name)." env:"-"`
}

func (groupsPauseCmd) Help() string { return groupExample("pause") }

func (c *groupsPauseCmd) Run(a *app) error {
	return c.do(a, changing, func(ctx context.Context, o operator) (*bulk.Group, error) {
		return o.Pause(ctx, c.id(), cmp.Or(c.Reason, whoami()))
	})
}

type groupsResumeCmd struct{ oneGroup }

func (groupsResumeCmd) Help() string { return groupExample("resume") }

func (c *groupsResumeCmd) Run(a *app) error {
	return c.do(a, changing, func(ctx context.Context, o operator) (*bulk.Group, error) { return o.Resume(ctx, c.id()) })
}

type groupsCancelCmd struct{ oneGroup }

func (groupsCancelCmd) Help() string { return groupExample("cancel") }

func (c *groupsCancelCmd) Run(a *app) error {
	return c.do(a, changing, func(ctx context.Context, o operator) (*bulk.Group, error) { return o.Cancel(ctx, c.id()) })
}

type groupsRetryCmd struct{ oneGroup }

func (groupsRetryCmd) Help() string {
	return groupExample("retry") + "\nThe jobs run in the server, or when spillway run is started again with the group's --key."
}

func (c *groupsRetryCmd) Run(a *app) error {
	return c.do(a, changing, func(ctx context.Context, o operator) (*bulk.Group, error) { return o.Retry(ctx, c.id()) })
}

type groupsResendCmd struct{ oneGroup }

func (groupsResendCmd) Help() string { return groupExample("resend") }

func (c *groupsResendCmd) Run(a *app) error {
	return c.do(a, changing, func(ctx context.Context, o operator) (*bulk.Group, error) { return o.ResendCallback(ctx, c.id()) })
}

type groupsResolveCmd struct {
	oneGroup
	Index *int64 `help:"Only this job; without it, all that are in doubt." placeholder:"N" env:"-"`
	As    string `required:"" enum:"succeeded,failed,retry" help:"What became of it: succeeded, failed, or retry to run it again." env:"-"`
}

func (groupsResolveCmd) Help() string {
	return "Example:\n\n    spillway groups resolve g_01hzx… --index 17 --as succeeded --db spillway.db\n"
}

func (c *groupsResolveCmd) Run(a *app) error {
	as := map[string]spillway.Status{"succeeded": spillway.OK, "failed": spillway.Failed, "retry": spillway.Retry}[c.As]
	return c.do(a, changing, func(ctx context.Context, o operator) (*bulk.Group, error) { return o.Resolve(ctx, c.id(), c.Index, as) })
}

type groupsPruneCmd struct{ targetFlags }

func (groupsPruneCmd) Help() string {
	return "Example:\n\n    spillway groups prune --config spillway.yaml\n\nHow long groups are kept is the configuration's retention: by default payloads for 7 days, groups for 90."
}

func (c *groupsPruneCmd) Run(a *app) error {
	return c.with(a, changing, func(ctx context.Context, o operator) error {
		var sum ledger.Pruned
		for more := true; more; {
			p, err := o.Prune(ctx)
			if err != nil {
				return err
			}
			sum.Groups, sum.Chunks = sum.Groups+p.Groups, sum.Chunks+p.Chunks
			more = p.More
		}
		if a.json {
			return a.emit(map[string]int64{"groups": sum.Groups, "chunks": sum.Chunks})
		}
		return a.say("deleted %s groups, and the payload of %s chunks", count(sum.Groups), count(sum.Chunks))
	})
}
