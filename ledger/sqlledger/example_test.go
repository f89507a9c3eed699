package sqlledger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/ledger/sqlledger"
)

// A group's rows go in, outcomes follow, and the counts are there at any time.
func ExampleOpenSQLite() {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, now := context.Background(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l, err := sqlledger.OpenSQLite(ctx, filepath.Join(dir, "spillway.db"), sqlledger.Options{})
	if err != nil {
		panic(err)
	}
	defer l.Close()

	var rows ledger.Rows
	for _, name := range []string{"ann", "ben", "cleo"} {
		rows.Add(fmt.Appendf(nil, "%q", name), 1)
	}
	_, _ = l.Create(ctx, now, []ledger.NewGroup{{ID: "g1", Tenant: "acme", Action: "greet", Resource: "mail"}})
	_, _ = l.Append(ctx, now, []ledger.Append{{Group: "g1", Rows: rows}})
	_, _ = l.Settle(ctx, now, []ledger.Settlement{{Group: "g1", Outcomes: []ledger.Outcome{
		{Jobs: spillway.Of(0, 2)},
		{Jobs: spillway.Of(1), Status: spillway.Failed, Reason: "no such mailbox"},
	}}})
	groups, _, _ := l.Find(ctx, ledger.Filter{Tenant: "acme"})
	failed, _, _ := l.Read(ctx, ledger.JobQuery{Group: "g1", Statuses: []spillway.Status{spillway.Failed}, Data: true})
	fmt.Println(groups[0].State, groups[0].Counts.Succeeded, "of", groups[0].Total)
	fmt.Printf("%s: %s\n", failed[0].Data, failed[0].Reason)
	// Output:
	// receiving 2 of 3
	// "ben": no such mailbox
}
