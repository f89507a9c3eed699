package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/server"
)

// keysCmd looks after API keys.
type keysCmd struct {
	Create keysCreateCmd `cmd:"" help:"Create an API key; it is shown this once."`
	List   keysListCmd   `cmd:"" help:"List the API keys, without their secrets."`
	Revoke keysRevokeCmd `cmd:"" help:"End an API key."`
}

// keyring is the API keys of a server, or of a ledger directly.
type keyring interface {
	CreateKey(ctx context.Context, k server.Key) (newKey, error)
	ListKeys(ctx context.Context) ([]server.Key, error)
	RevokeKey(ctx context.Context, id string) error
}

// newKey is a key with its secret.
type newKey struct {
	server.Key
	Secret string `json:"secret"`
}

// ledgerKeys is the keys in a ledger.
type ledgerKeys struct{ *server.Keys }

func (l ledgerKeys) CreateKey(ctx context.Context, k server.Key) (n newKey, err error) {
	k.CreatedBy = whoami()
	n.Key, n.Secret, err = l.Create(ctx, time.Now(), k)
	return n, err
}

func (l ledgerKeys) ListKeys(ctx context.Context) ([]server.Key, error) { return l.List(ctx) }

func (l ledgerKeys) RevokeKey(ctx context.Context, id string) error {
	return l.Revoke(ctx, time.Now(), id, whoami())
}

// keys calls a function with the keys that the flags name. Creating the first
// key may make the ledger.
func (t targetFlags) keys(a *app, use use, do func(ctx context.Context, k keyring) error) error {
	if t.Server != "" {
		c, err := newClient(t.Server, t.APIKey)
		if err != nil {
			return err
		}
		return do(a.ctx, c)
	}
	return t.withLedger(a, use, func(ctx context.Context, l ledger.Ledger) error {
		admin, err := a.adminConfigured()
		if err != nil {
			return err
		}
		return do(ctx, ledgerKeys{server.NewKeys(l, admin)})
	})
}

// adminConfigured reports whether serve gets an admin's key that is not in the
// ledger.
func (a *app) adminConfigured() (bool, error) {
	cfg, err := a.configuration()
	if err != nil {
		return false, err
	}
	return cfg.AdminKey != "" || os.Getenv("SPILLWAY_ADMIN_KEY") != "", nil
}

type keysCreateCmd struct {
	Tenant string `help:"The one tenant that the key sees." placeholder:"T"`
	Admin  bool   `help:"An admin's key instead: it sees and may do everything." env:"-"`
	Label  string `help:"What the key is for." env:"-"`
	targetFlags
}

func (keysCreateCmd) Help() string {
	return "Example:\n\n    spillway keys create --admin --label ops\n    spillway keys create --tenant acme --label \"nightly import\"\n\n" +
		"The first key must be an admin's: from then on every call to a server needs a key.\n"
}

func (c *keysCreateCmd) Run(a *app) error {
	if (c.Tenant == "") != c.Admin {
		return usagef("give either --tenant T or --admin")
	}
	return c.keys(a, creating, func(ctx context.Context, k keyring) error {
		key, err := k.CreateKey(ctx, server.Key{Tenant: spillway.TenantID(c.Tenant), Admin: c.Admin, Label: c.Label})
		if err != nil {
			return err
		}
		if a.json {
			return a.emit(key)
		}
		fmt.Fprintf(a.stderr, "key %s for %s; it is shown this once:\n", key.ID, keyOwner(key.Key))
		_, err = fmt.Fprintln(a.stdout, key.Secret)
		return err
	})
}

func keyOwner(k server.Key) string {
	if k.Admin {
		return "an admin"
	}
	return "tenant " + printable(string(k.Tenant))
}

type keysListCmd struct{ targetFlags }

func (keysListCmd) Help() string { return "Example:\n\n    spillway keys list --db spillway.db\n" }

func (c *keysListCmd) Run(a *app) error {
	return c.keys(a, reading, func(ctx context.Context, k keyring) error {
		all, err := k.ListKeys(ctx)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, key := range all {
			if a.json {
				if err := a.emit(key); err != nil {
					return err
				}
			}
			tenant := string(key.Tenant)
			if key.Admin {
				tenant = "(admin)"
			}
			rows = append(rows, []string{key.ID, tenant, key.Label, when(&key.CreatedAt), key.CreatedBy})
		}
		if a.json {
			return nil
		}
		return a.table("KEY TENANT LABEL CREATED BY", rows)
	})
}

type keysRevokeCmd struct {
	ID string `arg:"" help:"The key's id, as list shows it."`
	targetFlags
}

func (keysRevokeCmd) Help() string {
	return "Example:\n\n    spillway keys revoke k_5f0c9a1e2b3d --db spillway.db\n"
}

func (c *keysRevokeCmd) Run(a *app) error {
	return c.keys(a, changing, func(ctx context.Context, k keyring) error {
		if err := k.RevokeKey(ctx, c.ID); err != nil {
			return err
		}
		if a.json {
			return a.emit(map[string]any{"id": c.ID, "revoked": true})
		}
		return a.say("key %s is revoked", c.ID)
	})
}
