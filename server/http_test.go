package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/server"
)

func TestUnknownPlaces(t *testing.T) {
	c := serve(t, newServer(t, &fakeEngine{}, nil))
	c.get("/v2/groups").problem(http.StatusNotFound, "not_found")
	a := c.do(c.request(http.MethodDelete, "/v1/groups", nil))
	a.problem(http.StatusMethodNotAllowed, "method_not_allowed")
	if got := a.header.Get("Allow"); got != "GET, POST" {
		t.Errorf("Allow: %q", got)
	}
	if body := c.get("/").is(http.StatusOK).body; !strings.Contains(body, "/openapi.json") {
		t.Error("the page does not lead to the document")
	}
}

// An error inside tells the client nothing of the inside, but where to look.
func TestInternalErrorsAreNotShown(t *testing.T) {
	fake := &fakeEngine{group: func(spillway.GroupID) (*bulk.Group, error) { return nil, errors.New("password=hunter2") }}
	c := serve(t, newServer(t, fake, nil))
	a := c.get("/v1/groups/g_1")
	if p := a.problem(http.StatusInternalServerError, "internal"); p.Request == "" || strings.Contains(a.body, "hunter2") {
		t.Errorf("problem %s", a.body)
	}
	fake.group = func(spillway.GroupID) (*bulk.Group, error) { panic("hunter2") }
	a = c.get("/v1/groups/g_1")
	a.problem(http.StatusInternalServerError, "internal")
	if strings.Contains(a.body, "hunter2") {
		t.Errorf("problem %s", a.body)
	}
	fake.group = func(spillway.GroupID) (*bulk.Group, error) {
		return nil, spillway.Errorf(spillway.CodeUnavailable, "the ledger does not answer")
	}
	a = c.get("/v1/groups/g_1")
	a.problem(http.StatusServiceUnavailable, "unavailable")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

func TestProbes(t *testing.T) {
	fake := &fakeEngine{ready: errors.New("recovering")}
	c := serve(t, newServer(t, fake, nil))
	c.get("/healthz").is(http.StatusOK)
	c.get("/readyz").problem(http.StatusServiceUnavailable, "unavailable")
}

func TestRequestRate(t *testing.T) {
	c := serve(t, newServer(t, &fakeEngine{}, func(o *server.Options) {
		o.RequestRate = flow.Rate{N: 2, Per: time.Hour}
	}))
	c.get("/v1/keys").is(http.StatusOK)
	c.get("/v1/keys").is(http.StatusOK)
	a := c.get("/v1/keys")
	a.problem(http.StatusTooManyRequests, "rate_exceeded")
	if a.header.Get("Retry-After") == "" || a.header.Get("Retry-After") == "1" {
		t.Errorf("Retry-After: %q", a.header.Get("Retry-After"))
	}
	c.get("/healthz").is(http.StatusOK)
}

func TestBodyLimit(t *testing.T) {
	c := serve(t, newServer(t, &fakeEngine{}, func(o *server.Options) { o.MaxBody = 1024 }))
	c.post("/v1/groups", `{"action":"tag","jobs":["`+strings.Repeat("x", 2000)+`"]}`).problem(http.StatusRequestEntityTooLarge, "too_large")
}

// drain reads a source as an engine does, and says how far it came.
func drain(src bulk.Source) (int64, error) {
	for n := int64(0); ; n++ {
		if _, err := src.Next(); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

// An upload that stalls is given up: the rows before stand, and the answer
// says where it goes on.
func TestStalledUpload(t *testing.T) {
	fake := &fakeEngine{
		group:  func(id spillway.GroupID) (*bulk.Group, error) { return &bulk.Group{ID: id, Tenant: "a"}, nil },
		append: drain,
	}
	c := serve(t, newServer(t, fake, func(o *server.Options) { o.UploadIdle = 100 * time.Millisecond }))
	pr, pw := io.Pipe()
	defer pw.Close()
	go fmt.Fprint(pw, "id\n1\n2\n3")
	a := c.do(c.request(http.MethodPost, "/v1/groups/g_1/jobs?offset=0", pr, "Content-Type", "text/csv"))
	if p := a.problem(http.StatusRequestTimeout, "timeout"); p.Total == nil || *p.Total < 2 || p.Group != "g_1" {
		t.Errorf("problem %+v", p)
	}
}

// A handler that is done while its source still reads must not keep the
// connection.
func TestUploadThatIsRefusedOnTheWay(t *testing.T) {
	started := make(chan struct{})
	fake := &fakeEngine{
		group: func(id spillway.GroupID) (*bulk.Group, error) { return &bulk.Group{ID: id}, nil },
		append: func(src bulk.Source) (int64, error) {
			go func() { _, _ = drain(src) }()
			<-started
			return 5, spillway.Errorf(spillway.CodeLimit, "the tenant holds too much")
		},
	}
	c := serve(t, newServer(t, fake, nil))
	pr, pw := io.Pipe()
	defer pw.Close()
	go func() {
		fmt.Fprint(pw, "id\n1\n2\n")
		close(started)
	}()
	a := c.do(c.request(http.MethodPost, "/v1/groups/g_1/jobs?offset=0", pr, "Content-Type", "text/csv"))
	if p := a.problem(http.StatusTooManyRequests, "limit_exceeded"); p.Total == nil || *p.Total != 5 {
		t.Errorf("problem %+v", p)
	}
}

func TestMetrics(t *testing.T) {
	c := serve(t, newServer(t, &fakeEngine{}, nil))
	c.get("/v1/keys").is(http.StatusOK)
	body := c.get("/metrics").is(http.StatusOK).body
	for _, want := range []string{
		"spillway_workers 7", `spillway_build_info{`, `spillway_jobs_total{outcome="succeeded"} 0`,
		`spillway_http_requests_total{method="GET",route="/v1/keys",status="200"} 1`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// A stop ends long polls, event streams and uploads; nothing hangs.
func TestStop(t *testing.T) {
	// A connection that was not accepted yet would be reset, not answered.
	polling, uploading := make(chan struct{}), make(chan struct{})
	fake := &fakeEngine{
		lease: func(ctx context.Context) (*bulk.Pulled, error) {
			close(polling)
			<-ctx.Done()
			return nil, nil
		},
		group: func(id spillway.GroupID) (*bulk.Group, error) { return &bulk.Group{ID: id}, nil },
		append: func(src bulk.Source) (int64, error) {
			close(uploading)
			return drain(src)
		},
	}
	s := newServer(t, fake, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, l) }()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	c := client{t: t, http: &http.Client{Transport: tr}, url: "http://" + l.Addr().String()}

	events, err := c.http.Do(c.request(http.MethodGet, "/v1/events", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	polled, uploaded := make(chan answer, 1), make(chan answer, 1)
	go func() { polled <- c.post("/v1/leases", `{"actions":["x"],"wait_ms":60000}`) }()
	pr, pw := io.Pipe()
	defer pw.Close()
	go func() {
		uploaded <- c.do(c.request(http.MethodPost, "/v1/groups/g_1/jobs?offset=0", pr, "Content-Type", "text/csv"))
	}()
	fmt.Fprint(pw, "id\n1\n")
	<-polling
	<-uploading
	cancel()
	(<-polled).problem(http.StatusServiceUnavailable, "unavailable")
	(<-uploaded).problem(http.StatusServiceUnavailable, "unavailable")
	if _, err := io.Copy(io.Discard, events.Body); err != nil {
		t.Errorf("the event stream broke: %v", err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestEvents(t *testing.T) {
	w := newWorld(t, func(o *server.Options) {
		withAdmin(o)
		o.Heartbeat = 20 * time.Millisecond
	})
	keyA, _ := w.newKey(`{"tenant":"a"}`)
	a, admin := w.as(keyA), w.as(adminKey)
	resp, err := a.http.Do(a.request(http.MethodGet, "/v1/events", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Fatalf("content type %q", ct)
	}
	admin.csv("/v1/groups?tenant=b&action=tag", rows).is(http.StatusCreated)
	g := read[bulk.Group](a.csv("/v1/groups?action=tag", rows).is(http.StatusCreated))
	beats := 0
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), ":") {
			beats++
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		e := read[bulk.Event](answer{t: t, body: data})
		if e.Group == nil || e.Group.Tenant != "a" {
			t.Fatalf("a sees %s", data)
		}
		if e.Group.ID == g.ID && e.Group.State == spillway.Completed && beats > 0 {
			return
		}
	}
	t.Fatalf("the stream ended before the group: %v", lines.Err())
}
