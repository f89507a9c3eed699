package command

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spillway/spillway"
)

// patience bounds waiting for other processes: long, since only a failing
// test waits for all of it.
const patience = 30 * time.Second

func await(t *testing.T, what string, ready func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not after %v", what, patience)
		}
	}
}

func awaitGone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		await(t, fmt.Sprintf("process %d gone", pid), func() bool { return gone(pid) })
	}
}

// gone reports whether a process has ended; one that nobody has reaped yet
// has.
func gone(pid int) bool {
	if err := syscall.Kill(pid, 0); err == syscall.ESRCH {
		return true
	}
	out, err := exec.Command("ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output()
	return err != nil || strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// engineMain is another process that runs commands until it is killed. It
// prints what they report, and its guard's number.
func engineMain() {
	c, err := New(`sleep 1000 & echo "{\"index\":0,\"value\":[$$,$!]}"; sleep 1000; true`, Options{})
	if err != nil {
		panic(err)
	}
	for range 2 {
		go func() {
			b, _ := batch(1)
			b.Report = func(o ...spillway.Outcome) { fmt.Printf("%s\n", o[0].Value) }
			_, _ = c.Handle(context.Background(), b)
		}()
	}
	fmt.Printf("[%d]\n", c.guard.process().Pid)
	select {}
}

func (g *guard) process() *os.Process {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.cmd.Process
}

// The children hold everything that they inherited; so this proves, too, that
// they did not inherit the pipe to the guard.
func TestChildrenDieWithTheEngine(t *testing.T) {
	for name, kill := range map[string]func(pid int) error{
		"SIGKILL to the group": func(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) },
		"SIGKILL":              func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) },
		"SIGTERM to the group": func(pid int) error { return syscall.Kill(-pid, syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			engine := exec.Command(os.Args[0])
			engine.Env = append(os.Environ(), "SPILLWAY_TEST_ENGINE=1")
			engine.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			out, err := engine.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := engine.Start(); err != nil {
				t.Fatal(err)
			}
			var pids []int
			for lines := bufio.NewScanner(out); len(pids) < 5 && lines.Scan(); {
				var some []int
				if err := json.Unmarshal(lines.Bytes(), &some); err != nil {
					t.Fatalf("%q: %v", lines.Text(), err)
				}
				pids = append(pids, some...)
			}
			if len(pids) != 5 {
				t.Fatalf("processes %v, want two shells, two sleeps and the guard", pids)
			}
			if err := kill(engine.Process.Pid); err != nil {
				t.Fatal(err)
			}
			_ = engine.Wait()
			awaitGone(t, pids...)
		})
	}
}

// A guard that was killed is replaced, and the new one knows what runs.
func TestGuardReplaced(t *testing.T) {
	c := open(t, `echo "{\"index\":0,\"value\":$$}"; sleep 1000; true`, Options{})
	b, r := batch(1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.Handle(ctx, b)
	}()
	var pid int
	if err := json.Unmarshal((<-r.first).Value, &pid); err != nil {
		t.Fatal(err)
	}
	old := c.guard.process()
	if err := syscall.Kill(old.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "another guard", func() bool { return c.guard.process().Pid != old.Pid })
	if syscall.Kill(old.Pid, 0) != syscall.ESRCH {
		t.Error("the old guard was not reaped")
	}
	// As if the engine had died.
	c.guard.mu.Lock()
	c.guard.mu.pipe.Close()
	c.guard.mu.Unlock()
	awaitGone(t, pid)
	<-done
	cancel()
}

func TestGuardEndsWithTheLastCommand(t *testing.T) {
	a, b := open(t, "true", Options{}), open(t, "true", Options{})
	pid := a.guard.process().Pid
	if a.guard != b.guard {
		t.Fatal("two guards")
	}
	a.Close()
	if gone(pid) {
		t.Error("gone while a command is open")
	}
	b.Close()
	if syscall.Kill(pid, 0) != syscall.ESRCH {
		t.Error("not gone, or not reaped")
	}
}
