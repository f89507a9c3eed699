package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/spillway/spillway"
)

// Bounds of a tally: beyond them reasons are counted by their pattern, and
// then together.
const (
	tallyExact  = 200
	tallyShown  = 20 // more different reasons than these are shown by pattern
	tallyReason = 200
)

// tally counts reasons in bounded memory. Reasons that differ in numbers only
// are one once there are many.
type tally struct {
	mu struct {
		sync.Mutex
		exact, patterns map[string]int64
	}
}

// reasonCount is how often a reason was given.
type reasonCount struct {
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

var digits = regexp.MustCompile(`[0-9]+`)

func (t *tally) add(reason string, n int64) {
	reason = shorten(cmp.Or(reason, "no reason given"), tallyReason)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.exact == nil {
		t.mu.exact, t.mu.patterns = map[string]int64{}, map[string]int64{}
	}
	if _, known := t.mu.exact[reason]; known || len(t.mu.exact) < tallyExact {
		t.mu.exact[reason] += n
		return
	}
	pattern := digits.ReplaceAllString(reason, "#")
	if _, known := t.mu.patterns[pattern]; !known && len(t.mu.patterns) >= tallyExact {
		pattern = "other reasons"
	}
	t.mu.patterns[pattern] += n
}

// top is the most frequent reasons, at most n.
func (t *tally) top(n int) []reasonCount {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := map[string]int64{}
	fold := len(t.mu.exact) > tallyShown
	for r, c := range t.mu.exact {
		if fold {
			r = digits.ReplaceAllString(r, "#")
		}
		counts[r] += c
	}
	for r, c := range t.mu.patterns {
		counts[r] += c
	}
	out := make([]reasonCount, 0, len(counts))
	for r, c := range counts {
		out = append(out, reasonCount{r, c})
	}
	slices.SortFunc(out, func(a, b reasonCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	return out[:min(n, len(out))]
}

// outcomes counts what went wrong among outcomes.
func (t *tally) outcomes(out []spillway.Outcome) {
	for _, o := range out {
		if o.Status != spillway.OK {
			t.add(cmp.Or(o.Error, o.Status.String()), 1)
		}
	}
}

func (r reasonCount) String() string {
	return fmt.Sprintf("%s× %s", count(r.Count), printable(r.Reason))
}
