package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
)

// client speaks a server's HTTP API.
type client struct {
	base, key string
	http      *http.Client
}

// answerWait bounds the wait for the head of an answer; a stream may then
// take its time.
const answerWait = 30 * time.Second

func newClient(base, key string) (*client, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, usagef("--server: %q is no http:// or https:// URL", base)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = answerWait
	return &client{base: strings.TrimRight(base, "/"), key: key, http: &http.Client{Transport: t}}, nil
}

// request sends a request; the answer is a success.
func (c *client) request(ctx context.Context, method, path, accept string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", accept)
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, unreachablef("cannot reach the server: %w", err)
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, problem(c.base, resp)
}

// problem is the error that an answer tells of.
func problem(base string, resp *http.Response) error {
	var p struct {
		Code   spillway.Code `json:"code"`
		Detail string        `json:"detail"`
		Title  string        `json:"title"`
	}
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if json.Unmarshal(b, &p) != nil || p.Code == "" {
		return unreachablef("%s answered %s: is it a Spillway server?", base, resp.Status)
	}
	if p.Detail == "" {
		p.Detail = p.Title
	}
	if p.Code == spillway.CodeUnauthorized {
		p.Detail += " (--api-key KEY, or SPILLWAY_API_KEY)"
	}
	return spillway.Errorf(p.Code, "%s", p.Detail)
}

// call makes a request and reads its answer into out, unless that is nil.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	resp, err := c.request(ctx, method, path, "application/json", in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return unreachablef("the server's answer broke off: %w", err)
	}
	return nil
}

// items reads all pages of a list.
func items[T any](ctx context.Context, c *client, path string, query url.Values) (all []T, err error) {
	for {
		page, next, err := onePage[T](ctx, c, path, query)
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); next == "" {
			return all, nil
		}
		query.Set("cursor", next)
	}
}

func onePage[T any](ctx context.Context, c *client, path string, query url.Values) ([]T, string, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var page struct {
		Items []T    `json:"items"`
		Next  string `json:"next"`
	}
	err := c.call(ctx, http.MethodGet, path, nil, &page)
	return page.Items, page.Next, err
}

// stream reads jobs from a path as they arrive.
func (c *client) stream(ctx context.Context, path string) iter.Seq2[bulk.JobView, error] {
	return func(yield func(bulk.JobView, error) bool) {
		resp, err := c.request(ctx, http.MethodGet, path, "application/x-ndjson", nil)
		if err != nil {
			yield(bulk.JobView{}, err)
			return
		}
		defer resp.Body.Close()
		d := json.NewDecoder(resp.Body)
		for {
			var j bulk.JobView
			switch err := d.Decode(&j); {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(j, unreachablef("the server's answer broke off: %w", err))
				return
			}
			if !yield(j, nil) {
				return
			}
		}
	}
}
