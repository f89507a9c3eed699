package memqueue_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/spillway/spillway/queue"
	"github.com/spillway/spillway/queue/memqueue"
	"github.com/spillway/spillway/queue/queuetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQueue(t *testing.T) { queuetest.Run(t, open) }

func open(t *testing.T, o queuetest.Options) queue.Queue {
	q := memqueue.New(memqueue.Options{Epoch: o.Epoch, Fresh: o.Fresh})
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
	return q
}

func BenchmarkQueue(b *testing.B) {
	queuetest.Benchmark(b, func(_ *testing.B, o queuetest.Options) queue.Queue {
		return memqueue.New(memqueue.Options{Epoch: o.Epoch, Fresh: o.Fresh})
	})
}
