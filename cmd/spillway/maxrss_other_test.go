//go:build !linux

package main

// maxrssUnit is what Rusage.Maxrss counts in: bytes on darwin.
const maxrssUnit = 1
