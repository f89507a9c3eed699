package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

var address = regexp.MustCompile(`http://[0-9.]+:[0-9]+`)

// serve starts a server and returns its URL.
func serve(t *testing.T, dir string, args ...string) (*process, string) {
	t.Helper()
	p := start(t, dir, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	until(t, "the address", func() bool { return address.MatchString(p.errs.String()) })
	return p, address.FindString(p.errs.String())
}

func TestServe(t *testing.T) {
	dir := t.TempDir()
	const config = "actions:\n  tag: {resource: table, exec: \"cat >/dev/null; exit 1\", attempts: 1, batch: 10}\nresources:\n  table: {rate: 1000/s}\n"
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	p, url := serve(t, dir, "--config", "s.yaml")
	if !strings.Contains(p.errs.String(), "no API keys: this machine only") {
		t.Errorf("whether keys are on is not said: %s", p.errs.String())
	}
	resp, err := http.Post(url+"/v1/groups?tenant=acme&action=tag", "text/csv", strings.NewReader("id\n1\n2\n"))
	if err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("submit: %v %v", resp, err)
	}
	resp.Body.Close()

	// ask runs a verb against the server.
	ask := func(want int, args ...string) string {
		t.Helper()
		q := start(t, dir, append(args, "--server", url)...)
		if code := q.exit(t); code != want {
			t.Fatalf("%s: exit %d, want %d: %s", strings.Join(args, " "), code, want, q.errs.String())
		}
		return q.out.String() + q.errs.String()
	}
	says := func(out, want string) {
		t.Helper()
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	until(t, "the end of the group", func() bool { return strings.Contains(ask(exitDone, "groups", "list", "--json"), `"state":"completed"`) })
	id := regexp.MustCompile(`g_\w+`).FindString(ask(exitDone, "groups", "list"))
	says(ask(exitDone, "groups", "show", id), `failed +2`)
	says(ask(exitDone, "groups", "failures", id), `exit status 1`)
	says(ask(exitDone, "groups", "failures", id, "--csv", "-"), `2,1,failed,`)
	says(ask(exitDone, "groups", "why", id), `completed`)
	says(ask(exitUsage, "groups", "pause", id), `cannot be paused`)
	_ = ask(exitUsage, "groups", "cancel", "g_none")
	says(ask(exitDone, "resources", "list"), `table +1000/s`)
	says(ask(exitDone, "resources", "set", "table", "--rate", "5/s"), `rate +5/s`)
	says(ask(exitDone, "resources", "pause", "table"), `state +paused`)
	says(ask(exitDone, "resources", "resume", "table"), `state +open`)
	says(ask(exitDone, "tenants", "list"), `acme`)
	_ = ask(exitDone, "tenants", "pause", "acme")
	_ = ask(exitDone, "tenants", "resume", "acme")
	says(ask(exitDone, "tenants", "erase", "acme", "--yes"), `erased 1`)
	_ = ask(exitDone, "groups", "prune")

	// Beside the server, the ledger can be read and not be changed.
	if q := start(t, dir, "groups", "list"); q.exit(t) != exitDone {
		t.Errorf("reading beside the server: %s", q.errs.String())
	}
	q := start(t, dir, "tenants", "pause", "acme")
	if code := q.exit(t); code != exitUnreachable || !strings.Contains(q.errs.String(), "--server") {
		t.Errorf("changing beside the server: exit %d: %s", code, q.errs.String())
	}

	// With keys, only who has one is served.
	secret := regexp.MustCompile(`sw_\S+`).FindString(ask(exitDone, "keys", "create", "--admin"))
	says(ask(exitUnreachable, "groups", "list"), `--api-key`)
	list := ask(exitDone, "keys", "list", "--api-key", secret)
	_ = ask(exitDone, "keys", "revoke", regexp.MustCompile(`k_\w+`).FindString(list), "--api-key", secret)

	_ = p.Process.Signal(syscall.SIGTERM)
	if code := p.exit(t); code != exitDone {
		t.Errorf("serve ended with exit %d: %s", code, p.errs.String())
	}
	_ = ask(exitUnreachable, "groups", "list")
}

func TestServeWarnsOfActionsWithoutLimits(t *testing.T) {
	dir := t.TempDir()
	const config = `
resources:
  customers: {rate: 1000/s}
  "wa-*": {rate: 50/5s}
actions:
  tag: {resource: customers, exec: "true"}
  send: {resource: "wa-{tenant}", exec: "true"}
  slip: {resource: custmers, exec: "true"}
  bare: {pull: true}
`
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	p, _ := serve(t, dir, "--config", "s.yaml")
	said := regexp.MustCompile(`level=WARN.*runs without a rate.* (action=\S+ resource=\S+)`).FindAllStringSubmatch(p.errs.String(), -1)
	if len(said) != 2 || said[0][1] != "action=bare resource=bare" || said[1][1] != "action=slip resource=custmers" {
		t.Errorf("warnings %q", said)
	}
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte("actions:\n  bare: {pull: true}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p, _ = serve(t, dir, "--config", "s.yaml", "--db", "other.db")
	if strings.Contains(p.errs.String(), "WARN") {
		t.Errorf("without a resources block nothing is amiss: %s", p.errs.String())
	}
}

func TestServeCannotStart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte("workers: 4\nlisen: x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, url := serve(t, dir)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--config", "bad.yaml"}, exitUsage, "bad.yaml:2"},
		{[]string{"--config", "none.yaml"}, exitUsage, "none.yaml"},
		{[]string{"--listen", "nowhere"}, exitUsage, "HOST:PORT"},
		{[]string{"--listen", "0.0.0.0:0", "--db", "other.db"}, exitUsage, "keys create"},
		{[]string{"--listen", strings.TrimPrefix(url, "http://"), "--db", "other.db"}, exitUnreachable, "in use by another program"},
		{[]string{"--listen", "127.0.0.1:0"}, exitUnreachable, "in use by process"},
		{[]string{"--admin-key", "short"}, exitUsage, "too short"},
		{[]string{"--queue", "redis://127.0.0.1:6379"}, exitUsage, "not supported"},
	} {
		p := start(t, dir, append([]string{"serve"}, c.args...)...)
		if code := p.exit(t); code != c.code || !strings.Contains(p.errs.String(), c.says) {
			t.Errorf("serve %v: exit %d, want %d saying %q:\n%s", c.args, code, c.code, c.says, p.errs.String())
		}
	}
}
