// Package command is the handler that gives batches of jobs to a shell
// command: one JSON line per job on its standard input, and, if it likes, one
// JSON line per result on its standard output.
//
// What it guarantees: results are reported as they are printed; a job with a
// result keeps it however the command ends; when the context ends, the
// command's whole process group is gone within twice the grace; and no
// command outlives this process, whatever it died of.
//
// What it costs: a fork of sh and what it runs for every batch, about a
// millisecond, and one idle shell per process while a Command is open. Use
// large batches, or package post for a worker that stays up.
package command

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/internal/wire"
)

// Options of a command; the zero value is usual.
type Options struct {
	// Dir is where the command runs. Default: this process's directory.
	Dir string
	// Env is added to this process's environment, as NAME=value.
	Env []string
	// Grace is the time between SIGTERM and SIGKILL at a time-out, and how
	// long output is awaited from what a command left in the background.
	// Default 2 s.
	Grace time.Duration
}

func (o Options) withDefaults() Options {
	if o.Grace == 0 {
		o.Grace = 2 * time.Second
	}
	return o
}

func (o Options) validate() error {
	if o.Grace < 0 {
		return spillway.Errorf(spillway.CodeInvalid, "grace %v is below 0", o.Grace)
	}
	if o.Dir == "" {
		return nil
	}
	if info, err := os.Stat(o.Dir); err != nil || !info.IsDir() {
		return spillway.Errorf(spillway.CodeInvalid, "%s is not a directory", o.Dir)
	}
	return nil
}

// Command runs a shell command for each batch. Its methods may be called
// concurrently.
type Command struct {
	text    string
	options Options
	shell   string
	env     []string
	guard   *guard
	closed  atomic.Bool
}

// New prepares a command for sh -c. Close it when no batch runs any more.
func New(cmd string, o Options) (*Command, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if strings.TrimSpace(cmd) == "" || strings.ContainsRune(cmd, 0) {
		return nil, spillway.Errorf(spillway.CodeInvalid, "the command is empty, or holds a NUL")
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		return nil, spillway.Errorf(spillway.CodeInvalid, "commands need a shell: %w", err)
	}
	g, err := acquireGuard(shell)
	if err != nil {
		return nil, err
	}
	return &Command{text: cmd, options: o, shell: shell, env: append(os.Environ(), o.Env...), guard: g}, nil
}

// Close gives back what New took; the guard process ends with the last open
// Command. Without it nothing is left behind either once this process ends.
func (c *Command) Close() {
	if c.closed.CompareAndSwap(false, true) {
		releaseGuard()
	}
}

// Handle is the bulk.Handler. Results are reported, never returned.
func (c *Command) Handle(ctx context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
	began := time.Now()
	if reason := wire.StopReason(ctx, began); reason != "" {
		return nil, &bulk.Failure{Status: spillway.Retry, Reason: reason, Certain: true}
	}
	r, err := c.start(b)
	if err != nil {
		if errors.Is(err, spillway.CodeState) {
			return nil, err
		}
		return nil, &bulk.Failure{Status: spillway.Retry, Reason: "cannot start the command: " + err.Error(), Certain: true, Down: true}
	}
	return nil, r.finish(ctx, began)
}
