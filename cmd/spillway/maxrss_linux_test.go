package main

// maxrssUnit is what Rusage.Maxrss counts in: kibibytes.
const maxrssUnit = 1 << 10
