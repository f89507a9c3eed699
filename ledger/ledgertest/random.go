package ledgertest

import "testing"

func runRandom(t *testing.T, store func(t *testing.T) Store) {}
