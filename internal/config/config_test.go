package config_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/internal/config"
)

const full = `
listen: 127.0.0.1:8080
ledger: sqlite:spillway.db
queue: memory
workers: 32
allow_private_urls: true
admin_key: ${TEST_ADMIN_KEY}
resources:
  customers: {rate: 10000/s, concurrency: 7}
  wa-*:      {rate: 50/5s, limiter: window, parent: customers, weight: 2}
  "*":       {rate: 1/s}
actions:
  tag: {resource: customers, post: "http://127.0.0.1:9000/tag", secret: "${TEST_SECRET}", batch: 100, attempts: 3, backoff: 0s,
        timeout: 10s, concurrency: 4, priority: 1.5, order: fair, delivery: at-most-once, reduce: sum}
  run:  {exec: 'echo ${HOME}'}
  pull: {pull: true}
tenants:
  acme: {weight: 2, max_groups: 1000, max_bytes: 10GB}
  "*":  {max_groups: 10}
retention: {payloads: 1d12h, groups: 0s}
tls: {cert: a.pem, key: b.pem}
max_body: 1MB
request_rate: 20/s
drain: 1m
`

func TestParse(t *testing.T) {
	t.Setenv("TEST_ADMIN_KEY", strings.Repeat("k", 32))
	t.Setenv("TEST_SECRET", "whsec_x")
	c, err := config.Parse([]byte(full), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if c.Actions["run"].Exec != "echo ${HOME}" {
		t.Errorf("a command was expanded: %q", c.Actions["run"].Exec)
	}
	if got := c.Actions["tag"].Secret; got != "whsec_x" {
		t.Errorf("secret = %q", got)
	}
	if c.MaxBody != 1<<20 || *c.RequestRate != (config.Rate{N: 20, Per: time.Second}) {
		t.Errorf("max_body %d, request_rate %v", c.MaxBody, *c.RequestRate)
	}
	want := bulk.Config{
		Workers: 32,
		Drain:   time.Minute,
		Resources: []bulk.ResourceRule{
			{Name: "customers", Rate: flow.Rate{N: 10000, Per: time.Second}, Concurrency: 7},
			{Name: "wa-*", Rate: flow.Rate{N: 50, Per: 5 * time.Second}, Window: true, Parent: "customers", Weight: 2},
			{Name: "*", Rate: flow.Rate{N: 1, Per: time.Second}},
		},
		Tenants: map[spillway.TenantID]bulk.TenantRule{
			"acme": {Weight: 2, MaxGroups: 1000, MaxBytes: 10 << 30},
			"*":    {MaxGroups: 10},
		},
		Retention: bulk.Retention{Payloads: 36 * time.Hour, Groups: -1},
	}
	if d := cmp.Diff(want, c.Engine()); d != "" {
		t.Error(d)
	}
	wantTag := bulk.Action{
		Resource: "customers", Batch: 100, Attempts: 3, Backoff: -1, Timeout: 10 * time.Second,
		Concurrency: 4, Priority: 1500 * time.Millisecond, Order: "fair", Delivery: spillway.AtMostOnce,
	}
	tag := c.Actions["tag"].Settings()
	if tag.Reducer != bulk.Sum("") {
		t.Errorf("reducer %v", tag.Reducer)
	}
	tag.Reducer = nil
	if d := cmp.Diff(wantTag, tag); d != "" {
		t.Error(d)
	}
	if !c.Actions["pull"].Settings().Pull {
		t.Error("pull action does not pull")
	}
}

func TestEmptyIsDefault(t *testing.T) {
	for _, text := range []string{"", "\n# nothing\n", "\ufeff"} {
		c, err := config.Parse([]byte(text), "empty.yaml")
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if d := cmp.Diff(config.Default(), c); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}

// Each error names the file, the line and what is wrong.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", "listen: 127.0.0.1:1\nlistne: x\n", `f.yaml:2: unknown key "listne"`},
		{"unknown key inside", "actions:\n  a:\n    exec: x\n    bach: 3\n", `f.yaml:4: unknown key "bach"`},
		{"later block", "guard: {mode: off}\n", `f.yaml:1: unknown key "guard"`},
		{"wrong type", "workers: many\n", "f.yaml:1: a value of type int is expected here, not string"},
		{"mapping for scalar", "\nlisten: {a: 1}\n", "f.yaml:2: a single value is expected"},
		{"duplicate", "queue: memory\nqueue: memory\n", `f.yaml:2: mapping key "queue" already defined`},
		{"no rate", "resources:\n  a: {rate: fast}\n", `f.yaml:2: "fast" is no rate`},
		{"adaptive", "resources:\n  a: {rate: adaptive}\n", "f.yaml:2: adaptive rates are not available yet"},
		{"limiter", "resources:\n  a:\n    limiter: leaky\n", `f.yaml:3: resources.a.limiter: "leaky" is not known: write sliding or window`},
		{"no handler", "actions:\n  a: {batch: 3}\n", "f.yaml:2: actions.a: write exactly one of post"},
		{"two handlers", "actions:\n  a: {exec: x, pull: true}\n", "f.yaml:2: actions.a: write exactly one of post"},
		{"batch", "actions:\n  a:\n    exec: x\n    batch: 1001\n", "f.yaml:4: actions.a.batch: 1001 is not from 1 to 1000"},
		{"duration", "actions:\n  a: {exec: x, timeout: 30}\n", `f.yaml:2: "30" is no duration`},
		{"size", "max_body: 3 bananas\n", `f.yaml:1: "3 bananas" is no size`},
		{"environment", "\nadmin_key: ${SPILLWAY_TEST_NOT_SET}\n", `f.yaml:2: the environment variable "SPILLWAY_TEST_NOT_SET" is not set`},
		{"short key", "admin_key: secret\n", "f.yaml:1: admin_key: the key is too short"},
		{"tls", "tls: {cert: a}\n", "f.yaml:1: tls: cert and key are needed both"},
		{"ledger", "ledger: mysql://x\n", "f.yaml:1: ledger: not a store"},
		{"two documents", "queue: memory\n---\nqueue: memory\n", "f.yaml:3: a second document"},
		{"syntax", "a: [\n", "f.yaml:1: "},
		{"not a mapping", "- a\n", "f.yaml:1: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := config.Parse([]byte(c.text), "f.yaml")
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Fatalf("error %v\nwant   %s…", err, c.want)
			}
			if !errors.Is(err, spillway.CodeInvalid) {
				t.Errorf("code %s", spillway.CodeOf(err))
			}
		})
	}
}

func TestLoadMissing(t *testing.T) {
	_, err := config.Load(t.TempDir() + "/none.yaml")
	if !errors.Is(err, spillway.CodeInvalid) {
		t.Fatal(err)
	}
}

// Whatever the file holds, Parse answers with a usable configuration or one
// error of code invalid that begins with the file's name.
func FuzzParse(f *testing.F) {
	f.Setenv("TEST_ADMIN_KEY", strings.Repeat("k", 32))
	f.Setenv("TEST_SECRET", "whsec_x")
	f.Add([]byte(full))
	f.Add([]byte("resources: {1: {rate: 3/s}}"))
	f.Add([]byte("a: &x [*x]"))
	f.Add([]byte("drain: 1d2h\nmax_body: .5GB\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := config.Parse(data, "f.yaml")
		if err != nil {
			if !errors.Is(err, spillway.CodeInvalid) || !strings.HasPrefix(err.Error(), "f.yaml:") {
				t.Fatalf("error %v", err)
			}
			return
		}
		if c.Workers < 1 || c.Drain == nil || c.RequestRate == nil || c.Engine().Workers != c.Workers {
			t.Fatalf("no usable configuration: %+v", c)
		}
	})
}
