package sqlledger_test

import (
	"context"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/ledger/ledgertest"
	"github.com/spillway/spillway/ledger/sqlledger"
)

func TestMain(m *testing.M) {
	if crashing() {
		return
	}
	goleak.VerifyTestMain(m)
}

func store(o sqlledger.Options) func(t *testing.T) ledgertest.Store {
	return func(t *testing.T) ledgertest.Store {
		path := filepath.Join(t.TempDir(), "ledger.db")
		return ledgertest.Store{Open: func() (ledger.Ledger, error) {
			return sqlledger.OpenSQLite(context.Background(), path, o)
		}}
	}
}

func TestConformance(t *testing.T) {
	ledgertest.Run(t, store(sqlledger.Options{}))
}

// Without a cache every row comes from the file.
func TestConformanceUncached(t *testing.T) {
	ledgertest.Run(t, store(sqlledger.Options{CacheBytes: -1}))
}
