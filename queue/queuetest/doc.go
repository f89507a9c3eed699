// Package queuetest is the one suite that every driver of package queue
// passes.
//
// A driver's test is a call of Run with a function that opens an empty queue.
// The suite holds three kinds of tests: cases, one small story per rule of the
// contract and per interleaving that the design guards against; fairness over
// thousands of grants; and a random model, in which callers claim, run, settle,
// lose answers and die at any point while groups and settings change. What the
// model checks after every step is what users care about: no job in two leases
// at once, none lost, no rate or bound exceeded in any window, every wake-up
// on time and none in vain.
//
// Time is an argument of every call, so nothing here sleeps or depends on how
// fast the machine is.
package queuetest

import (
	"testing"
	"time"

	"github.com/spillway/spillway/queue"
)

// Options are what a case needs of the queue that it is given.
type Options struct {
	// Epoch is when the index began; the zero time is long ago.
	Epoch time.Time
	// Fresh says that the ledger was empty at the epoch.
	Fresh bool
}

// Open returns an empty queue for one test and sees to its end.
type Open func(t *testing.T, o Options) queue.Queue

// Difference is a case that a driver does not pass, and why that is right.
type Difference struct {
	Case   string // as the test is named below Run: "claim/..."
	Reason string
}

// Run tests a driver. Differences are skipped with their reason; one that names
// no case fails.
func Run(t *testing.T, open func(t *testing.T, o Options) queue.Queue, differences ...Difference) {
	skips := map[string]string{}
	for _, d := range differences {
		skips[d.Case] = d.Reason
	}
	for _, c := range allCases() {
		reason, skip := skips[c.name]
		delete(skips, c.name)
		t.Run(c.name, func(t *testing.T) {
			if skip {
				t.Skipf("declared difference: %s", reason)
			}
			c.run(newWorld(t, open(t, c.options), c.options))
		})
	}
	for name := range skips {
		t.Errorf("a difference is declared for %q, which is no case", name)
	}
	t.Run("model", func(t *testing.T) { runModel(t, open) })
}

// testCase is a story about one rule.
type testCase struct {
	name    string
	options Options
	run     func(w *world)
}

func allCases() []testCase {
	var all []testCase
	for _, part := range [][]testCase{
		groupCases, claimCases, sizeCases, settleCases, retryCases, feedCases, leaseCases,
		rateCases, parentCases, breakerCases, orderCases, fairCases, crewCases, unusedCases, wakeCases, statsCases,
	} {
		all = append(all, part...)
	}
	return all
}
