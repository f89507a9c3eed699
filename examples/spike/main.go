// Command spike runs the spike test in real time on the real engine: 15,000
// jobs in 3 groups, submitted at once, as three resources of 10/s and as three
// tenants on one of 30/s. At 20-fold speed each takes 25 seconds; the table is
// in the time of the original.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/source"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/ledger/sqlledger"
	"github.com/spillway/spillway/queue/memqueue"
)

const (
	groups = 3
	jobs   = 5000 // of each group
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "spike:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("spike", flag.ContinueOnError)
	setup := flags.String("setup", "both", "resources, tenants or both")
	speed := flags.Int64("speed", 20, "how many times faster than 30 jobs a second")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *speed < 1 || *speed > 1000 {
		return fmt.Errorf("speed %d is not from 1 to 1000", *speed)
	}
	setups := []string{"resources", "tenants"}
	switch *setup {
	case "both":
	case "resources", "tenants":
		setups = []string{*setup}
	default:
		return fmt.Errorf("setup %q is neither resources, tenants nor both", *setup)
	}
	fmt.Fprintf(out, "%-36s %11s %8s %13s %11s %8s %10s\n", "15,000 jobs, ideal 500 s", "completion", "÷ ideal", "throttles/job", "handed/job", "peak/s", "worst Jain")
	fmt.Fprintf(out, "%-36s %9d s %8.3f %13.3f %11s %8d %10s\n", "the original, as reported", 720, 1.44, 1.45, "", 25, "")
	for _, s := range setups {
		t, err := spike(ctx, s == "tenants", *speed)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		fmt.Fprintln(out, t.row(s, *speed))
	}
	return nil
}

// spike runs one set-up and returns what was seen of it.
func spike(ctx context.Context, shared bool, speed int64) (*tally, error) {
	dir, err := os.MkdirTemp("", "spike")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	store, err := sqlledger.OpenSQLite(context.WithoutCancel(ctx), filepath.Join(dir, "spillway.db"), sqlledger.Options{})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	seen := &tally{Queue: memqueue.New(memqueue.Options{Epoch: time.Now(), Fresh: true})}
	defer seen.Close()
	// Workers enough that outcomes may wait for a slow disk: 600 jobs a second
	// hold 60 workers for each tenth of a second that one takes.
	engine, err := bulk.New(ctx, bulk.Config{
		Ledger: store, Queue: seen, Workers: 256, AllWorkers: true, Logger: slog.New(slog.DiscardHandler),
		Resources: []bulk.ResourceRule{
			{Name: "shared", Rate: flow.Rate{N: 30 * speed, Per: time.Second}},
			{Name: "of-*", Rate: flow.Rate{N: 10 * speed, Per: time.Second}},
		},
	})
	if err != nil {
		return nil, err
	}
	action := bulk.Action{Resource: "of-{tenant}"}
	if shared {
		action.Resource = "shared"
	}
	if err := engine.Handle("work", action, seen.handle); err != nil {
		return nil, err
	}
	changes, cancel := engine.Subscribe()
	defer cancel()
	engineEnd := make(chan error, 1)
	go func() { engineEnd <- engine.Run(ctx, nil) }()
	seen.start = time.Now()
	if err := submit(ctx, engine); err != nil {
		return nil, err
	}
	done := map[spillway.GroupID]bool{}
	for len(done) < groups {
		select {
		case c := <-changes:
			if c.Group != nil && c.Group.State == spillway.Completed {
				done[c.Group.ID] = true
			}
		case err := <-engineEnd:
			return nil, fmt.Errorf("the engine stopped: %w", err)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	seen.end = time.Now()
	stop()
	return seen, <-engineEnd
}

// submit opens the three groups at once.
func submit(ctx context.Context, engine *bulk.Engine) error {
	var wait errgroup.Group
	for i := range groups {
		wait.Go(func() error {
			rows, err := source.CSV(strings.NewReader("n\n"+strings.Repeat("1\n", jobs)), source.Options{})
			if err != nil {
				return err
			}
			tenant := spillway.TenantID(fmt.Sprintf("tenant%d", i))
			_, _, err = engine.Submit(ctx, bulk.Submission{Tenant: tenant, Action: "work"}, rows)
			return err
		})
	}
	return wait.Wait()
}
