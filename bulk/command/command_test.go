package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
)

func TestMain(m *testing.M) {
	if os.Getenv("SPILLWAY_TEST_ENGINE") != "" {
		engineMain()
		return
	}
	goleak.VerifyTestMain(m)
}

// batch makes a batch of n jobs whose reports go to the returned recorder.
func batch(n int) (*bulk.Batch, *recorder) {
	r := &recorder{first: make(chan spillway.Outcome, 1)}
	b := &bulk.Batch{Group: "grp_1", Tenant: "acme", Action: "tag", Resource: "customers", Report: r.report}
	for i := range n {
		b.Jobs = append(b.Jobs, spillway.Job{Index: int64(i), Attempt: 1, Key: fmt.Sprintf("grp_1-%d", i), Data: json.RawMessage(`{"id":"c"}`)})
	}
	return b, r
}

type recorder struct {
	mu    sync.Mutex
	all   []spillway.Outcome
	first chan spillway.Outcome
}

func (r *recorder) report(o ...spillway.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, o...)
	select {
	case r.first <- o[0]:
	default:
	}
}

func open(t testing.TB, cmd string, o Options) *Command {
	t.Helper()
	if o.Grace == 0 {
		o.Grace = 100 * time.Millisecond
	}
	c, err := New(cmd, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestOutcomes(t *testing.T) {
	retry := func(reason string) *bulk.Failure { return &bulk.Failure{Status: spillway.Retry, Reason: reason} }
	for _, c := range []struct {
		name    string
		cmd     string
		want    []spillway.Outcome
		failure *bulk.Failure // nil: none
		garbage string        // or an error of the handler that begins so
	}{
		{name: "silent success", cmd: "cat >/dev/null"},
		{name: "input not read", cmd: "exit 0"},
		{name: "results", cmd: `cat >/dev/null; printf '{"index":0,"status":"failed","error":"no"}\n\n  {"index":1,"value":7}\r\n{"index":2}'`, want: []spillway.Outcome{
			{Index: 0, Status: spillway.Failed, Error: "no"}, {Index: 1, Value: []byte("7")}, {Index: 2},
		}},
		{name: "results kept when it fails", cmd: `echo '{"index":1}'; echo first >&2; printf ' last \n\n' >&2; exit 3`, want: []spillway.Outcome{{Index: 1}}, failure: retry("last")},
		{name: "no reason given", cmd: "exit 3", failure: retry("exit status 3")},
		{name: "certified retry", cmd: "echo busy >&2; exit 75", failure: &bulk.Failure{Status: spillway.Retry, Reason: "busy", Certain: true}},
		{name: "throttled", cmd: "exit 69", failure: &bulk.Failure{Status: spillway.Throttled, Reason: "exit status 69", Certain: true}},
		{name: "killed", cmd: "kill -9 $$", failure: retry("signal: killed")},
		{name: "garbage", cmd: `echo '{"index":0}'; echo 'Hello, "world"'; echo '{"index":1}'`, want: []spillway.Outcome{{Index: 0}, {Index: 1}}, garbage: `line 2 of the command's output: not a result: invalid character 'H' looking for beginning of value: Hello, "world"`},
		{name: "unknown status", cmd: `echo '{"index":0,"status":"done"}'`, garbage: `line 1 of the command's output: unknown status "done"`},
		{name: "garbage certifies nothing", cmd: "echo oops; exit 75", garbage: "line 1 of the command's output: not a result"},
		{name: "garbage and failure", cmd: "echo oops; exit 1", failure: retry("exit status 1")},
		{name: "foreign index passed on", cmd: `echo '{"index":99}'; echo '{"index":99}'`, want: []spillway.Outcome{{Index: 99}, {Index: 99}}},
		{name: "long line", cmd: `echo '{"index":0}'; head -c 3000000 /dev/zero | tr '\0' x; echo; echo '{"index":1}'; echo y`, want: []spillway.Outcome{{Index: 0}, {Index: 1}}, garbage: "line 2 of the command's output: longer than 1048576 bytes: xxx"},
		{name: "long line at the end", cmd: `head -c 1100000 /dev/zero | tr '\0' x`, garbage: "line 1 of the command's output: longer than"},
		{name: "value of nearly a line", cmd: `printf '{"index":0,"value":"'; head -c 3000 /dev/zero | tr '\0' x; echo '"}'`, want: []spillway.Outcome{{Index: 0, Value: []byte(`"` + strings.Repeat("x", 3000) + `"`)}}},
		{name: "much on both outputs", cmd: `head -c 500000 /dev/zero | tr '\0' '\n'; head -c 500000 /dev/zero | tr '\0' e >&2; echo >&2; echo end >&2; exit 1`, failure: retry("end")},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, r := batch(2000)
			returned, err := open(t, c.cmd, Options{}).Handle(t.Context(), b)
			if returned != nil {
				t.Errorf("returned %v besides reporting", returned)
			}
			if diff := cmp.Diff(c.want, r.all); diff != "" {
				t.Error(diff)
			}
			checkError(t, err, c.failure, c.garbage)
		})
	}
}

func checkError(t *testing.T, err error, want *bulk.Failure, garbage string) {
	t.Helper()
	var f *bulk.Failure
	errors.As(err, &f)
	switch {
	case garbage != "":
		if !errors.Is(err, spillway.CodeHandler) || !strings.HasPrefix(err.Error(), garbage) || len(err.Error()) > 500 {
			t.Errorf("error %.600v, want one of the handler: %s", err, garbage)
		}
	case want == nil && err != nil, want != nil && !cmp.Equal(f, want):
		t.Errorf("error %#v, want %#v", err, want)
	}
}

func TestCommandNotFound(t *testing.T) {
	b, _ := batch(1)
	_, err := open(t, "no-such-command-here", Options{}).Handle(t.Context(), b)
	var f *bulk.Failure
	if !errors.As(err, &f) || f.Certain || f.Status != spillway.Retry || !strings.Contains(f.Reason, "not found") {
		t.Errorf("error %#v", err)
	}
}

func TestInputAndEnvironment(t *testing.T) {
	dir := t.TempDir()
	b, _ := batch(2)
	b.Jobs[1] = spillway.Job{Index: 7, Attempt: 2, Key: `k"`, Data: []byte("{\n}")}
	c := open(t, `cat >in; printf '%s\n' "$SPILLWAY_GROUP $SPILLWAY_TENANT $SPILLWAY_ACTION $EXTRA" >env`, Options{Dir: dir, Env: []string{"EXTRA=more"}})
	if _, err := c.Handle(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"in": `{"group":"grp_1","tenant":"acme","index":0,"attempt":1,"key":"grp_1-0","data":{"id":"c"}}
{"group":"grp_1","tenant":"acme","index":7,"attempt":2,"key":"k\"","data":{ }}
`,
		"env": "grp_1 acme tag more\n",
	} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// The command goes on only once its first result has been reported.
func TestReportsWhileRunning(t *testing.T) {
	dir := t.TempDir()
	b, r := batch(2)
	c := open(t, `mkfifo go; echo '{"index":0}'; read line <go; echo '{"index":1}'`, Options{Dir: dir})
	done := make(chan error, 1)
	go func() {
		_, err := c.Handle(t.Context(), b)
		done <- err
	}()
	if o := <-r.first; o.Index != 0 {
		t.Errorf("first %v", o)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("on\n"), 0); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || len(r.all) != 2 {
		t.Errorf("%v %v", r.all, err)
	}
}

func TestStopped(t *testing.T) {
	const ready = `echo "{\"index\":0,\"value\":[$$,$!]}"; `
	for _, c := range []struct {
		name, cmd string
		want      bulk.Failure
	}{
		{"ends at SIGTERM", "sleep 1000 & " + ready + "sleep 1000", bulk.Failure{Status: spillway.Retry, Reason: "timed out after 30s"}},
		{"ignores SIGTERM", "trap '' TERM; sleep 1000 & " + ready + "sleep 1000; sleep 1000", bulk.Failure{Status: spillway.Retry, Reason: "timed out after 30s"}},
		{"claims success", "trap 'exit 0' TERM; sleep 1000 & " + ready + "wait", bulk.Failure{Status: spillway.Retry, Reason: "timed out after 30s"}},
		{"certifies", "trap 'exit 75' TERM; sleep 1000 & " + ready + "wait", bulk.Failure{Status: spillway.Retry, Reason: "exit status 75", Certain: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			b, r := batch(3)
			done := make(chan error, 1)
			command := open(t, c.cmd, Options{})
			go func() {
				_, err := command.Handle(ctx, b)
				done <- err
			}()
			var pids []int
			if err := json.Unmarshal((<-r.first).Value, &pids); err != nil {
				t.Fatal(err)
			}
			cancel(errors.New("timed out after 30s"))
			checkError(t, <-done, &c.want, "")
			awaitGone(t, pids...)
		})
	}
}

func TestNotStartedAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	b, _ := batch(1)
	_, err := open(t, "touch ran", Options{Dir: dir}).Handle(ctx, b)
	checkError(t, err, &bulk.Failure{Status: spillway.Retry, Reason: "broken off: the engine stopped", Certain: true}, "")
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the command ran")
	}
}

func TestCannotStart(t *testing.T) {
	c := open(t, "exit 0", Options{Dir: t.TempDir()})
	c.shell = "/no/such/shell"
	b, _ := batch(1)
	_, err := c.Handle(t.Context(), b)
	var f *bulk.Failure
	if !errors.As(err, &f) || !f.Certain || !f.Down {
		t.Errorf("error %#v", err)
	}
}

// What a command leaves in the background neither holds its batch up for
// ever nor survives it.
func TestBackground(t *testing.T) {
	b, r := batch(1)
	if _, err := open(t, `sleep 1000 & echo "{\"index\":0,\"value\":$!}"`, Options{}).Handle(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	var pid int
	if err := json.Unmarshal(r.all[0].Value, &pid); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, pid)
}

func TestConcurrent(t *testing.T) {
	c := open(t, `while read line; do i=${line#*index\":}; echo "{\"index\":${i%%,*}}"; done`, Options{})
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			b, r := batch(50)
			if _, err := c.Handle(t.Context(), b); err != nil {
				t.Error(err)
			}
			in := func(i int) bool { return r.all[i].Index == int64(i) }
			if len(r.all) != 50 || slices.ContainsFunc([]int{0, 7, 49}, func(i int) bool { return !in(i) }) {
				t.Errorf("%d results", len(r.all))
			}
		})
	}
	work.Wait()
}

func TestInvalid(t *testing.T) {
	for name, o := range map[string]Options{"directory": {Dir: "/no/such/directory"}, "grace": {Grace: -1}} {
		if _, err := New("true", o); !errors.Is(err, spillway.CodeInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(" ", Options{}); !errors.Is(err, spillway.CodeInvalid) {
		t.Errorf("no command: %v", err)
	}
}

func TestClosed(t *testing.T) {
	c := open(t, "true", Options{})
	c.Close()
	b, _ := batch(1)
	if _, err := c.Handle(t.Context(), b); !errors.Is(err, spillway.CodeState) {
		t.Errorf("error %v", err)
	}
	c.Close() // does nothing more
}
