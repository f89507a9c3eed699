package bulk_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/bulktest"
	"github.com/spillway/spillway/ledger"
)

// Jobs that another delivery intended and left without an outcome are in doubt
// as soon as they are met again: they never reach a handler, and hold nothing up.
func TestIntentOfAnotherDeliveryIsInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bulktest.New(t, bulk.Config{})
		b.Handle("send", bulk.Action{Batch: 10, Delivery: spillway.AtMostOnce}, ok)
		b.Start()
		yes, no := true, false
		if _, err := b.SetResource(t.Context(), "send", bulk.ResourceChange{Paused: &yes}, "test"); err != nil {
			t.Fatal(err)
		}
		g := b.Submit(bulk.Submission{Action: "send"}, bulktest.Numbers(20))
		check := ledger.Check{Group: g.ID, Jobs: spillway.One(0, 5), Intend: true}
		if _, err := b.Ledger.Verify(t.Context(), time.Now(), []ledger.Check{check}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.SetResource(t.Context(), "send", bulk.ResourceChange{Paused: &no}, "test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		g, err := b.Group(t.Context(), g.ID)
		if err != nil || g.State != spillway.Completed || g.InDoubt != 5 || g.Succeeded != 15 {
			t.Errorf("got %+v, %v", g, err)
		}
	})
}
