package main

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue/memqueue"
	"github.com/spillway/spillway/server"
)

// operator is what looks after groups, resources and tenants: the engine on a
// ledger that this process opened, or a server through its API.
type operator interface {
	Groups(ctx context.Context, f bulk.Filter) (groups []*bulk.Group, next string, err error)
	Group(ctx context.Context, id spillway.GroupID) (*bulk.Group, error)
	Why(ctx context.Context, id spillway.GroupID) (*bulk.Why, error)
	Pause(ctx context.Context, id spillway.GroupID, reason string) (*bulk.Group, error)
	Resume(ctx context.Context, id spillway.GroupID) (*bulk.Group, error)
	Cancel(ctx context.Context, id spillway.GroupID) (*bulk.Group, error)
	Retry(ctx context.Context, id spillway.GroupID) (*bulk.Group, error)
	Resolve(ctx context.Context, id spillway.GroupID, index *int64, as spillway.Status) (*bulk.Group, error)
	ResendCallback(ctx context.Context, id spillway.GroupID) (*bulk.Group, error)
	Failures(ctx context.Context, id spillway.GroupID, from int64) iter.Seq2[bulk.JobView, error]
	Results(ctx context.Context, id spillway.GroupID, from int64) iter.Seq2[bulk.JobView, error]
	Prune(ctx context.Context) (ledger.Pruned, error)

	Resources(ctx context.Context) ([]*bulk.Resource, error)
	Resource(ctx context.Context, name spillway.ResourceName) (*bulk.Resource, error)
	SetResource(ctx context.Context, name spillway.ResourceName, c bulk.ResourceChange, by string) (*bulk.Resource, error)

	Tenants(ctx context.Context) ([]*bulk.Tenant, error)
	PauseTenant(ctx context.Context, t spillway.TenantID, paused bool, by string) error
	EraseTenant(ctx context.Context, t spillway.TenantID) (groups int64, err error)
}

var (
	_ operator = ledgerOperator{}
	_ operator = (*client)(nil)
)

// targetFlags say whom to ask: a server, or a ledger directly.
type targetFlags struct {
	Server string `help:"Ask this server." placeholder:"URL"`
	APIKey string `name:"api-key" help:"The server's API key." placeholder:"KEY"`
	ledgerFlags
}

// use is how a verb uses the ledger.
type use int

const (
	reading  use = iota // beside its owner
	changing            // as its owner
	creating            // as its owner; made if it is not there
)

// with calls a function with the operator that the flags name.
func (t targetFlags) with(a *app, use use, do func(ctx context.Context, o operator) error) error {
	if t.Server != "" {
		c, err := newClient(t.Server, t.APIKey)
		if err != nil {
			return err
		}
		return do(a.ctx, c)
	}
	return t.withLedger(a, use, func(ctx context.Context, l ledger.Ledger) error {
		cfg, err := a.configuration()
		if err != nil {
			return err
		}
		c := cfg.Engine()
		c.Ledger, c.Queue, c.Logger, c.ReadOnly = l, memqueue.New(memqueue.Options{}), a.log, use == reading
		e, err := bulk.New(ctx, c)
		if err != nil {
			return err
		}
		return do(ctx, ledgerOperator{e, server.NewKeys(l, false)})
	})
}

// ledgerOperator is the engine on a ledger, with the API keys in it.
type ledgerOperator struct {
	*bulk.Engine
	keys *server.Keys
}

// EraseTenant deletes everything of a tenant; its keys first, as a server does.
func (l ledgerOperator) EraseTenant(ctx context.Context, t spillway.TenantID) (int64, error) {
	if _, err := l.keys.RevokeTenant(ctx, time.Now(), t, whoami()); err != nil {
		return 0, err
	}
	return l.Engine.EraseTenant(ctx, t)
}

// withLedger calls a function with the ledger that the flags name.
func (t targetFlags) withLedger(a *app, use use, do func(ctx context.Context, l ledger.Ledger) error) error {
	configured, err := a.configuration()
	if err != nil {
		return err
	}
	url, err := t.url(string(configured.Ledger))
	if err != nil {
		return err
	}
	l, err := a.useLedger(url, use)
	if err != nil {
		return err
	}
	return errors.Join(do(a.ctx, l), l.Close())
}
