package examples_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What the generator makes: a change of it must be seen here.
const (
	customers = 10_000
	slack     = 100 * time.Second // for a machine that is busy with other things
)

// build makes the binary.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "spillway")
	if out, err := exec.Command("go", "build", "-o", binary, "../cmd/spillway").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// start runs a command until the end of the test and returns its first line.
func start(t *testing.T, firstLine bool, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if !firstLine {
		return ""
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

type group struct {
	ID                       string
	State                    string
	Total, Succeeded, Failed int64
}

func TestCustomersAreWhatTheGeneratorMakes(t *testing.T) {
	out, err := exec.Command("go", "run", "./gen").Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("customers.csv")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out, file) {
		t.Error("customers.csv differs: go run ./examples/gen > examples/customers.csv")
	}
}

func TestTag(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), slack)
	defer cancel()
	run := exec.CommandContext(ctx, build(t), "run", "--csv", "customers.csv", "--exec", "./tag.sh", "--batch", "1000",
		"--db", filepath.Join(t.TempDir(), "spillway.db"), "--json")
	var stderr strings.Builder
	run.Stderr = &stderr
	out, err := run.Output()
	if code := run.ProcessState.ExitCode(); code != 1 { // some fail
		t.Fatalf("exit %d, %v\n%s", code, err, &stderr)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var g group
	if err := json.Unmarshal(lines[len(lines)-1], &g); err != nil {
		t.Fatal(err)
	}
	judge(t, g)
}

// judge checks the counts that every way of tagging the customers must reach.
func judge(t *testing.T, g group) {
	t.Helper()
	if g.State != "completed" || g.Total != customers || g.Succeeded+g.Failed != g.Total || g.Failed < 100 || g.Failed > 250 {
		t.Errorf("%+v", g)
	}
}

func TestEmbed(t *testing.T) {
	out, err := exec.Command("go", "run", "./embed").Output()
	if want := `1000 of 1000 succeeded: {"count":1000,"groups":{"free":750,"pro":250}}`; err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("%v\n%s\nwant %s", err, out, want)
	}
}

func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("the workers are written in Python, and there is no python3 here")
	}
	return path
}

func TestHTTPWorker(t *testing.T) {
	python := python(t)
	port := start(t, true, python, "httpworker/worker.py", "0")
	forged, err := http.Post("http://127.0.0.1:"+port+"/tag", "application/json", strings.NewReader(`{"jobs":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	forged.Body.Close()
	if forged.StatusCode != http.StatusUnauthorized {
		t.Errorf("an unsigned batch was answered with %s", forged.Status)
	}
	server := serve(t, "httpworker/spillway.yaml", ":9000/", ":"+port+"/")
	judge(t, submit(t, server))
}

func TestPullWorker(t *testing.T) {
	python := python(t)
	server := serve(t, "pullworker/spillway.yaml", "", "")
	start(t, false, python, "pullworker/worker.py", server)
	judge(t, submit(t, server))
}

// serve starts a server with a config in which one text is replaced.
func serve(t *testing.T, config, from, to string) (url string) {
	t.Helper()
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "spillway.yaml")
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	start(t, false, build(t), "serve", "--config", path, "--listen", address, "--ledger", "sqlite:"+filepath.Join(dir, "spillway.db"))
	url = "http://" + address
	await(t, func() bool {
		resp, err := http.Get(url + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return url
}

// await asks again and again until the answer is yes.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(slack); !ok(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("it did not come to pass")
		}
	}
}

// submit uploads the customers and waits for the group to end.
func submit(t *testing.T, server string) (g group) {
	t.Helper()
	file, err := os.Open("customers.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	decode(t, http.StatusCreated, &g)(http.Post(server+"/v1/groups?tenant=acme&action=tag", "text/csv", file))
	await(t, func() bool {
		decode(t, http.StatusOK, &g)(http.Get(server + "/v1/groups/" + g.ID))
		return g.State == "completed"
	})
	return g
}

func decode(t *testing.T, status int, into any) func(*http.Response, error) {
	return func(resp *http.Response, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != status {
			t.Fatalf("%s %v: %s", resp.Status, err, body)
		}
		if err := json.Unmarshal(body, into); err != nil {
			t.Fatal(err)
		}
	}
}
