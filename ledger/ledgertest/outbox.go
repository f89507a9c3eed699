package ledgertest

import (
	"fmt"
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

func (b *bench) due(limit int) (ids []string) {
	b.Helper()
	out, err := b.l.Due(b.ctx(), b.now, limit, time.Minute)
	b.ok(err)
	for _, c := range out {
		ids = append(ids, c.ID)
	}
	return ids
}

func (b *bench) mark(m ledger.Marked) {
	b.Helper()
	b.ok(b.l.Mark(b.ctx(), b.now, []ledger.Marked{m}))
}

func testOutbox(b *bench) {
	b.ended("g", "acme", 1)
	is := func(state string, attempts int) {
		b.Helper()
		if g := b.find("g"); g.CallbackState != state || g.CallbackAttempts != attempts {
			b.Fatalf("callback %s after %d, want %s after %d", g.CallbackState, g.CallbackAttempts, state, attempts)
		}
	}
	is(ledger.CallbackPending, 0)
	out, err := b.l.Due(b.ctx(), b.now, 10, time.Minute)
	b.ok(err)
	b.same("due", out, []ledger.Callback{{ID: "g.1", Group: "g", URL: "http://127.0.0.1/", Created: b.now}})
	b.same("held", b.due(10), []string(nil))
	b.now = b.now.Add(time.Minute)
	b.same("held no longer", b.due(10), []string{"g.1"})
	b.mark(ledger.Marked{ID: "g.1", NotBefore: b.now.Add(time.Hour), Error: "500"})
	is(ledger.CallbackPending, 1)
	b.now = b.now.Add(time.Hour - 1)
	b.same("not yet", b.due(10), []string(nil))
	b.now = b.now.Add(time.Millisecond)
	b.reopen()
	b.same("due again", b.due(10), []string{"g.1"})
	b.mark(ledger.Marked{ID: "g.1", GiveUp: true})
	is(ledger.CallbackGivenUp, 2)
	b.now = b.now.Add(24 * time.Hour)
	b.same("given up", b.due(10), []string(nil))

	b.ok(b.l.Resend(b.ctx(), b.now, "g"))
	is(ledger.CallbackPending, 0)
	b.same("sent again", b.due(10), []string{"g.1"})
	b.mark(ledger.Marked{ID: "g.1", Accepted: true})
	is(ledger.CallbackAccepted, 1)
	b.mark(ledger.Marked{ID: "g.1", GiveUp: true}) // late: it is accepted
	b.mark(ledger.Marked{ID: "none.1", Accepted: true})
	is(ledger.CallbackAccepted, 1)
	b.now = b.now.Add(24 * time.Hour)
	b.same("accepted", b.due(10), []string(nil))

	b.refused(b.l.Resend(b.ctx(), b.now, "none"), spillway.CodeNotFound)
	b.group("quiet", 1)
	b.refused(b.l.Resend(b.ctx(), b.now, "quiet"), spillway.CodeState)

	for i := range 5 {
		b.ended(spillway.GroupID(fmt.Sprint("h", i)), "acme", 1)
		b.now = b.now.Add(time.Second)
	}
	b.same("the oldest first", b.due(2), []string{"h0.1", "h1.1"})
	b.same("then the next", b.due(10), []string{"h2.1", "h3.1", "h4.1"})
}

// Every callback is taken by one caller.
func testOutboxRace(b *bench) {
	for i := range 12 {
		b.ended(spillway.GroupID(fmt.Sprint("g", i)), "acme", 1)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	taken := map[string]int{}
	for range 6 {
		wg.Go(func() {
			for range 4 {
				out, err := b.l.Due(b.ctx(), b.now, 2, time.Minute)
				if err != nil {
					b.Error(err)
				}
				mu.Lock()
				for _, c := range out {
					taken[c.ID]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for id, n := range taken {
		if n != 1 {
			b.Errorf("%s was taken %d times", id, n)
		}
	}
	if len(taken) != 12 {
		b.Errorf("%d of 12 taken", len(taken))
	}
}
