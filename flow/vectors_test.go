package flow_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spillway/spillway/flow"
)

var update = flag.Bool("update", false, "write what is computed into testdata")

// TestVectors runs the scripts in testdata; each file explains its commands.
func TestVectors(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt") // charts are *.golden
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(text), "\n")
			s := script{flows: map[string]float64{}}
			for i, line := range lines {
				command, want, _ := strings.Cut(line, "->")
				fields := strings.Fields(command)
				if len(fields) == 0 || fields[0] == "#" {
					continue
				}
				got, err := s.run(fields)
				if err != nil {
					t.Fatalf("%s:%d: %v", file, i+1, err)
				}
				if want = strings.TrimSpace(want); got == want {
					continue
				}
				if lines[i] = strings.TrimSpace(command) + " -> " + got; !*update {
					t.Errorf("%s:%d: %s; the file says %s", file, i+1, lines[i], want)
				}
			}
			if *update {
				if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// script is the state that a file of vectors works on.
type script struct {
	limiter flow.Limiter
	rate    flow.Rate
	fair    flow.Fair
	flows   map[string]float64
}

func (s *script) run(f []string) (string, error) {
	a := args{fields: f[1:]}
	out := ""
	switch f[0] {
	case "limiter":
		s.limiter = map[string]flow.Limiter{"sliding": &flow.Sliding{}, "window": &flow.Window{}}[a.word()]
	case "rate":
		s.rate = a.rate()
	case "start":
		s.limiter.StartSpent(s.rate, a.time())
	case "take":
		now := a.time()
		d := s.limiter.Take(s.rate, now, a.int())
		if out = fmt.Sprintf("granted, %d left", d.Remaining); !d.Granted {
			out = fmt.Sprintf("%s, %d left", millis(d.At), d.Remaining)
		}
	case "when":
		now := a.time()
		out = millis(s.limiter.When(s.rate, now, a.int()))
	case "fit":
		now := a.time()
		size, at := s.limiter.Fit(s.rate, now, a.int())
		out = fmt.Sprintf("%d at %s", size, millis(at))
	case "refund":
		stamp := a.time()
		s.limiter.Refund(s.rate, stamp, a.int())
	case "spent":
		out = fmt.Sprint(s.limiter.Spent(s.rate, a.time()))
	case "stagger":
		out = millis(flow.Stagger(0, a.int(), s.rate))
	case "run":
		out = fmt.Sprint(flow.StaggerRun(a.int(), s.rate))
	case "join":
		name := a.word()
		s.flows[name] = s.fair.Join(s.flows[name])
		out = number(s.flows[name])
	case "charge":
		name, cost := a.word(), a.int()
		s.flows[name] = s.fair.Charge(s.flows[name], cost, a.float())
		out = number(s.flows[name])
	case "forgets":
		out = fmt.Sprint(s.fair.Forgets(s.flows[a.word()]))
	case "score":
		p := flow.Priority{Submitted: a.time(), Config: time.Duration(a.int()) * time.Second}
		p.Remaining, p.Sealed = a.int(), a.word() == "sealed"
		out = number(p.Score())
	case "weight":
		out = number(flow.EvenWeight(time.Duration(a.int()) * time.Second))
	default:
		return "", fmt.Errorf("unknown command %q", f[0])
	}
	if a.err == nil && len(a.fields) > 0 {
		a.err = fmt.Errorf("too many words: %q", a.fields)
	}
	return out, a.err
}

// millis writes a time as milliseconds, exact to the microsecond.
func millis(t flow.Time) string {
	if t == flow.Never {
		return "never"
	}
	return number(float64(t)/1000) + "ms"
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// args reads words and keeps the first error.
type args struct {
	fields []string
	err    error
}

func (a *args) word() string {
	if len(a.fields) == 0 {
		a.fail(fmt.Errorf("too few words"))
		return ""
	}
	w := a.fields[0]
	a.fields = a.fields[1:]
	return w
}

func (a *args) fail(err error) {
	if err != nil && a.err == nil {
		a.err = err
	}
}

func (a *args) int() int64 {
	n, err := strconv.ParseInt(a.word(), 10, 64)
	a.fail(err)
	return n
}

func (a *args) float() float64 {
	x, err := strconv.ParseFloat(a.word(), 64)
	a.fail(err)
	return x
}

func (a *args) time() flow.Time {
	d, err := time.ParseDuration(a.word())
	a.fail(err)
	return flow.Time(d / time.Microsecond)
}

func (a *args) rate() flow.Rate {
	r, err := flow.ParseRate(strings.TrimSuffix(a.word(), "unlimited"))
	a.fail(err)
	return r
}
