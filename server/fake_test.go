package server_test

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeEngine answers what its fields say, for what an engine rarely does. A
// call that no test expects panics on the nil embedded engine.
type fakeEngine struct {
	server.Engine
	ready  error
	group  func(spillway.GroupID) (*bulk.Group, error)
	append func(bulk.Source) (int64, error)
	submit func(bulk.Submission, bulk.Source) (*bulk.Group, bool, error)
	lease  func(context.Context) (*bulk.Pulled, error)
}

func (f *fakeEngine) Ready() error          { return f.ready }
func (f *fakeEngine) Metrics() bulk.Metrics { return bulk.Metrics{Workers: 7} }

func (f *fakeEngine) Resources(context.Context) ([]*bulk.Resource, error) { return nil, nil }

func (f *fakeEngine) Governed(spillway.ResourceName) bool { return false }

func (f *fakeEngine) Foreign(spillway.ResourceName, spillway.TenantID) bool { return false }

func (f *fakeEngine) Group(_ context.Context, id spillway.GroupID) (*bulk.Group, error) {
	return f.group(id)
}

func (f *fakeEngine) Append(_ context.Context, _ spillway.GroupID, _ int64, src bulk.Source) (int64, error) {
	return f.append(src)
}

func (f *fakeEngine) Submit(_ context.Context, s bulk.Submission, src bulk.Source) (*bulk.Group, bool, error) {
	return f.submit(s, src)
}

func (f *fakeEngine) Lease(ctx context.Context, _ bulk.PullRequest) (*bulk.Pulled, error) {
	return f.lease(ctx)
}

func (f *fakeEngine) Subscribe() (<-chan bulk.Event, func()) {
	return make(chan bulk.Event), func() {}
}

// memSettings is settings without a ledger.
type memSettings struct {
	mu   sync.Mutex
	err  error
	rows []ledger.Setting
}

func (m *memSettings) Load(_ context.Context, kind string) (out []ledger.Setting, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.rows {
		if r.Kind == kind {
			out = append(out, r)
		}
	}
	return out, m.err
}

func (m *memSettings) Save(_ context.Context, _ time.Time, rows []ledger.Setting) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range rows {
		kept := m.rows[:0:0]
		for _, old := range m.rows {
			if old.Kind != r.Kind || old.Name != r.Name {
				kept = append(kept, old)
			}
		}
		if r.Value != nil {
			kept = append(kept, r)
		}
		m.rows = kept
	}
	return m.err
}

func (m *memSettings) History(context.Context, string, string, int) ([]ledger.Setting, error) {
	return nil, nil
}

func newServer(t *testing.T, e server.Engine, change func(*server.Options)) *server.Server {
	t.Helper()
	o := server.Options{
		Engine: e, Settings: &memSettings{}, Version: "test",
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	if change != nil {
		change(&o)
	}
	s, err := server.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve puts a server on a loopback listener for the length of a test.
func serve(t *testing.T, s *server.Server) client {
	t.Helper()
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Stop()
		h.Client().CloseIdleConnections()
		h.Close()
	})
	return client{t: t, http: h.Client(), url: h.URL}
}
