package main

import (
	"cmp"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/flow"
)

// runCmd reads jobs from a file and has a command or a URL do them.
type runCmd struct {
	CSV   string `name:"csv" xor:"source" required:"" help:"Jobs from a CSV file; the first row names the fields. - is standard input." placeholder:"FILE" env:"-"`
	JSONL string `name:"jsonl" xor:"source" required:"" help:"Jobs from a file with one JSON value per line. - is standard input." placeholder:"FILE" env:"-"`
	Exec  string `xor:"handler" required:"" help:"The command that does the work, started by sh -c once per batch." placeholder:"CMD" env:"-"`
	Post  string `xor:"handler" required:"" help:"The URL that does the work, one POST per batch." placeholder:"URL" env:"-"`

	Secret   string        `help:"Sign the POSTs with this secret (Standard Webhooks, whsec_…)."`
	Tenant   string        `default:"default" help:"Whose work it is."`
	Resource string        `default:"run" help:"What the work wears down."`
	Rate     string        `help:"At most this many jobs in any such time, for this run: 200/s, 600/m, 50/5s." placeholder:"N/PERIOD"`
	Batch    int           `default:"100" help:"Most jobs of one delivery, 1 to 1000."`
	Workers  int           `default:"16" help:"Deliveries at once."`
	Attempts int           `default:"5" help:"How often a job is delivered before it fails."`
	Backoff  time.Duration `default:"15s" help:"Wait before the second attempt; it doubles with each."`
	Timeout  time.Duration `default:"30s" help:"Bound of one delivery."`
	Delivery string        `default:"at-least-once" enum:"at-least-once,at-most-once" help:"at-least-once repeats what ran without its outcome being recorded; at-most-once reports it as in doubt."`
	Cost     string        `help:"Field of a row that holds what it takes from the rate." placeholder:"FIELD"`
	Priority time.Duration `default:"0s" help:"Age to add to the group."`

	NotBefore   time.Time `help:"Start no job before this time (RFC 3339)." placeholder:"TIME"`
	MaxFailures string    `help:"Pause when more jobs failed than this: N, or P% of what is done, judged from 100 on." placeholder:"N|P%"`
	Reduce      string    `help:"Reduce the values of the jobs to one result: count, sum, or group." placeholder:"NAME"`
	Key         string    `help:"The same key goes on with the same group, after a crash too. Made and printed if not given." placeholder:"ID" env:"-"`
	Failures    string    `help:"Write what failed to this file at the end: the fields, index, status and error." placeholder:"FILE.csv" env:"-"`

	ledgerFlags
	Queue string        `help:"Queue: memory." placeholder:"URL"`
	Drain time.Duration `default:"20s" help:"How long the first Ctrl-C waits for batches to end."`
}

func (runCmd) Help() string {
	return `Example:

    spillway run --csv customers.csv --exec ./tag.sh --rate 200/s

The command gets one JSON line per job on its standard input:
{"group":"…","tenant":"…","index":17,"attempt":1,"key":"…","data":{…}}
and may answer with one per job: {"index":17,"status":"ok|failed|retry|throttled","error":"…","value":…}.
Jobs that it does not mention follow its exit code: 0 ok, 75 retry, 69 throttled, anything else is an error.

Ctrl-C waits for the batches under way; pressed again, it stops at once. Nothing is lost: the command that is
printed then goes on where this one stopped.`
}

// plan is a run that has been checked: nothing is opened yet.
type plan struct {
	submission bulk.Submission
	action     bulk.Action
	ledgerURL  string
	queueURL   string
	workers    int
	keyMade    bool
	resumeLine string
}

// plan checks the flags.
func (c *runCmd) plan(a *app) (*plan, error) {
	cfg, err := a.configuration()
	if err != nil {
		return nil, err
	}
	p := &plan{workers: c.Workers, queueURL: cmp.Or(c.Queue, string(cfg.Queue))}
	if p.ledgerURL, err = c.url(string(cfg.Ledger)); err != nil {
		return nil, err
	}
	if _, err := ledgerPath(p.ledgerURL); err != nil {
		return nil, err
	}
	if err := checkQueue(p.queueURL); err != nil {
		return nil, err
	}
	rate, err := flow.ParseRate(c.Rate)
	if err != nil {
		return nil, usagef("--rate: %w", err)
	}
	if err := c.checkNumbers(); err != nil {
		return nil, err
	}
	reducer, err := bulk.ReducerNamed(c.Reduce)
	if err != nil {
		return nil, usagef("--reduce: %w", err)
	}
	key := c.Key
	if p.keyMade = key == ""; p.keyMade {
		key = "r" + strings.ToLower(rand.Text()[:12])
	}
	name := "run/" + url.PathEscape(c.Tenant) + "/" + key
	if len(name) > bulk.MaxName {
		return nil, usagef("--key: tenant and key are too long together (over %d bytes)", bulk.MaxName-len("run//"))
	}
	p.submission = bulk.Submission{
		Tenant: spillway.TenantID(c.Tenant), Action: spillway.ActionName(name), Resource: spillway.ResourceName(c.Resource),
		Key: key, Rate: rate, Priority: c.Priority, NotBefore: c.NotBefore, MaxFailures: c.MaxFailures, CostField: c.Cost,
	}
	p.action = bulk.Action{
		Resource: c.Resource, Batch: c.Batch, Attempts: c.Attempts, Backoff: cmp.Or(c.Backoff, -1), Timeout: c.Timeout,
		Delivery: spillway.Delivery(c.Delivery), Reducer: reducer,
	}
	p.resumeLine = shellLine(withFlag(a.argv, "run", "--key", key))
	return p, nil
}

func (c *runCmd) checkNumbers() error {
	switch {
	case c.Batch < 1 || c.Batch > spillway.ChunkSize:
		return usagef("--batch: %d is not from 1 to %d", c.Batch, spillway.ChunkSize)
	case c.Workers < 1 || c.Workers > 10_000:
		return usagef("--workers: %d is not from 1 to 10000", c.Workers)
	case c.Attempts < 1:
		return usagef("--attempts: %d is below 1", c.Attempts)
	case c.Timeout < time.Millisecond:
		return usagef("--timeout: %v is below 1ms", c.Timeout)
	case c.Backoff < 0:
		return usagef("--backoff: %v is below 0", c.Backoff)
	case c.Drain < 0:
		return usagef("--drain: %v is below 0", c.Drain)
	}
	if err := checkExec(c.Exec); err != nil {
		return err
	}
	if c.Post != "" {
		u, err := url.Parse(c.Post)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return usagef("--post: %q is no http:// or https:// URL", c.Post)
		}
	}
	if err := bulk.CheckMaxFailures(c.MaxFailures); err != nil {
		return usagef("--max-failures: %w", err)
	}
	return nil
}

// source is the file that the flags name, opened.
func (c *runCmd) source(a *app) (*input, error) {
	name := cmp.Or(c.CSV, c.JSONL)
	in := &input{name: name, csv: c.CSV != "", costField: c.Cost}
	if name == "-" {
		in.name, in.r = "standard input", a.stdin
		return in, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usagef("%w", err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, usagef("%s is a folder", name)
	}
	in.r, in.close = f, f.Close
	return in, nil
}
