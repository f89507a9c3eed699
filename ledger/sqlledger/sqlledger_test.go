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

func TestConformance(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledgertest.Store {
		path := filepath.Join(t.TempDir(), "ledger.db")
		return ledgertest.Store{Open: func() (ledger.Ledger, error) {
			return sqlledger.OpenSQLite(context.Background(), path, sqlledger.Options{})
		}}
	})
}
