package bulk_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/bulktest"
)

// wide is rows of about 100 bytes.
type wide struct {
	i, n int
	buf  []byte
}

func (s *wide) Next() (bulk.Row, error) {
	if s.i == s.n {
		return bulk.Row{}, io.EOF
	}
	s.buf = fmt.Appendf(s.buf[:0], `{"id":"%d","name":"Customer %d","email":"customer%d@example.com","city":"Springfield","plan":"pro"}`, s.i, s.i, s.i)
	s.i++
	return bulk.Row{Data: s.buf}, nil
}

// BenchmarkNoop measures jobs from submit to completed with a Go handler that
// does nothing: b.N million-job groups, reported as jobs/s.
func BenchmarkNoop(b *testing.B) {
	const jobs = 1_000_000
	for _, batch := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			jobs := min(jobs, batch*20_000)
			e := bulktest.New(b, bulk.Config{AllWorkers: true})
			e.Handle("noop", bulk.Action{Batch: batch}, func(context.Context, *bulk.Batch) ([]spillway.Outcome, error) { return nil, nil })
			e.Start()
			start := time.Now()
			for range b.N {
				g := e.Submit(bulk.Submission{Action: "noop"}, &wide{n: jobs})
				for g.State != spillway.Completed {
					time.Sleep(time.Millisecond)
					var err error
					if g, err = e.Group(context.Background(), g.ID); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.N*jobs)/time.Since(start).Seconds(), "jobs/s")
		})
	}
}
