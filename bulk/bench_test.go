package bulk_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/bulktest"
	"github.com/spillway/spillway/bulk/command"
	"github.com/spillway/spillway/bulk/post"
	"github.com/spillway/spillway/bulk/source"
)

// The benchmarks run the whole engine on a SQLite file with durable settings.
// Each b.N is one group; the figure is the group's jobs per second, from the
// submission to the completion.

// customers is a CSV of rows of about 100 bytes that do not compress too well.
func customers(rows int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteString("id,name,email,phone,city,plan,spent\n")
	first := []string{"Ana", "Björn", "Chiara", "Dmitri", "Eun-ji", "Fatima", "Giulia", "Hiroshi"}
	city := []string{"Seoul", "São Paulo", "Zürich", "Lagos", "Springfield", "Kraków", "Hanoi"}
	for i := range rows {
		fmt.Fprintf(&b, "%d,%s %08x,%x@example.com,+82%010d,%s,%s,%d.%02d\n", i, first[r.IntN(len(first))], r.Uint32(),
			r.Uint64(), r.IntN(1e9), city[r.IntN(len(city))], []string{"free", "pro", "team"}[r.IntN(3)], r.IntN(10_000), r.IntN(100))
	}
	return b.Bytes()
}

func rows(b *testing.B, csv []byte) bulk.Source {
	b.Helper()
	s, err := source.CSV(bytes.NewReader(csv), source.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// benchGroups measures groups of an action from submit to completed.
func benchGroups(b *testing.B, jobs int, a bulk.Action, h bulk.Handler) {
	csv := customers(jobs)
	e := bulktest.New(b, bulk.Config{AllWorkers: true})
	e.Handle("bench", a, h)
	e.Start()
	b.SetBytes(int64(len(csv)))
	b.ResetTimer()
	for range b.N {
		g := e.Submit(bulk.Submission{Action: "bench"}, rows(b, csv))
		for g.State != spillway.Completed {
			time.Sleep(time.Millisecond)
			var err error
			if g, err = e.Group(context.Background(), g.ID); err != nil {
				b.Fatal(err)
			}
		}
		if g.Succeeded != int64(jobs) {
			b.Fatalf("got %+v", g)
		}
	}
	b.ReportMetric(float64(b.N*jobs)/b.Elapsed().Seconds(), "jobs/s")
}

func BenchmarkNoop(b *testing.B) {
	for _, x := range []struct{ batch, jobs int }{{1, 20_000}, {100, 500_000}, {1000, 1_000_000}} {
		b.Run(fmt.Sprintf("batch=%d", x.batch), func(b *testing.B) {
			benchGroups(b, x.jobs, bulk.Action{Batch: x.batch, Reducer: bulk.Count()}, ok)
		})
	}
}

func BenchmarkExec(b *testing.B) {
	c, err := command.New("cat >/dev/null", command.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	benchGroups(b, 1_000_000, bulk.Action{Batch: 1000}, c.Handle)
}

func BenchmarkHTTP(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer s.Close()
	h, err := post.New(s.URL, post.Options{Trusted: true})
	if err != nil {
		b.Fatal(err)
	}
	benchGroups(b, 500_000, bulk.Action{Batch: 100}, h)
}

// BenchmarkCSVToLedger measures an upload alone: from CSV to durable rows.
func BenchmarkCSVToLedger(b *testing.B) {
	const jobs = 1_000_000
	csv := customers(jobs)
	e := bulktest.New(b, bulk.Config{})
	e.Handle("bench", bulk.Action{}, ok)
	b.SetBytes(int64(len(csv)))
	b.ResetTimer()
	for range b.N {
		if g := e.Submit(bulk.Submission{Action: "bench"}, rows(b, csv)); g.Total != jobs {
			b.Fatalf("got %+v", g)
		}
	}
	b.ReportMetric(float64(b.N*jobs)/b.Elapsed().Seconds(), "rows/s")
}
