package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spillway/spillway/bulk"
)

func TestGuardIgnoresSignals(t *testing.T) {
	c := open(t, "true", Options{})
	pid := c.guard.process().Pid
	want := uint64(0)
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		want |= 1 << (s - 1)
	}
	await(t, "signals ignored", func() bool { return ignored(t, pid)&want == want })
	if sid, err := getsid(pid); err != nil || sid != pid {
		t.Errorf("session %d of guard %d: %v", sid, pid, err)
	}
}

// ignored is the set of signals that a process ignores.
func ignored(t *testing.T, pid int) uint64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "SigIgn:\t")
	mask, err := strconv.ParseUint(after[:16], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return mask
}

func getsid(pid int) (int, error) {
	sid, _, e := syscall.Syscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(sid), nil
}

func TestPipeToGuardNotInherited(t *testing.T) {
	c := open(t, "echo $(ls -l /proc/self/fd) >&2; exit 1", Options{})
	info, err := c.guard.mu.pipe.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b, _ := batch(1)
	_, err = c.Handle(t.Context(), b)
	var f *bulk.Failure
	pipe := fmt.Sprintf("pipe:[%d]", info.Sys().(*syscall.Stat_t).Ino)
	if !errors.As(err, &f) || !strings.Contains(f.Reason, "pipe:[") || strings.Contains(f.Reason, pipe) {
		t.Errorf("open files %v, want others than %s", err, pipe)
	}
}

// A process that left the group is out of reach, but holds nothing up.
func TestBackgroundInOtherSession(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "go")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	b, _ := batch(1)
	c := open(t, `setsid sh -c 'read line <go' & exit 0`, Options{Dir: dir})
	if _, err := c.Handle(t.Context(), b); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(fifo, []byte("on\n"), 0); err != nil {
		t.Error(err)
	}
}
