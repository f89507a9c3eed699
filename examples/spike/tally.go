package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
	"github.com/spillway/spillway/sim"
)

// tally is a queue that counts what it grants, and a handler that counts what
// it gets.
type tally struct {
	queue.Queue
	start, end time.Time

	mu struct {
		sync.Mutex
		grants    []sim.Grant // of all resources
		tenants   map[spillway.TenantID][]time.Duration
		delivered int64
		throttled int64 // handed out, and put back without having run
	}
}

// Claim implements queue.Queue.
func (t *tally) Claim(ctx context.Context, now time.Time, c queue.Claim) (queue.Claimed, error) {
	out, err := t.Queue.Claim(ctx, now, c)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range out.Leases {
		t.mu.grants = append(t.mu.grants, sim.Grant{At: l.Granted.Sub(t.start.Truncate(time.Microsecond)), Cost: l.Jobs.Len()})
	}
	return out, err
}

// Settle implements queue.Queue.
func (t *tally) Settle(ctx context.Context, now time.Time, ss []queue.Settlement) ([]bool, error) {
	t.mu.Lock()
	for _, s := range ss {
		t.mu.throttled += s.Return.Len()
		for _, r := range s.Retries {
			t.mu.throttled += r.Jobs.Len()
		}
	}
	t.mu.Unlock()
	return t.Queue.Settle(ctx, now, ss)
}

// handle is the handler: its work is to be there for 5 ms.
func (t *tally) handle(_ context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
	t.mu.Lock()
	t.mu.delivered += int64(len(b.Jobs))
	if t.mu.tenants == nil {
		t.mu.tenants = map[spillway.TenantID][]time.Duration{}
	}
	t.mu.tenants[b.Tenant] = append(t.mu.tenants[b.Tenant], time.Since(t.start))
	t.mu.Unlock()
	time.Sleep(5 * time.Millisecond)
	return nil, nil
}

// row is the run in the time of the original.
func (t *tally) row(name string, speed int64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	const total = groups * jobs
	took := t.end.Sub(t.start) * time.Duration(speed)
	peak, _ := sim.Excess(t.mu.grants, []sim.Limit{{Rate: flow.Rate{Per: time.Second}}}) // over a rate of none
	return fmt.Sprintf("%-36s %9.1f s %8.3f %13.3f %11.3f %8.1f %10.3f",
		map[string]string{"resources": "3 resources of 10/s, Spillway", "tenants": "3 tenants on 30/s, Spillway"}[name],
		took.Seconds(), took.Seconds()/500, float64(t.mu.throttled)/total, float64(t.mu.delivered)/total,
		float64(peak)/float64(speed), t.jainLocked(2*time.Second/time.Duration(speed)))
}

// jainLocked is the worst of Jain's index over the tenants' jobs in any period.
func (t *tally) jainLocked(period time.Duration) float64 {
	const grain = 4 // bins of a period
	var all []sim.Series
	for _, starts := range t.mu.tenants {
		s := make(sim.Series, int(starts[len(starts)-1]*grain/period)+1)
		for _, at := range starts {
			s[min(len(s)-1, int(at*grain/period))]++
		}
		all = append(all, s)
	}
	j, _ := sim.Jain(all, func(i int) (int, int) { return grain, len(all[i]) - grain }, grain, 10)
	return j
}
