package bulk

import (
	"sync"
	"sync/atomic"
	"time"
)

// Metrics is a snapshot of the engine's counters since its start.
type Metrics struct {
	Workers, Busy                       int
	Granted, Delivered                  int64 // jobs
	Succeeded, Failed, Skipped, InDoubt int64
	Retried, Throttled                  int64
	LeasesLost, Reclaimed               int64
	LedgerErrors                        int64
	CallbacksSent, CallbacksFailed      int64
	RowsAccepted                        int64
	// How long handlers, transactions of outcomes, and claims took.
	Delivery, Settle, Claim Histogram
}

// Histogram counts durations: Counts[i] of at most Bounds[i] seconds, each
// including those before it; Count is all of them.
type Histogram struct {
	Bounds []float64
	Counts []int64
	Sum    float64
	Count  int64
}

type metrics struct {
	granted, delivered                  atomic.Int64
	succeeded, failed, skipped, inDoubt atomic.Int64
	retried, throttled                  atomic.Int64
	leasesLost, reclaimed               atomic.Int64
	ledgerErrors                        atomic.Int64
	callbacksSent, callbacksFailed      atomic.Int64
	rows                                atomic.Int64
	delivery, settle, claim             durations
}

// durationBounds are a microsecond to 100 seconds, in decades.
var durationBounds = [...]float64{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100}

type durations struct {
	mu     sync.Mutex
	counts [len(durationBounds)]int64
	sum    float64
	count  int64
}

func (d *durations) observe(x time.Duration) {
	s := x.Seconds()
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := len(durationBounds) - 1; i >= 0 && s <= durationBounds[i]; i-- {
		d.counts[i]++
	}
	d.sum += s
	d.count++
}

func (d *durations) histogram() Histogram {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Histogram{Bounds: durationBounds[:], Counts: append([]int64(nil), d.counts[:]...), Sum: d.sum, Count: d.count}
}

// Metrics reads the engine's counters.
func (e *Engine) Metrics() Metrics {
	m := &e.metrics
	return Metrics{
		Workers: e.pool.size, Busy: int(e.pool.busy.Load()),
		Granted: m.granted.Load(), Delivered: m.delivered.Load(),
		Succeeded: m.succeeded.Load(), Failed: m.failed.Load(), Skipped: m.skipped.Load(), InDoubt: m.inDoubt.Load(),
		Retried: m.retried.Load(), Throttled: m.throttled.Load(),
		LeasesLost: m.leasesLost.Load(), Reclaimed: m.reclaimed.Load(),
		LedgerErrors:  m.ledgerErrors.Load(),
		CallbacksSent: m.callbacksSent.Load(), CallbacksFailed: m.callbacksFailed.Load(),
		RowsAccepted: m.rows.Load(),
		Delivery:     m.delivery.histogram(), Settle: m.settle.histogram(), Claim: m.claim.histogram(),
	}
}
