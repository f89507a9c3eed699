package sqlledger_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/ledger/sqlledger"
)

func openBench(b *testing.B) *sqlledger.Ledger {
	l, err := sqlledger.OpenSQLite(context.Background(), filepath.Join(b.TempDir(), "bench.db"), sqlledger.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := l.Close(); err != nil {
			b.Error(err)
		}
	})
	return l
}

func createGroup(b *testing.B, l ledger.Ledger, id spillway.GroupID, d spillway.Delivery) {
	b.Helper()
	made, err := l.Create(context.Background(), time.Now(), []ledger.NewGroup{{
		ID: id, Tenant: "acme", Action: "tag", Resource: "customers", Spec: ledger.Spec{Delivery: d},
	}})
	if err != nil || made[0].Err != nil {
		b.Fatal(err, made)
	}
}

// chunkRows is 1,000 rows of about 100 bytes, of words and numbers.
func chunkRows(seed uint64) ledger.Rows {
	r := rand.New(rand.NewPCG(seed, 1))
	var rows ledger.Rows
	for i := range 1000 {
		rows.Add(fmt.Appendf(nil, `{"id":"%d","email":"user%d@example.com","name":"Customer %d","city":"%x","tag":"spring-sale"}`,
			r.Uint32(), i, r.Uint32(), r.Uint64()), 1)
	}
	return rows
}

// BenchmarkAppend is rows of 100 bytes into the ledger, in segments of 1,000,
// from 1 and 4 goroutines with a group each.
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 4} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			l, rows := openBench(b), chunkRows(1)
			b.SetBytes(int64(len(rows.Data)))
			b.ReportAllocs()
			var writer atomic.Int64
			var left atomic.Int64
			left.Store(int64(b.N))
			done := make(chan error)
			b.ResetTimer()
			for range writers {
				go func() {
					id := spillway.GroupID(fmt.Sprint("g", writer.Add(1)))
					_, err := l.Create(context.Background(), time.Now(), []ledger.NewGroup{{ID: id, Tenant: "t", Action: "a", Resource: "r"}})
					for at := int64(0); err == nil && left.Add(-1) >= 0; at += 1000 {
						var out []ledger.Appended
						out, err = l.Append(context.Background(), time.Now(), []ledger.Append{{Group: id, Offset: at, Rows: rows}})
						if err == nil {
							err = out[0].Err
						}
					}
					done <- err
				}()
			}
			for range writers {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func fill(b *testing.B, l ledger.Ledger, id spillway.GroupID, chunks int) {
	rows := chunkRows(1)
	for c := 0; c < chunks; c += 64 {
		var all []ledger.Append
		for k := c; k < min(c+64, chunks); k++ {
			all = append(all, ledger.Append{Group: id, Offset: int64(k) * 1000, Rows: rows})
		}
		if _, err := l.Append(context.Background(), time.Now(), all); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSettle is settlements of n jobs, from 1, 16 and 64 goroutines.
func BenchmarkSettle(b *testing.B) {
	for _, size := range []int64{1000, 100} {
		for _, callers := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("jobs=%d/callers=%d", size, callers), func(b *testing.B) {
				l := openBench(b)
				createGroup(b, l, "g", "")
				fill(b, l, "g", int(int64(b.N)*size/1000)+1)
				b.ReportAllocs()
				b.ResetTimer()
				var next atomic.Int64
				done := make(chan error)
				for range callers {
					go func() {
						var err error
						for err == nil {
							i := next.Add(1) - 1
							if i >= int64(b.N) {
								break
							}
							from := i * size
							_, err = l.Settle(context.Background(), time.Now(), []ledger.Settlement{{
								Group: "g", Chunk: from / 1000,
								Outcomes: []ledger.Outcome{{Jobs: spillway.One(from, from+size)}},
							}})
						}
						done <- err
					}()
				}
				for range callers {
					if err := <-done; err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(int64(b.N)*size)/b.Elapsed().Seconds(), "jobs/s")
			})
		}
	}
}

// BenchmarkVerify is the read before a delivery, and the compare-and-set of
// at-most-once.
func BenchmarkVerify(b *testing.B) {
	const chunks = 1000
	for _, intend := range []bool{false, true} {
		b.Run(fmt.Sprintf("intend=%v", intend), func(b *testing.B) {
			l := openBench(b)
			createGroup(b, l, "g", spillway.AtMostOnce)
			fill(b, l, "g", chunks)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				from := int64(i%chunks) * 1000
				v, err := l.Verify(context.Background(), time.Now(), []ledger.Check{{Group: "g", Jobs: spillway.One(from, from+1000), Intend: intend}})
				if err != nil || v[0].State != spillway.Receiving {
					b.Fatal(err, v)
				}
			}
		})
	}
}

// BenchmarkFind is a group of 10,000 chunks with its counts and checkpoint.
func BenchmarkFind(b *testing.B) {
	l := openBench(b)
	createGroup(b, l, "g", "")
	const chunks = 10_000
	rows := ledger.Rows{}
	for range 1000 {
		rows.Add([]byte("1"), 1)
	}
	for c := int64(0); c < chunks; c += 500 {
		var all []ledger.Append
		var done []ledger.Settlement
		for k := c; k < c+500; k++ {
			all = append(all, ledger.Append{Group: "g", Offset: k * 1000, Rows: rows})
			done = append(done, ledger.Settlement{Group: "g", Chunk: k, Outcomes: []ledger.Outcome{{Jobs: spillway.One(k*1000, k*1000+1000)}}})
		}
		if _, err := l.Append(context.Background(), time.Now(), all); err != nil {
			b.Fatal(err)
		}
		if _, err := l.Settle(context.Background(), time.Now(), done); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	for range b.N {
		g, _, err := l.Find(context.Background(), ledger.Filter{IDs: []spillway.GroupID{"g"}})
		if err != nil || g[0].Counts.Checkpoint != chunks*1000 {
			b.Fatal(err, g)
		}
	}
}
