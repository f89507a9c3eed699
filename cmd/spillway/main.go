// Command spillway runs bulk work: one command for one file (run), a server
// for many tenants (serve), and the verbs that look after both.
//
// Exit codes: 0 done; 1 finished, but some jobs failed or are in doubt; 2
// usage or bad input, nothing was started; 3 interrupted, the same command
// goes on; 4 could not reach or open what it needs.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr))
}
