// Command embed runs the bulk engine inside a program: it tags a thousand
// customers at 500 a second and prints how many got which tag.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/source"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/ledger/sqlledger"
	"github.com/spillway/spillway/queue/memqueue"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	store := must(sqlledger.OpenSQLite(ctx, filepath.Join(must(os.MkdirTemp("", "embed")), "spillway.db"), sqlledger.Options{}))
	engine := must(bulk.New(ctx, bulk.Config{
		Ledger: store, Queue: memqueue.New(memqueue.Options{Fresh: true}),
		Resources: []bulk.ResourceRule{{Name: "customers", Rate: must(flow.ParseRate("500/s"))}},
	}))
	must(0, engine.Handle("tag", bulk.Action{Resource: "customers", Batch: 50, Reducer: bulk.GroupBy("")}, tag))
	changes, _ := engine.Subscribe()
	ended := make(chan error)
	go func() { ended <- engine.Run(ctx, nil) }()
	csv := strings.NewReader("plan\n" + strings.Repeat("free\npro\nfree\nfree\n", 250))
	_, _, err := engine.Submit(ctx, bulk.Submission{Action: "tag"}, must(source.CSV(csv, source.Options{})))
	must(0, err)
	for change := range changes {
		if g := change.Group; g != nil && g.State == spillway.Completed {
			fmt.Printf("%d of %d succeeded: %s\n", g.Succeeded, g.Total, g.Result)
			break
		}
	}
	stop()
	must(0, <-ended)
	must(0, store.Close())
}

// tag is the handler; a job's data is the row: {"plan":"free"}.
func tag(_ context.Context, b *bulk.Batch) (out []spillway.Outcome, _ error) {
	for _, job := range b.Jobs {
		value := strings.TrimSuffix(strings.TrimPrefix(string(job.Data), `{"plan":`), `}`)
		out = append(out, spillway.Outcome{Index: job.Index, Value: []byte(value)})
	}
	return out, nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
