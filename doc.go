// Package spillway is the vocabulary that every part of Spillway shares: the
// identifiers, the job and its outcome, sets of jobs, group states, and the
// one error type with its stable codes.
//
// It imports the standard library only and holds no behaviour beyond its own
// values; package bulk is the engine that users embed.
package spillway
