package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/server"
)

// client calls a server as a user would.
type client struct {
	t    *testing.T
	http *http.Client
	url  string
	key  string
}

func (c client) as(key string) client {
	c.key = key
	return c
}

// request makes a request; headers come as pairs.
func (c client) request(method, path string, body io.Reader, headers ...string) *http.Request {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// answer is a reply that has been read.
type answer struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   string
}

func (c client) do(r *http.Request) answer {
	c.t.Helper()
	resp, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{c.t, r.Method + " " + r.URL.Path, resp.StatusCode, resp.Header, string(data)}
}

func (c client) get(path string, headers ...string) answer {
	c.t.Helper()
	return c.do(c.request(http.MethodGet, path, nil, headers...))
}

// post sends JSON, or nothing.
func (c client) post(path, body string) answer {
	c.t.Helper()
	return c.do(c.request(http.MethodPost, path, strings.NewReader(body), "Content-Type", "application/json"))
}

func (c client) csv(path, body string) answer {
	c.t.Helper()
	return c.do(c.request(http.MethodPost, path, strings.NewReader(body), "Content-Type", "text/csv"))
}

// is wants a status.
func (a answer) is(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s: status %d, want %d: %s", a.what, a.status, status, a.body)
	}
	return a
}

// problem wants a problem document with a status and a code.
func (a answer) problem(status int, code string) server.Problem {
	a.t.Helper()
	a.is(status)
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		a.t.Fatalf("%s: content type %q", a.what, got)
	}
	p := read[server.Problem](a)
	if p.Code != code || p.Status != status || p.Detail == "" || p.Title == "" {
		a.t.Fatalf("%s: problem %+v, want code %s", a.what, p, code)
	}
	return p
}

// read decodes a reply.
func read[T any](a answer) T {
	a.t.Helper()
	var v T
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		a.t.Fatalf("%s: %v: %s", a.what, err, a.body)
	}
	return v
}

type list[T any] struct {
	Items []T
	Next  string
}

// until polls a condition; it fails the test only after a generous time.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(20 * time.Second); !cond(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("it never came true that %s", what)
		}
	}
}

// ended waits for a group's end.
func (c client) ended(id string) (g bulk.Group) {
	c.t.Helper()
	defer func() {
		if c.t.Failed() {
			c.t.Logf("%+v: %s", g, c.get("/v1/groups/"+id+"/why").body)
		}
	}()
	until(c.t, "group "+id+" ends", func() bool {
		g = read[bulk.Group](c.get("/v1/groups/" + id).is(http.StatusOK))
		return g.State.Ended()
	})
	return g
}
