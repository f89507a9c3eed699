package ledgertest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// SeedVariable names the environment variable that repeats one random run.
const SeedVariable = "LEDGERTEST_SEED"

// steps is the number of operations in a run.
const steps = 120

// runRandom makes random calls and compares every answer, and what is then in
// the ledger, with the model's.
func runRandom(t *testing.T, store func(t *testing.T) Store) {
	seeds := []uint64{1, 2, 3, rand.Uint64()}
	if s := os.Getenv(SeedVariable); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", SeedVariable, err)
		}
		seeds = []uint64{seed}
	}
	for i, seed := range seeds {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) {
			t.Parallel()
			r := &random{
				bench: &bench{T: t, store: store(t), now: epoch},
				Rand:  rand.New(rand.NewPCG(seed, 0)), m: newModel(),
			}
			r.open()
			t.Cleanup(r.close)
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("%s=%d\n%s", SeedVariable, seed, strings.Join(r.script, "\n"))
				}
			})
			for range steps {
				r.step()
			}
		})
	}
}

// random is one run.
type random struct {
	*bench
	*rand.Rand
	m      *model
	ids    []spillway.GroupID
	made   int
	script []string
}

// did notes an operation in the script, before it is done.
func (r *random) did(format string, args ...any) {
	r.script = append(r.script, fmt.Sprintf(format, args...))
}

func (r *random) step() {
	r.Helper()
	r.now = r.now.Add(time.Duration(r.IntN(5000)) * time.Millisecond)
	if len(r.ids) == 0 || r.IntN(40) == 0 && len(r.ids) < 4 {
		r.stepCreate()
		return
	}
	id := r.ids[r.IntN(len(r.ids))]
	g := r.m.groups[id]
	switch n := r.IntN(100); {
	case n < 22:
		r.stepAppend(g)
	case n < 57:
		r.stepSettle(g)
	case n < 72:
		r.stepVerify(g)
	case n < 85:
		r.stepChange(g)
	case n < 90:
		r.stepComplete(g)
	case n < 93:
		r.stepAdopt(g)
	case n < 96:
		r.did("reopen")
		r.reopen()
	case n < 97:
		r.stepErase(g)
		return
	default:
		r.stepWaiting(g)
	}
	r.compare(g)
}

// jobs is a random set of jobs of a random chunk.
func (r *random) jobs(g *modelGroup) (chunk int64, jobs spillway.Spans) {
	chunks := max(1, (g.Total+spillway.ChunkSize-1)/spillway.ChunkSize)
	chunk = r.Int64N(chunks)
	from := chunk * spillway.ChunkSize
	end := min(from+spillway.ChunkSize, g.Total+2)
	if r.IntN(4) == 0 {
		return chunk, spillway.One(from, max(from+1, end))
	}
	for range 1 + r.IntN(4) {
		at := from + r.Int64N(max(1, end-from))
		jobs = jobs.Union(spillway.One(at, min(at+1+r.Int64N(200), from+spillway.ChunkSize)))
	}
	return chunk, jobs
}

// compare compares all that the ledger says of a group with the model.
func (r *random) compare(g *modelGroup) {
	r.Helper()
	want := g.Group
	want.Counts = g.counts()
	r.same("group", r.find(g.ID), want)

	records := r.all(ledger.JobQuery{Group: g.ID, Data: true, Limit: 1 + r.IntN(2000)})
	if int64(len(records)) != g.Total {
		r.Fatalf("read %d jobs of %d", len(records), g.Total)
	}
	for i := range records {
		j := g.jobs[i].JobRecord
		j.Index, j.Data = int64(i), []byte(g.jobs[i].data)
		if !slices.Equal(records[i].Data, j.Data) || records[i].Index != j.Index || !records[i].NotBefore.Equal(j.NotBefore) ||
			records[i].Done != j.Done || records[i].Status != j.Status || records[i].Reason != j.Reason ||
			records[i].Attempt != j.Attempt || string(records[i].Value) != string(j.Value) {
			r.Fatalf("job %d: got %+v, want %+v", i, records[i], j)
		}
	}
	r.compareIndex(g)
}

func (r *random) compareIndex(g *modelGroup) {
	r.Helper()
	out, err := r.l.Index(r.ctx(), r.now, ledger.IndexQuery{IDs: []spillway.GroupID{g.ID}})
	r.ok(err)
	if !g.Finished.IsZero() {
		if len(out) != 0 {
			r.Fatalf("an ended group in the index: %+v", out)
		}
		return
	}
	want := ledger.Indexed{Group: g.Group, Next: g.next()}
	want.Group.Counts = g.counts()
	for i := range g.jobs {
		if j := &g.jobs[i]; j.waiting() {
			want.Waiting++
			if want.WaitingDue.IsZero() || j.NotBefore.Before(want.WaitingDue) {
				want.WaitingDue = j.NotBefore
			}
		}
	}
	r.same("index", out, []ledger.Indexed{want})
}
