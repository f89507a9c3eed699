package config

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/queue"
)

// invalid is a value that cannot be, at a path of keys.
type invalid struct {
	path []string
	msg  string
}

func (i *invalid) Error() string { return strings.Join(i.path, ".") + ": " + i.msg }

func bad(msg string, path ...string) *invalid { return &invalid{path: path, msg: msg} }

func oneOf(v string, allowed ...string) string {
	if v == "" || slices.Contains(allowed, v) {
		return ""
	}
	return fmt.Sprintf("%q is not known: write %s", v, strings.Join(allowed, " or "))
}

func (c *Config) validate() *invalid {
	switch {
	case c.Workers < 0 || c.Workers > 100_000:
		return bad(fmt.Sprintf("%d is not from 1 to 100000", c.Workers), "workers")
	case c.AdminKey != "" && len(c.AdminKey) < MinAdminKey:
		return bad(fmt.Sprintf("the key is too short: use at least %d random characters", MinAdminKey), "admin_key")
	case (c.TLS.Cert == "") != (c.TLS.Key == ""):
		return bad("cert and key are needed both", "tls")
	}
	if c.Listen != "" {
		if _, _, err := net.SplitHostPort(string(c.Listen)); err != nil {
			return bad(fmt.Sprintf("%q is no address: write HOST:PORT, such as 127.0.0.1:8080", c.Listen), "listen")
		}
	}
	if msg := storeURL(string(c.Ledger), "sqlite:", "postgres://", "postgresql://"); msg != "" {
		return bad(msg, "ledger")
	}
	if c.Queue != "memory" {
		if msg := storeURL(string(c.Queue), "redis://", "rediss://", "redis+cluster://"); msg != "" {
			return bad(msg+", or memory", "queue")
		}
	}
	for _, r := range c.Resources {
		if e := r.validate(); e != nil {
			return e
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Actions)) {
		if e := c.Actions[name].validate(name); e != nil {
			return e
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tenants)) {
		if t := c.Tenants[name]; t.Weight < 0 || t.MaxGroups < 0 {
			return bad("weight and limits must not be negative", "tenants", name)
		}
	}
	return nil
}

func storeURL(v string, prefixes ...string) string {
	if v == "" {
		return ""
	}
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(v, p); ok && rest != "" {
			return ""
		}
	}
	// The value may hold a password: it is not repeated.
	return "not a store: write " + strings.Join(prefixes, "… or ") + "…"
}

func (r Resource) validate() *invalid {
	at := func(msg string, key ...string) *invalid {
		return bad(msg, append([]string{"resources", r.Name}, key...)...)
	}
	if _, err := path.Match(r.Name, ""); err != nil || r.Name == "" {
		return at(fmt.Sprintf("%q is neither a name nor a pattern such as wa-*", r.Name))
	}
	if msg := oneOf(r.Limiter, "sliding", "window"); msg != "" {
		return at(msg, "limiter")
	}
	switch {
	case r.Concurrency < 0:
		return at("must not be negative; 0 is unbounded", "concurrency")
	case r.Weight < 0:
		return at("must not be negative", "weight")
	case r.Parent != "" && r.Parent == r.Name:
		return at("a resource cannot be its own parent", "parent")
	}
	return nil
}

func (a Action) validate(name string) *invalid {
	at := func(msg string, key ...string) *invalid {
		return bad(msg, append([]string{"actions", name}, key...)...)
	}
	handlers := 0
	for _, has := range []bool{a.Post != "", a.Exec != "", a.Pull} {
		if has {
			handlers++
		}
	}
	switch {
	case name == "" || len(name) > bulk.MaxName:
		return at(fmt.Sprintf("an action's name must have 1 to %d bytes", bulk.MaxName))
	case handlers != 1:
		return at("write exactly one of post: URL, exec: COMMAND and pull: true")
	case a.Batch < 0 || a.Batch > spillway.ChunkSize:
		return at(fmt.Sprintf("%d is not from 1 to %d", a.Batch, spillway.ChunkSize), "batch")
	case a.Attempts < 0:
		return at("must be at least 1", "attempts")
	case a.Concurrency < 0:
		return at("must not be negative; 0 is unbounded", "concurrency")
	case a.Priority < -1e9 || a.Priority > 1e9 || a.Priority != a.Priority:
		return at("seconds of age, at most a billion either way", "priority")
	}
	if a.Post != "" {
		u, err := url.Parse(string(a.Post))
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return at("not a URL: write http://HOST/PATH or https://HOST/PATH", "post")
		}
	}
	if _, err := bulk.ReducerNamed(a.Reduce); err != nil {
		return at(err.Error(), "reduce")
	}
	for key, msg := range map[string]string{
		"order":    oneOf(a.Order, string(queue.Shortest), string(queue.Even)),
		"delivery": oneOf(a.Delivery, string(spillway.AtLeastOnce), string(spillway.AtMostOnce)),
	} {
		if msg != "" {
			return at(msg, key)
		}
	}
	return nil
}
