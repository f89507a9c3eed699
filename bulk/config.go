package bulk

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// Config is what an engine is made of.
type Config struct {
	// Ledger and Queue are required; the engine does not close them.
	Ledger ledger.Ledger
	Queue  queue.Queue
	// Workers is the number of deliveries at once. Default 64.
	Workers int
	// AllWorkers lets one resource hold every worker; by default none holds
	// more than three quarters.
	AllWorkers bool
	// ReadOnly says that the ledger takes no writes: the engine only looks.
	ReadOnly bool
	// Instance names this engine among others. Default: random.
	Instance string
	// Drain is how long a stop waits for deliveries to end. Default 20 s;
	// negative is no wait.
	Drain time.Duration
	// Resources are rules by name or pattern; exact names count before
	// patterns, and among patterns the first that fits.
	Resources []ResourceRule
	Tenants   map[spillway.TenantID]TenantRule
	Retention Retention
	// Callbacks sends callbacks; nil leaves them in the outbox.
	Callbacks Sender
	// Logger gets what an operator should know. Default: slog.Default.
	Logger *slog.Logger
}

// ResourceRule is the limits of the resources whose name fits.
type ResourceRule struct {
	// Name may be a pattern: * stands for any text.
	Name        string
	Rate        flow.Rate
	Window      bool // fixed windows instead of sliding ones
	Concurrency int64
	Parent      spillway.ResourceName
	Weight      float64
}

// TenantRule is a tenant's weight and limits. The rule of tenant "*" is for
// all that have none of their own.
type TenantRule struct {
	Weight    float64 // 0 is 1
	MaxGroups int64   // unfinished groups; 0 is unbounded
	MaxBytes  int64   // payload bytes held; 0 is unbounded
}

// Retention is how long ended groups are kept. Zero fields are the defaults,
// negative ones keep for ever.
type Retention struct {
	Payloads time.Duration // default 7 days
	Groups   time.Duration // default 90 days
}

// Sender delivers a callback; an error makes it due again.
type Sender func(ctx context.Context, m Message) error

// Message is a callback to be delivered.
type Message struct {
	// ID never changes for a completion.
	ID  string
	URL string
	// Trusted says that an operator wrote the URL.
	Trusted bool
	// Action is the group's, whose secret signs.
	Action spillway.ActionName
	// Body is the group object.
	Body []byte
}

func (c Config) withDefaults() Config {
	c.Workers = cmp.Or(c.Workers, 64)
	c.Instance = cmp.Or(c.Instance, uuid.NewString())
	c.Drain = cmp.Or(c.Drain, 20*time.Second)
	c.Retention.Payloads = cmp.Or(c.Retention.Payloads, 7*24*time.Hour)
	c.Retention.Groups = cmp.Or(c.Retention.Groups, 90*24*time.Hour)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

func (c Config) validate() error {
	switch {
	case c.Ledger == nil || c.Queue == nil:
		panic("bulk: Config.Ledger and Config.Queue are required; the caller left one out")
	case c.Workers < 1 || c.Workers > 100_000:
		return spillway.Errorf(spillway.CodeInvalid, "workers: %d is not from 1 to 100000", c.Workers)
	}
	for _, r := range c.Resources {
		if r.Name == "" || len(r.Name) > MaxName {
			return spillway.Errorf(spillway.CodeInvalid, "resource %q: a name must have 1 to %d bytes", r.Name, MaxName)
		}
		if r.Concurrency < 0 || r.Weight < 0 {
			return spillway.Errorf(spillway.CodeInvalid, "resource %q: concurrency and weight must not be negative", r.Name)
		}
	}
	if err := c.validateParents(); err != nil {
		return err
	}
	for t, r := range c.Tenants {
		if r.Weight < 0 || r.MaxGroups < 0 || r.MaxBytes < 0 {
			return spillway.Errorf(spillway.CodeInvalid, "tenant %q: weight and limits must not be negative", t)
		}
	}
	return nil
}

// maxParents bounds the parents above a resource.
const maxParents = 4

// validateParents refuses circles.
func (c *Config) validateParents() error {
	for _, r := range c.Resources {
		name := r.Parent
		for n := 1; name != ""; n++ {
			if n > maxParents {
				return spillway.Errorf(spillway.CodeInvalid, "resource %q: its parents form a circle, or are more than %d", r.Name, maxParents)
			}
			name = c.parent(name)
		}
	}
	return nil
}

// parent is the resource above one; a pattern that fits its own parent is not
// above itself.
func (c *Config) parent(name spillway.ResourceName) spillway.ResourceName {
	if p := c.rule(name).Parent; p != name {
		return p
	}
	return ""
}

// rule is the first rule that fits a resource, an exact name before patterns.
func (c *Config) rule(name spillway.ResourceName) ResourceRule {
	for _, r := range c.Resources {
		if r.Name == string(name) {
			return r
		}
	}
	for _, r := range c.Resources {
		if fits(r.Name, string(name)) {
			return r
		}
	}
	return ResourceRule{Name: string(name)}
}

// fits reports whether a name fits a pattern, in which * stands for any text.
func fits(pattern, name string) bool {
	first, rest, some := strings.Cut(pattern, "*")
	if !some {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for i := len(name); i >= 0; i-- {
		if fits(rest, name[i:]) {
			return true
		}
	}
	return false
}

func (c *Config) tenant(t spillway.TenantID) TenantRule {
	if r, ok := c.Tenants[t]; ok {
		return r
	}
	return c.Tenants["*"]
}

// perResource is the most workers that one resource may hold.
func (c *Config) perResource() int {
	if c.AllWorkers || c.Workers == 1 {
		return c.Workers
	}
	return max(1, c.Workers*3/4)
}
