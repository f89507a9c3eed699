// Package flow holds the algorithms that decide what runs when. Each is
// (parameters, state, now, input) → (state, decision) with a small state; none
// reads a clock, locks, or starts a goroutine. So the same code runs in the
// queue, in the guard, in the simulator, and as the oracle for its twin in Lua,
// and hours of behaviour are tested in milliseconds.
//
//	algorithm  question it answers                  state           cost             source
//	Sliding    may n tokens go now, or when?        ≤ 100 slots     O(1) amortised,  sliding-window log; GCRA
//	           (bound holds in any interval)                        ≤ 100 steps      (ITU-T I.371)
//	Window     the same, in fixed windows           2 numbers       O(1)             the fixed-window counter
//	Fair       whose turn is it?                    1 number,       O(1) a grant     Goyal, Vin, Cheng,
//	                                                1 per flow                       SIGCOMM 1996
//	Jain       how equal are these shares?          none            O(n)             Jain, Chiu, Hawe,
//	                                                                                 DEC-TR-301, 1984
//	Priority   which of one tenant's groups first?  none            O(1)             shortest job first, aged
//	Stagger    when does a waiter come back?        its rank        O(1)             place in line ÷ rate
//	Backoff    how long until the next attempt?     attempt, seed   O(1)             Brooker, AWS 2015;
//	                                                                                 SplitMix64
//
// When not to use it: from several goroutines without a lock of your own, or
// with clocks that disagree; give all calls that share a state one clock.
package flow
