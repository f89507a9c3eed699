package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spillway/spillway/bulk"
)

type groupsFailuresCmd struct {
	oneGroup
	CSV string `name:"csv" help:"Write them to this file as CSV, with the original fields; - is standard output." placeholder:"FILE" env:"-"`
}

func (groupsFailuresCmd) Help() string {
	return "Example:\n\n    spillway groups failures g_01hzx… --csv failed.csv --db spillway.db\n"
}

func (c *groupsFailuresCmd) Run(a *app) error {
	return c.with(a, reading, func(ctx context.Context, o operator) error {
		read := func() jobs { return o.Failures(ctx, c.id(), 0) }
		switch c.CSV {
		case "":
			return a.listJobs(read(), "ERROR", func(j bulk.JobView) string { return j.Error })
		case "-":
			return writeJobs(a.stdout, read)
		}
		f, err := newFailuresFile(c.CSV)
		if err != nil {
			return usagef("--csv: %w", err)
		}
		defer f.discard()
		return f.write(read)
	})
}

type groupsResultsCmd struct{ oneGroup }

func (groupsResultsCmd) Help() string { return groupExample("results") }

func (c *groupsResultsCmd) Run(a *app) error {
	return c.with(a, reading, func(ctx context.Context, o operator) error {
		return a.listJobs(o.Results(ctx, c.id(), 0), "VALUE", func(j bulk.JobView) string { return string(j.Value) })
	})
}

// tableRows is how many rows are aligned with each other: a table is written
// as it is read.
const tableRows = 100

// listJobs writes jobs as they are read.
func (a *app) listJobs(read jobs, column string, value func(bulk.JobView) string) error {
	w := tabwriter.NewWriter(a.stdout, 8, 0, 2, ' ', 0)
	n := 0
	for j, err := range read {
		if err != nil {
			return err
		}
		if a.json {
			if err := a.emit(j); err != nil {
				return err
			}
			continue
		}
		if n == 0 {
			fmt.Fprintf(w, "INDEX\tSTATUS\tATTEMPT\t%s\tDATA\n", column)
		}
		_, err := fmt.Fprintf(w, "%d\t%s\t%d\t%s\t%s\n", j.Index, j.Status, j.Attempt,
			shorten(printable(value(j)), 100), shorten(printable(string(j.Data)), 100))
		if n++; n%tableRows == 0 && err == nil {
			err = w.Flush()
		}
		if err != nil {
			return err
		}
	}
	return w.Flush()
}
