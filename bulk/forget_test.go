package bulk_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/bulktest"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/queue"
)

// A resource that was unused for long is listed no longer, and has its limits
// again when it is used again.
func TestUnusedResourcesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{Resources: []bulk.ResourceRule{
			{Name: "of-*", Rate: flow.Rate{N: 10, Per: time.Second}},
		}})
		b.Handle("tag", bulk.Action{}, slow(0))
		b.Start()
		submit := func(i int) *bulk.Group {
			name := spillway.ResourceName(fmt.Sprint("of-", i))
			return finish(t, b, b.Submit(bulk.Submission{Action: "tag", Resource: name}, bulktest.Numbers(30)).ID)
		}
		for i := range 20 {
			submit(i)
		}
		all, err := b.Resources(t.Context())
		if err != nil || len(all) < 20 {
			t.Errorf("%d resources are listed, %v", len(all), err)
		}
		time.Sleep(queue.KeepUnused + time.Minute)
		if all, err := b.Resources(t.Context()); err != nil || len(all) > 0 {
			t.Errorf("%d resources are listed, %v", len(all), err)
		}
		for _, unused := range []time.Duration{1, 2, queue.KeepUnused / 2, queue.KeepUnused - 1, queue.KeepUnused, 2 * queue.KeepUnused} {
			time.Sleep(unused)
			from := time.Now()
			submit(0)
			if took := time.Since(from); took < 2*time.Second {
				t.Errorf("after %v 30 jobs at 10 a second took %v", unused, took)
			}
		}
	})
}
