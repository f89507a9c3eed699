package server_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"testing"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/ledger/sqlledger"
	"github.com/spillway/spillway/queue/memqueue"
	"github.com/spillway/spillway/server"
)

// adminKey is the key of servers that tests run with keys.
const adminKey = "test-admin-key-0123456789abcdef"

// world is a real engine over real stores, with a server before it.
type world struct {
	client
	ledger ledger.Ledger
	engine *bulk.Engine
	server *server.Server

	mu   sync.Mutex
	seen map[string]int // payloads that the handler got
}

// newWorld starts one. Its actions: "tag" succeeds and answers the payload,
// "fail" fails every job, "pull" is for leases.
func newWorld(t *testing.T, change func(*server.Options)) *world {
	t.Helper()
	quiet := slog.New(slog.NewTextHandler(quietOut, nil))
	l, err := sqlledger.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlledger.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	e, err := bulk.New(t.Context(), bulk.Config{
		Ledger: l, Queue: memqueue.New(memqueue.Options{Fresh: true}), Workers: 4, Drain: -1, Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{ledger: l, engine: e, seen: map[string]int{}}
	for name, a := range map[spillway.ActionName]struct {
		bulk.Action
		bulk.Handler
	}{
		"tag":  {bulk.Action{Batch: 10, Reducer: bulk.Count()}, w.tag},
		"fail": {bulk.Action{Batch: 10}, fail},
		"pull": {bulk.Action{Batch: 10, Pull: true, Attempts: 2, Backoff: -1}, nil},
	} {
		if err := e.Handle(name, a.Action, a.Handler); err != nil {
			t.Fatal(err)
		}
	}
	w.server = newServer(t, e, func(o *server.Options) {
		o.Settings, o.Logger = l, quiet
		if change != nil {
			change(o)
		}
	})
	run, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(run, nil) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the engine ended with %v", err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("closing the ledger: %v", err)
		}
	})
	w.client = serve(t, w.server)
	until(t, "the server is ready", func() bool { return w.get("/readyz").status == http.StatusOK })
	return w
}

func (w *world) tag(_ context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []spillway.Outcome
	for _, j := range b.Jobs {
		w.seen[string(j.Data)]++
		out = append(out, spillway.Outcome{Index: j.Index, Value: append([]byte(nil), j.Data...)})
	}
	return out, nil
}

func fail(_ context.Context, b *bulk.Batch) (out []spillway.Outcome, _ error) {
	for _, j := range b.Jobs {
		out = append(out, spillway.Outcome{Index: j.Index, Status: spillway.Failed, Error: "no such customer"})
	}
	return out, nil
}

func (w *world) count(payload string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[payload]
}

// newKey makes a key as an admin and returns its secret and its id.
func (w *world) newKey(body string) (secret, id string) {
	w.t.Helper()
	k := read[struct{ Secret, ID string }](w.as(adminKey).post("/v1/keys", body).is(http.StatusCreated))
	return k.Secret, k.ID
}

var quietOut io.Writer = io.Discard
