package bulk_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/bulktest"
)

// Throttled jobs that are delivered again are in flight and hide none of those
// that wait after a failure.
func TestThrottledJobsInFlightAreNotRetrying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Workers: 8})
		var again atomic.Bool
		b.Handle("tag", bulk.Action{Batch: 10, Backoff: 40 * time.Second}, func(ctx context.Context, x *bulk.Batch) ([]spillway.Outcome, error) {
			switch {
			case x.Jobs[0].Index < 10 && x.Jobs[0].Attempt == 1:
				return nil, errors.New("no")
			case x.Jobs[0].Index >= 10 && again.CompareAndSwap(false, true):
				return nil, &bulk.Failure{Status: spillway.Throttled}
			}
			return slow(10*time.Second)(ctx, x)
		})
		b.Start()
		g := b.Submit(bulk.Submission{Action: "tag"}, bulktest.Numbers(20))
		time.Sleep(5 * time.Second)
		g, err := b.Group(t.Context(), g.ID)
		if err != nil || g.Retrying != 10 || g.InFlight != 10 || g.Pending != 0 {
			t.Errorf("want 10 retrying and 10 in flight: %+v, %v", g, err)
		}
		finish(t, b, g.ID)
	})
}
