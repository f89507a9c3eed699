// Package archtest holds the rules of the layers as a test: which package may
// import which, and why. Run it with -count=1: what it reads is the source,
// which the test cache does not see.
package archtest
