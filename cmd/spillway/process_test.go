package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spillway/spillway/bulk"
)

// patience bounds waits for what must happen; nothing depends on its length.
const patience = time.Minute

// process is the command as a process of its own.
type process struct {
	*exec.Cmd
	out, errs locked
	ended     chan struct{}
}

// locked is a buffer that is read while it is written.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func start(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command("spillway", args...), ended: make(chan struct{})}
	p.Dir, p.Stdout, p.Stderr = dir, &p.out, &p.errs
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.Wait()
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
	})
	return p
}

// exit waits for the process to end.
func (p *process) exit(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("the process does not end; it said:\n%s%s", p.out.String(), p.errs.String())
	}
	return p.ProcessState.ExitCode()
}

// until waits for a condition.
func until(t *testing.T, what string, met func() bool) {
	t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !met() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func rows(t *testing.T, dir string, n int) {
	t.Helper()
	var b strings.Builder
	b.WriteString("id\n")
	for i := range n {
		fmt.Fprintln(&b, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func text(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

func lastGroup(t *testing.T, out string) (g bulk.Group) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &g); err != nil {
		t.Fatalf("the last line is no group: %v\n%s", err, out)
	}
	return g
}

func TestKillAndGoOn(t *testing.T) {
	const n, workers, batch = 600, 2, 10
	for _, delivery := range []string{"at-least-once", "at-most-once"} {
		t.Run(delivery, func(t *testing.T) {
			dir := t.TempDir()
			rows(t, dir, n)
			args := []string{
				"run", "--csv", "in.csv", "--exec", "cat >>seen; sleep 0.02", "--batch", fmt.Sprint(batch), "--workers", fmt.Sprint(workers),
				"--key", "k", "--delivery", delivery, "--json",
			}
			seen := filepath.Join(dir, "seen")
			const kills = 3
			for range kills {
				before := len(text(seen))
				p := start(t, dir, args...)
				until(t, "work", func() bool { return len(text(seen)) > before+1000 })
				_ = p.Process.Kill()
				<-p.ended
			}
			p := start(t, dir, args...)
			code := p.exit(t)
			g := lastGroup(t, p.out.String())
			times := map[int64]int{}
			for lines := bufio.NewScanner(strings.NewReader(text(seen))); lines.Scan(); {
				var j struct{ Index int64 }
				if json.Unmarshal(lines.Bytes(), &j) == nil {
					times[j.Index]++
				}
			}
			var twice int
			for _, c := range times {
				twice += c - 1
			}
			const held = 2 * kills * workers * batch
			switch {
			case g.Total != n || g.Succeeded+g.Failed+g.InDoubt != n:
				t.Errorf("the counts do not add up: %+v", g)
			case delivery == "at-least-once" && (code != exitDone || g.Succeeded != n || len(times) != n || twice > held):
				t.Errorf("exit %d, %d succeeded, %d rows seen, %d twice; want all rows, at most %d twice", code, g.Succeeded, len(times), twice, held)
			case delivery == "at-most-once" && (twice > 0 || g.InDoubt > held):
				t.Errorf("%d rows handed out twice, %d in doubt; want none and at most %d", twice, g.InDoubt, held)
			}
		})
	}
}

// holding is a command that says that it began, and ends when it may.
const holding = `cat >/dev/null; echo $$ >>began; while [ ! -e go ]; do sleep 0.02; done`

func TestFirstSignalDrains(t *testing.T) {
	dir := t.TempDir()
	rows(t, dir, 50)
	args := []string{"run", "--csv", "in.csv", "--exec", holding, "--batch", "1", "--workers", "1", "--key", "k", "--json"}
	p := start(t, dir, args...)
	until(t, "the first batch", func() bool { return text(filepath.Join(dir, "began")) != "" })
	_ = p.Process.Signal(syscall.SIGTERM)
	until(t, "the announcement", func() bool { return strings.Contains(p.out.String(), "stopping: waiting for the batches in hand (1)") })
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := p.exit(t); code != exitInterrupted {
		t.Fatalf("exit %d, want %d:\n%s", code, exitInterrupted, p.errs.String())
	}
	if g := lastGroup(t, p.out.String()); g.Succeeded != 1 || g.InFlight != 0 {
		t.Errorf("the batch under way was not waited for: %+v", g)
	}
	if said := p.errs.String(); !strings.Contains(said, "to go on: ") || !strings.Contains(said, "--key k") {
		t.Errorf("the command that goes on is not said: %s", said)
	}
	p = start(t, dir, args...)
	if code := p.exit(t); code != exitDone {
		t.Fatalf("exit %d of the second run:\n%s", code, p.errs.String())
	}
	if began := strings.Count(text(filepath.Join(dir, "began")), "\n"); began != 50 {
		t.Errorf("%d rows ran, want 50: none twice", began)
	}
}

func TestSecondSignalStopsAtOnce(t *testing.T) {
	dir := t.TempDir()
	rows(t, dir, 5)
	p := start(t, dir, "run", "--csv", "in.csv", "--exec", holding, "--batch", "1", "--workers", "1", "--drain", "10m", "--timeout", "10m")
	began := filepath.Join(dir, "began")
	until(t, "the first batch", func() bool { return strings.HasSuffix(text(began), "\n") })
	var child int
	fmt.Sscan(text(began), &child)
	_ = p.Process.Signal(syscall.SIGINT)
	until(t, "the announcement", func() bool { return strings.Contains(p.errs.String(), "stopping: waiting for") })
	_ = p.Process.Signal(syscall.SIGINT)
	until(t, "what the second signal means", func() bool {
		return strings.Contains(p.errs.String(), "stopping at once: the batches in hand may run again")
	})
	if code := p.exit(t); code != exitInterrupted {
		t.Fatalf("exit %d, want %d:\n%s", code, exitInterrupted, p.errs.String())
	}
	until(t, "the end of the child", func() bool { return syscall.Kill(child, 0) != nil })
}
