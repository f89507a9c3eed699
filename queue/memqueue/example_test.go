package memqueue_test

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
	"github.com/spillway/spillway/queue/memqueue"
)

// A group of a thousand jobs on a resource of ten a second: what is granted is
// granted with its capacity, and the answer says when to come back.
func Example() {
	ctx, now := context.Background(), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	q := memqueue.New(memqueue.Options{Fresh: true})
	_ = q.Configure(ctx, now, queue.Settings{
		Resources: []queue.Resource{{Name: "crm", Rate: flow.Rate{N: 10, Per: time.Second}}},
		Actions:   []queue.Action{{Name: "upload", Batch: 100}},
	})
	_ = q.Put(ctx, now, []queue.Group{{
		ID: "g1", Version: 1, Tenant: "acme", Resource: "crm", Action: "upload",
		Total: 1000, Sealed: true, Submitted: now,
	}})
	claim := queue.Claim{
		Instance: "i1", Actions: []spillway.ActionName{"upload"}, Visibility: time.Minute,
		Leases: []spillway.LeaseID{"lease-1"},
	}
	got, _ := q.Claim(ctx, now, claim)
	lease := got.Leases[0]
	fmt.Println("granted:", lease.Jobs)
	held, _ := q.Settle(ctx, now, []queue.Settlement{{Ref: lease.Ref, Finished: lease.Jobs.Len()}})
	fmt.Println("settled:", held[0])
	for i := 2; len(got.Leases) > 0; i++ {
		claim.Leases[0] = spillway.LeaseID(fmt.Sprintf("lease-%d", i))
		got, _ = q.Claim(ctx, now, claim)
	}
	fmt.Println("more in:", got.Next.Sub(now))
	// Output:
	// granted: [{0 2}]
	// settled: true
	// more in: 200ms
}
