package sqlledger_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/ledger/sqlledger"
)

// crashVariable tells the test binary to be the process that is killed.
const crashVariable = "SQLLEDGER_CRASH"

const (
	crashWriters = 3
	// crashUnit is the rows of one call, in two segments; a call settles two
	// such units.
	crashUnit = 1000
)

// crashing runs the process that is killed, if that is what we are.
func crashing() bool {
	path := os.Getenv(crashVariable)
	if path == "" {
		return false
	}
	l, err := sqlledger.OpenSQLite(context.Background(), path, sqlledger.Options{})
	if err != nil {
		fmt.Println("error", err)
		return true
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	for w := range crashWriters {
		wg.Go(func() { crashWriter(l, w, say) })
	}
	wg.Wait() // until we are killed
	return true
}

func crashGroup(w int) spillway.GroupID { return spillway.GroupID(fmt.Sprint("g", w)) }

// crashWriter appends and settles, and says what was answered.
func crashWriter(l *sqlledger.Ledger, w int, say func(string, ...any)) {
	ctx, now, id := context.Background(), time.Now(), crashGroup(w)
	made, err := l.Create(ctx, now, []ledger.NewGroup{{ID: id, Tenant: "t", Action: "a", Resource: "r"}})
	if err != nil {
		say("error %v", err)
		return
	}
	total, settled := made[0].Group.Total, made[0].Group.Counts.Checkpoint
	for {
		half := total + crashUnit/2
		out, err := l.Append(ctx, now, []ledger.Append{
			{Group: id, Offset: total, Rows: crashRows(total, half)}, {Group: id, Offset: half, Rows: crashRows(half, total+crashUnit)},
		})
		if err != nil || out[0].Err != nil || out[1].Err != nil {
			say("error %v %+v", err, out)
			return
		}
		total += crashUnit
		say("total %d %d", w, total)
		if total < settled+2*crashUnit {
			continue
		}
		k := settled / crashUnit
		if _, err := l.Settle(ctx, now, []ledger.Settlement{crashSettlement(id, k), crashSettlement(id, k+1)}); err != nil {
			say("error %v", err)
			return
		}
		settled += 2 * crashUnit
		say("settled %d %d", w, settled)
	}
}

func crashRows(from, to int64) (r ledger.Rows) {
	for i := from; i < to; i++ {
		r.Add(fmt.Appendf(nil, `{"row":%d}`, i), 1)
	}
	return r
}

func crashSettlement(id spillway.GroupID, chunk int64) ledger.Settlement {
	from := chunk * crashUnit
	return ledger.Settlement{Group: id, Chunk: chunk, Outcomes: []ledger.Outcome{
		{Jobs: spillway.One(from, from+crashUnit), Status: spillway.Skipped, Reason: fmt.Sprint("chunk ", chunk)},
	}}
}

// A process is killed at random moments, again and again on one file. What it
// had been answered is there; of no call there is half.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	r := rand.New(rand.NewPCG(1, 1))
	answered := map[string]int64{}
	for round := range 6 {
		lines := r.IntN(40)
		if round == 0 {
			lines = 0 // while it makes the file
		}
		killed(t, path, lines, answered)
		checkKilled(t, path, answered)
	}
	if len(answered) != 2*crashWriters {
		t.Errorf("answers %v: some writers did nothing", answered)
	}
}

// killed runs the process until it has said so many lines.
func killed(t *testing.T, path string, lines int, answered map[string]int64) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), crashVariable+"="+path)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(out)
	for n := 0; ; n++ {
		if n == lines {
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		if !s.Scan() {
			break // what it said until it died counts
		}
		var what string
		var w int
		var n int64
		if strings.HasPrefix(s.Text(), "error") {
			t.Error(s.Text())
		} else if k, _ := fmt.Sscanf(s.Text(), "%s %d %d", &what, &w, &n); k == 3 {
			answered[fmt.Sprint(what, w)] = n
		}
	}
	_ = c.Wait() // it was killed
}

func checkKilled(t *testing.T, path string, answered map[string]int64) {
	t.Helper()
	l, err := sqlledger.OpenSQLite(context.Background(), path, sqlledger.Options{})
	if err != nil {
		t.Fatalf("after the kill: %v", err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	groups, _, err := l.Find(context.Background(), ledger.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		w := strings.TrimPrefix(string(g.ID), "g")
		total, settled := g.Total, g.Counts.Skipped
		if total < answered["total"+w] || settled < answered["settled"+w] {
			t.Errorf("%s has %d rows and %d outcomes, answered were %d and %d", g.ID, total, settled, answered["total"+w], answered["settled"+w])
		}
		if total%crashUnit != 0 || settled%(2*crashUnit) != 0 || g.Counts.Checkpoint != settled {
			t.Errorf("%s has half of a call: %d rows, %d outcomes, checkpoint %d", g.ID, total, settled, g.Counts.Checkpoint)
		}
		checkRecords(t, l, g)
	}
	if len(groups)*2 < len(answered) {
		t.Errorf("%d groups, answered was %v", len(groups), answered)
	}
}

// checkRecords compares every job with what was written, and the sums with them.
func checkRecords(t *testing.T, l *sqlledger.Ledger, g ledger.Group) {
	t.Helper()
	var skipped, read int64
	for q := (ledger.JobQuery{Group: g.ID, Data: true}); ; {
		jobs, next, err := l.Read(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			if want := fmt.Sprintf(`{"row":%d}`, j.Index); string(j.Data) != want {
				t.Fatalf("%s: job %d has data %s", g.ID, j.Index, j.Data)
			}
			if j.Done {
				skipped++
				if want := fmt.Sprint("chunk ", spillway.ChunkOf(j.Index)); j.Reason != want {
					t.Fatalf("%s: job %d has reason %q", g.ID, j.Index, j.Reason)
				}
			}
			read++
		}
		if q.From = next; next == 0 {
			break
		}
	}
	if skipped != g.Counts.Skipped || read != g.Total {
		t.Errorf("%s: counts %d of %d, recounted %d of %d", g.ID, g.Counts.Skipped, g.Total, skipped, read)
	}
}
