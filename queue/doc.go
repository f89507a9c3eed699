// Package queue is the hot seam: the contract of the index that decides
// quickly what runs next. Drivers live below it (memqueue, redisqueue), and
// queuetest holds the one suite that each of them passes.
//
// What it guarantees: a group is a range, so the state per group is constant
// in its size; a lease is granted together with the capacity it needs, so no
// worker ever puts work back for lack of it; and the queue can be lost at any
// time, because the ledger holds the truth and Put rebuilds the index.
//
// What it does not: it records no outcome and holds no payload. Any staleness
// of the queue may cost work, never truth.
package queue
