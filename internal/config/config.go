// Package config is the configuration of a server: the YAML file in typed
// form, with defaults and complete checks.
//
// Reading is strict. An unknown key, a wrong type or a value that cannot be is
// an error that names the file, the line and the key, and says what to write.
// Strings marked as Text may take parts from the environment as ${NAME};
// commands (exec) may not, since there ${NAME} belongs to the shell.
package config

import "time"

// Config is the file. Parse fills in the defaults.
type Config struct {
	// Listen is the address to serve on, "host:port". Default 127.0.0.1:8080.
	Listen Text `yaml:"listen"`
	// Ledger is sqlite:PATH or postgres://…. Default sqlite:spillway.db.
	Ledger Text `yaml:"ledger"`
	// Queue is memory or a redis URL. Default memory.
	Queue Text `yaml:"queue"`
	// Workers is the number of deliveries at once. Default 64.
	Workers int `yaml:"workers"`
	// AllowPrivateURLs lets URLs from the API point into private networks.
	AllowPrivateURLs bool `yaml:"allow_private_urls"`
	// AdminKey is an API key with all rights that is not stored in the ledger:
	// the one to make the first stored key with. At least MinAdminKey bytes.
	AdminKey Text `yaml:"admin_key"`

	Resources Resources         `yaml:"resources"`
	Actions   map[string]Action `yaml:"actions"`
	Tenants   map[string]Tenant `yaml:"tenants"`
	Retention Retention         `yaml:"retention"`
	TLS       TLS               `yaml:"tls"`

	// MaxBody bounds a JSON request. Default 32MB. Streams are not bounded.
	MaxBody Size `yaml:"max_body"`
	// RequestRate bounds the requests of one API key. Default 1000/s.
	RequestRate *Rate `yaml:"request_rate"`
	// Drain is how long a stop waits for work in hand. Default 20s; 0s is no wait.
	Drain *Duration `yaml:"drain"`
}

// MinAdminKey is the least length of AdminKey: 128 bits in base64 and more.
const MinAdminKey = 22

// Resources are the rules in the order of the file: among patterns the first
// that fits counts.
type Resources []Resource

// Resource is the limits of the resources that fit Name.
type Resource struct {
	Name        string  `yaml:"-"`
	Rate        Rate    `yaml:"rate"`        // N/PERIOD; left out is unlimited
	Limiter     string  `yaml:"limiter"`     // sliding (default) or window
	Parent      string  `yaml:"parent"`      // a resource whose rate is shared
	Concurrency int64   `yaml:"concurrency"` // jobs in flight; 0 is unbounded
	Weight      float64 `yaml:"weight"`      // share of free workers; 0 is 1
}

// Action is a kind of bulk work: one of Post, Exec and Pull, and how.
type Action struct {
	Resource    string    `yaml:"resource"` // default: the action's name
	Post        Text      `yaml:"post"`
	Secret      Text      `yaml:"secret"` // signs requests of post, and callbacks
	Exec        string    `yaml:"exec"`
	Pull        bool      `yaml:"pull"`
	Batch       int       `yaml:"batch"`    // default 1
	Attempts    int       `yaml:"attempts"` // default 5
	Backoff     *Duration `yaml:"backoff"`  // default 15s; 0s is none
	Timeout     Duration  `yaml:"timeout"`  // default 30s
	Concurrency int64     `yaml:"concurrency"`
	Priority    float64   `yaml:"priority"` // seconds of age
	Order       string    `yaml:"order"`    // shortest (default) or fair
	Delivery    string    `yaml:"delivery"` // at-least-once (default) or at-most-once
	Reduce      string    `yaml:"reduce"`   // count, sum, group, sum:FIELD or group:FIELD; left out is no result
}

// Tenant is a tenant's weight and limits; the tenant "*" is all others.
type Tenant struct {
	Weight    float64 `yaml:"weight"`     // 0 is 1
	MaxGroups int64   `yaml:"max_groups"` // unfinished groups; 0 is unbounded
	MaxBytes  Size    `yaml:"max_bytes"`  // payload held; 0 is unbounded
}

// Retention is how long ended groups are kept; 0s is for ever.
type Retention struct {
	Payloads *Duration `yaml:"payloads"` // default 7d
	Groups   *Duration `yaml:"groups"`   // default 90d
}

// TLS is the files of the server's certificate; both or none.
type TLS struct {
	Cert Text `yaml:"cert"`
	Key  Text `yaml:"key"`
}

// Default is the configuration without a file.
func Default() Config {
	var c Config
	c.withDefaults()
	return c
}

func (c *Config) withDefaults() {
	setDefault(&c.Listen, "127.0.0.1:8080")
	setDefault(&c.Ledger, "sqlite:spillway.db")
	setDefault(&c.Queue, "memory")
	setDefault(&c.Workers, 64)
	setDefault(&c.MaxBody, 32<<20)
	setDefault(&c.RequestRate, &Rate{N: 1000, Per: time.Second})
	setDefault(&c.Drain, period(20*time.Second))
	setDefault(&c.Retention.Payloads, period(7*day))
	setDefault(&c.Retention.Groups, period(90*day))
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

const day = 24 * time.Hour

func period(d time.Duration) *Duration {
	p := Duration(d)
	return &p
}
