package post

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkPost is batches of 100 jobs to a server in this process, so its
// work is counted, too.
func BenchmarkPost(b *testing.B) {
	results := `{"results":[` + strings.TrimSuffix(strings.Repeat(`{"index":1,"status":"ok"},`, 100), ",") + `]}`
	for _, c := range []struct{ name, secret, answer string }{
		{name: "empty"}, {name: "signed", secret: "a secret in plain text"}, {name: "results", answer: results},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := serve(b, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(w, c.answer)
			})
			h := open(b, s.URL, Options{Secret: c.secret})
			b.ReportAllocs()
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				batch := batch(100)
				for pb.Next() {
					if _, err := h(b.Context(), batch); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)*100/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}
