// Package ledgertest is the conformance suite of ledger.Ledger: what every
// driver must do, as tests. A driver's own test is a few lines:
//
//	func TestConformance(t *testing.T) {
//		ledgertest.Run(t, func(t *testing.T) ledgertest.Store { … })
//	}
//
// It holds a test per method, one per rule of merging outcomes, the races that
// the rules answer, and a random comparison with a naive model in memory. The
// counts that the ledger reports are compared with a recount of its jobs after
// each step. Nothing in it depends on the speed of the machine.
package ledgertest
