package sim

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

var update = flag.Bool("update", false, "write golden files and docs/charts")

func run(t *testing.T, s Scenario) *Result {
	t.Helper()
	r, err := Run(s)
	if err != nil {
		t.Fatalf("seed %d: %v", s.Seed, err)
	}
	return r
}

// golden compares text with testdata/name.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (write it with -update)", err)
	}
	if string(want) != got {
		t.Errorf("%s differs (-update accepts it):\n%s\nwant:\n%s", path, got, want)
	}
}

// atMost and atLeast print a figure beside its bound and compare them.
func atMost(t *testing.T, what string, got, bound float64) {
	t.Helper()
	t.Logf("%-64s %10.4f  at most  %g", what, got, bound)
	if !(got <= bound) {
		t.Errorf("%s is %.4f, more than %g", what, got, bound)
	}
}

func atLeast(t *testing.T, what string, got, bound float64) {
	t.Helper()
	t.Logf("%-64s %10.4f  at least %g", what, got, bound)
	if !(got >= bound) {
		t.Errorf("%s is %.4f, less than %g", what, got, bound)
	}
}

func perSecond(n int64) flow.Rate { return flow.Rate{N: n, Per: time.Second} }

// settings of one resource "r" and one action "a".
func settings(rate flow.Rate, batch int64, order queue.Order) queue.Settings {
	return queue.Settings{
		Resources: []queue.Resource{{Name: "r", Rate: rate}},
		Actions:   []queue.Action{{Name: "a", Batch: batch, Order: order}},
	}
}

func tenant(i int) spillway.TenantID { return spillway.TenantID(fmt.Sprintf("t%02d", i)) }
func groupID(i int) spillway.GroupID { return spillway.GroupID(fmt.Sprintf("g%06d", i)) }

func sortGrants(g []Grant) {
	slices.SortStableFunc(g, func(a, b Grant) int { return cmp.Compare(a.At, b.At) })
}

// failSome lets one delivery in ten fail.
func failSome(r *rand.Rand, _ queue.Lease, _ int64) bool { return r.IntN(10) == 0 }
