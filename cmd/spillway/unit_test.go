package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/flow"
)

func TestShellLine(t *testing.T) {
	argv := withFlag([]string{"spillway", "run", "--exec", "it's $HOME", "--csv", "in.csv"}, "run", "--key", "k1")
	const want = `spillway run --key k1 --exec 'it'\''s $HOME' --csv in.csv`
	if got := shellLine(argv); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := withFlag(argv, "run", "--key", "k2"); !slices.Equal(got, argv) {
		t.Errorf("a second key was added: %v", got)
	}
}

func TestTally(t *testing.T) {
	var few, many tally
	few.add("row 1", 2)
	few.add("row 2", 1)
	if got := fmt.Sprint(few.top(5)); got != "[2× row 1 1× row 2]" {
		t.Errorf("few reasons: %s", got)
	}
	for i := range 1000 {
		many.add(fmt.Sprintf("row %d is bad", i), 1)
	}
	many.add("refused", 5)
	if got := fmt.Sprint(many.top(1)); got != "[1,000× row # is bad]" {
		t.Errorf("many reasons: %s", got)
	}
	if n := len(many.mu.exact) + len(many.mu.patterns); n > 2*tallyExact+1 {
		t.Errorf("%d reasons are kept", n)
	}
}

func TestExitCodes(t *testing.T) {
	for err, want := range map[error]int{
		nil:                                      exitDone,
		usagef("x"):                              exitUsage,
		fmt.Errorf("a: %w", unreachablef("x")):   exitUnreachable,
		spillway.Errorf(spillway.CodeState, "x"): exitUsage,
		spillway.Errorf(spillway.CodeUnavailable, "x"): exitUnreachable,
		errors.New("x"): exitUnreachable,
	} {
		if got := exitCode(err); got != want {
			t.Errorf("%v: exit %d, want %d", err, got, want)
		}
	}
}

func TestStall(t *testing.T) {
	now := time.Unix(0, 0)
	broken := errors.New("disk full")
	var s stall
	for _, step := range []struct {
		after time.Duration
		final int64
		err   error
		stuck bool
	}{
		{0, 1, nil, false},
		{time.Second, 1, broken, false},
		{stuckAfter, 1, broken, true},
		{stuckAfter, 2, broken, false},
		{stuckAfter, 2, nil, false},
		{stuckAfter / 2, 2, broken, false},
		{stuckAfter - time.Second, 2, nil, false},
		{calmAfter, 2, broken, false},
		{stuckAfter - 2*time.Second, 2, broken, false},
		{2 * time.Second, 2, nil, true},
	} {
		now = now.Add(step.after)
		if got := s.stuck(now, step.final, step.err, nil) != nil; got != step.stuck {
			t.Errorf("at %v, %d final, %v: stuck is %v", now.Unix(), step.final, step.err, got)
		}
	}
}

// A time left is told once it can be known, and never below what the group's
// own rate allows.
func TestTimeLeft(t *testing.T) {
	rate := func(n int64, per time.Duration) flow.Rate { return flow.Rate{N: n, Per: per} }
	steady := func(perSecond int64) func(s float64) int64 {
		return func(s float64) int64 { return int64(s * float64(perSecond)) }
	}
	for name, c := range map[string]struct {
		done  func(s float64) int64
		own   flow.Rate
		after float64 // seconds
		want  float64 // seconds for 10,000 jobs; 0: unknown
	}{
		"too early":                    {steady(100), flow.Rate{}, 1, 0},
		"measured":                     {steady(100), flow.Rate{}, 5, 100},
		"one batch says nothing":       {func(s float64) int64 { return 100 * int64(s/4) }, flow.Rate{}, 5, 0},
		"rare batches: the whole run":  {func(s float64) int64 { return 100 * int64(s/8) }, flow.Rate{}, 80, 800},
		"a first spurt under a rate":   {func(s float64) int64 { return min(1000, steady(300)(s)) }, rate(1000, time.Minute), 3, 600},
		"slower than the rate":         {steady(100), rate(1000, time.Second), 5, 100},
		"the rate, too early to tell":  {steady(0), rate(1000, time.Second), 1, 0},
		"a rate too slow to measure":   {steady(0), rate(10, time.Hour), 5, 3_600_000},
		"nothing done under that rate": {steady(0), rate(10, time.Second), 5, 0},
	} {
		var m meter
		began := time.Unix(0, 0)
		for s := 0.0; s <= c.after; s += 0.25 {
			m.rate(began.Add(time.Duration(s*float64(time.Second))), c.done(s))
		}
		got, known := m.left(10_000, c.own)
		if known != (c.want > 0) || known && (got < c.want*0.99 || got > c.want*1.01) {
			t.Errorf("%s: %v s, known %v; want %v s", name, got, known, c.want)
		}
	}
}

func TestPrintable(t *testing.T) {
	if got := printable("a\x1b[31mb\nc\u009b"); strings.ContainsAny(got, "\x1b\n\u009b") {
		t.Errorf("%q steers the terminal", got)
	}
}

func TestFailuresKeepTheirFields(t *testing.T) {
	read := func() jobs {
		return func(yield func(bulk.JobView, error) bool) {
			_ = yield(bulk.JobView{Index: 3, Status: "failed", Error: "no", Data: []byte(`{"b":"x,y","error":1}`)}, nil) &&
				yield(bulk.JobView{Index: 4, Status: "in_doubt", Data: []byte(`{"a":null,"b":[1]}`)}, nil) &&
				yield(bulk.JobView{Index: 5, Status: "failed", Data: []byte(`7`)}, nil)
		}
	}
	var b strings.Builder
	if err := writeJobs(&b, read); err != nil {
		t.Fatal(err)
	}
	const want = "b,error,a,data,index,status,spillway_error\n\"x,y\",1,,,3,failed,no\n[1],,null,,4,in_doubt,\n,,,7,5,failed,\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// trickle yields rows only when it is told to.
type trickle chan string

func (t trickle) Read(p []byte) (int, error) {
	s, ok := <-t
	if !ok {
		return 0, io.EOF
	}
	return copy(p, s), nil
}

func TestReadAheadDoesNotWaitForTheEnd(t *testing.T) {
	in := make(trickle)
	go func() { in <- "id\n1\n" }()
	a, err := readAhead(&input{name: "in", csv: true, r: in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	row, err := a.Next()
	if err != nil || string(row.Data) != `{"id":"1"}` {
		t.Fatalf("first row %s, %v", row.Data, err)
	}
	go func() { in <- "2\n"; close(in) }()
	if row, err = a.Next(); err != nil || string(row.Data) != `{"id":"2"}` {
		t.Fatalf("second row %s, %v", row.Data, err)
	}
	if _, err = a.Next(); !errors.Is(err, io.EOF) {
		t.Fatalf("end: %v", err)
	}
}
