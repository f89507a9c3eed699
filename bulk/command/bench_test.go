package command

import (
	"testing"

	"github.com/spillway/spillway"
)

// BenchmarkExec is whole batches of 1,000 jobs through a real command.
func BenchmarkExec(b *testing.B) {
	for _, cmd := range []string{"cat >/dev/null", `awk -F'"index":' '{split($2, i, ","); print "{\"index\":" i[1] ",\"status\":\"ok\"}"}'`} {
		b.Run(cmd[:3], func(b *testing.B) {
			c := open(b, cmd, Options{})
			b.SetParallelism(4)
			b.RunParallel(func(pb *testing.PB) {
				batch, _ := batch(1000)
				batch.Report = func(...spillway.Outcome) {}
				for pb.Next() {
					if _, err := c.Handle(b.Context(), batch); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	batch, _ := batch(1000)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = appendBatch(buf[:0], batch)
	}
	b.SetBytes(int64(len(buf)))
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "jobs/s")
}
