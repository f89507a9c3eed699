package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// mostMemory is what a run may hold resident, whatever the number of its rows.
const mostMemory = 200 << 20

// TestMemoryDoesNotGrowWithRows streams a CSV through run; SPILLWAY_ROWS makes
// it as long as wanted.
func TestMemoryDoesNotGrowWithRows(t *testing.T) {
	rows := 300_000
	if s := os.Getenv("SPILLWAY_ROWS"); s != "" {
		var err error
		if rows, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	cmd := exec.Command("spillway", "run", "--csv", "-", "--exec", "cat >/dev/null", "--batch", "1000", "--json")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	var out locked
	cmd.Stdout = &out
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	w := bufio.NewWriterSize(in, 1<<20)
	fmt.Fprintln(w, "id,name,email,phone,city")
	for i := range rows {
		fmt.Fprintf(w, "%d,Customer %08x,%016x@example.com,+82%010d,Springfield\n", i, r.Uint32(), r.Uint64(), r.IntN(1e9))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if want := fmt.Sprintf(`"succeeded":%d`, rows); !strings.Contains(out.String(), want) {
		t.Errorf("the group is not there whole:\n%s", out.String()[max(0, len(out.String())-1000):])
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("this system does not say what a process held")
	}
	held := usage.Maxrss * maxrssUnit
	t.Logf("%d rows: %d MiB resident at most", rows, held>>20)
	if held > mostMemory {
		t.Errorf("%d rows held %d MiB resident, over %d MiB", rows, held>>20, mostMemory>>20)
	}
}
