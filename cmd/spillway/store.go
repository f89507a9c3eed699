package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/internal/config"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/ledger/sqlledger"
	"github.com/spillway/spillway/queue"
	"github.com/spillway/spillway/queue/memqueue"
)

const defaultLedger = "sqlite:spillway.db"

// ledgerFlags say where the ledger is. They read the environment themselves,
// so that --db on the command line wins over SPILLWAY_LEDGER.
type ledgerFlags struct {
	DB     string `name:"db" help:"SQLite file of the ledger; short for --ledger sqlite:PATH ($$SPILLWAY_DB)." placeholder:"PATH" env:"-"`
	Ledger string `help:"Ledger: sqlite:PATH or postgres://… (default sqlite:spillway.db; $$SPILLWAY_LEDGER)." placeholder:"URL" env:"-"`
}

// url is the ledger's URL: flags, then environment, then the configuration.
func (f ledgerFlags) url(configured string) (string, error) {
	if f.DB != "" && f.Ledger != "" {
		return "", usagef("--db and --ledger cannot both be given")
	}
	if strings.Contains(f.DB, "://") {
		return "", usagef("--db takes a SQLite file; a URL goes to --ledger")
	}
	return cmp.Or(f.Ledger, sqliteURL(f.DB), os.Getenv("SPILLWAY_LEDGER"), sqliteURL(os.Getenv("SPILLWAY_DB")), configured, defaultLedger), nil
}

// sqliteURL is the URL of a ledger's file; a path that is one already stays.
func sqliteURL(path string) string {
	if path == "" || strings.HasPrefix(path, "sqlite:") {
		return path
	}
	return "sqlite:" + path
}

// ledgerPath is the file of a SQLite ledger.
func ledgerPath(url string) (string, error) {
	path, ok := strings.CutPrefix(url, "sqlite:")
	switch {
	case ok && path != "":
		return path, nil
	case strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		return "", usagef("--ledger %s: PostgreSQL is not supported by this version; use sqlite:PATH", shorten(url, 14))
	}
	return "", usagef("--ledger %q is neither sqlite:PATH nor postgres://…", url)
}

// openLedger opens the ledger for writing, and makes it if there is none.
func (a *app) openLedger(ctx context.Context, url string) (ledger.Ledger, error) {
	return a.open(ctx, url, false)
}

// useLedger opens a ledger as a verb uses it.
func (a *app) useLedger(url string, use use) (ledger.Ledger, error) {
	path, err := ledgerPath(url)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && use != creating {
		return nil, unreachablef("there is no ledger %s; name it with --db PATH, or ask a server with --server URL", path)
	}
	return a.open(a.ctx, url, use == reading)
}

func (a *app) open(ctx context.Context, url string, readOnly bool) (ledger.Ledger, error) {
	path, err := ledgerPath(url)
	if err != nil {
		return nil, err
	}
	l, err := sqlledger.OpenSQLite(ctx, path, sqlledger.Options{ReadOnly: readOnly, Logger: a.log})
	switch {
	case errors.Is(err, spillway.CodeLedgerInUse):
		return nil, unreachablef("%w", err)
	case err != nil:
		return nil, unreachablef("cannot open the ledger %s: %w", path, err)
	}
	return l, nil
}

// closeLedger closes a ledger whose work is done: every outcome is in it
// already, so that an error is only told.
func (a *app) closeLedger(l ledger.Ledger) {
	if err := l.Close(); err != nil {
		a.log.Warn("the ledger did not close well", "err", err)
	}
}

// openQueue makes the queue. A ledger without groups lets its limiters start
// unspent: nothing can have been granted before.
func openQueue(ctx context.Context, url string, l ledger.Ledger) (queue.Queue, error) {
	if err := checkQueue(url); err != nil {
		return nil, err
	}
	groups, _, err := l.Find(ctx, ledger.Filter{Limit: 1})
	if err != nil {
		return nil, err
	}
	return memqueue.New(memqueue.Options{Epoch: time.Now(), Fresh: len(groups) == 0}), nil
}

func checkQueue(url string) error {
	switch scheme, _, _ := strings.Cut(url, ":"); scheme {
	case "", "memory":
		return nil
	case "redis", "rediss", "redis+cluster":
		return usagef("--queue %s: Redis is not supported by this version; use memory", scheme)
	}
	return usagef("--queue %q is none of memory, redis://…, rediss://… and redis+cluster://…", url)
}

// configuration reads the file of --config; without one, the defaults.
func (a *app) configuration() (*config.Config, error) {
	if a.configPath == "" {
		c := config.Default()
		return &c, nil
	}
	c, err := config.Load(a.configPath)
	if err != nil {
		return nil, usagef("%w", err)
	}
	return &c, nil
}
