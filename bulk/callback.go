package bulk

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/ledger"
)

// How callbacks are retried: exponentially, for a day, then visibly given up.
const (
	callbackGiveUp   = 24 * time.Hour
	callbackHold     = time.Minute
	callbackInterval = time.Second
)

// Bounds of callbacks in hand. A receiver that is dead for its whole time-out
// holds up its own callbacks only: those of a host beyond hostWaiting are left
// in the outbox until their hold is over.
const (
	callbackPage = 256
	hostAtOnce   = 8
	hostWaiting  = 1000
)

var callbackBackoff = flow.Backoff{Base: 5 * time.Second}

// outbox is the callbacks in hand, by the host that receives them.
type outbox struct {
	wait sync.WaitGroup
	mu   sync.Mutex
	ids  map[string]bool
	host map[string]*receiver
}

// receiver is the callbacks of one host.
type receiver struct {
	waiting []ledger.Callback
	running int // at most hostAtOnce
}

// outboxLoop delivers the callbacks of groups that have ended.
func (e *Engine) outboxLoop(ctx context.Context) error {
	if e.cfg.Callbacks == nil {
		return nil
	}
	o := &outbox{ids: map[string]bool{}, host: map[string]*receiver{}}
	defer o.wait.Wait()
	return every(ctx, callbackInterval, e.callback, func() {
		due, err := e.ledger.Due(ctx, time.Now(), callbackPage, callbackHold)
		if err != nil {
			e.warn(ctx, "the outbox could not be read; trying again", err)
		}
		for _, c := range due {
			o.take(ctx, e, c)
		}
		if len(due) == callbackPage {
			poke(e.callback)
		}
	})
}

// take hands a callback to its host's goroutines, if there is room.
func (o *outbox) take(ctx context.Context, e *Engine, c ledger.Callback) {
	name := c.URL
	if u, err := url.Parse(c.URL); err == nil {
		name = u.Host
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.host[name]
	if r == nil {
		r = &receiver{}
		o.host[name] = r
	}
	if o.ids[c.ID] || len(r.waiting) >= hostWaiting {
		return
	}
	o.ids[c.ID] = true
	r.waiting = append(r.waiting, c)
	if r.running == hostAtOnce {
		return
	}
	r.running++
	o.wait.Go(func() {
		for {
			c, some := o.next(name, r)
			if !some {
				return
			}
			e.send(ctx, c)
			o.done(c)
		}
	})
}

// next is the host's next callback; without one, the caller has ended.
func (o *outbox) next(name string, r *receiver) (c ledger.Callback, some bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(r.waiting) > 0 {
		c, r.waiting = r.waiting[0], r.waiting[1:]
		return c, true
	}
	if r.running--; r.running == 0 {
		delete(o.host, name)
	}
	return c, false
}

func (o *outbox) done(c ledger.Callback) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.ids, c.ID)
}

// send makes one attempt at a callback and records it.
func (e *Engine) send(ctx context.Context, c ledger.Callback) {
	m := ledger.Marked{ID: c.ID}
	err := e.post(ctx, c)
	if ctx.Err() != nil {
		return // due again when the hold is over
	}
	now := time.Now()
	if err == nil {
		m.Accepted = true
		e.metrics.callbacksSent.Add(1)
	} else {
		e.metrics.callbacksFailed.Add(1)
		m.Error = clip(err.Error())
		m.NotBefore = now.Add(callbackBackoff.Wait(c.Attempts+1, rand.Uint64()))
		m.GiveUp = m.NotBefore.Sub(c.Created) > callbackGiveUp
		e.log.Warn("a callback was not accepted", "group", c.Group, "attempt", c.Attempts+1, "given_up", m.GiveUp, "err", err)
	}
	if err := e.ledger.Mark(ctx, now, []ledger.Marked{m}); err != nil {
		e.warn(ctx, "a callback's attempt could not be recorded; it may be sent again", err, "group", c.Group)
	}
	e.events.group(c.Group)
}

// post sends the group object as it is now.
func (e *Engine) post(ctx context.Context, c ledger.Callback) error {
	g, err := e.find(ctx, c.Group)
	if err != nil {
		return err
	}
	v, err := e.view(ctx, g)
	if err != nil {
		return err
	}
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.cfg.Callbacks(ctx, Message{ID: c.ID, URL: c.URL, Trusted: g.Spec.TrustedCallback, Action: g.Action, Body: body})
}

// ResendCallback makes a group's last callback due again.
func (e *Engine) ResendCallback(ctx context.Context, id spillway.GroupID) (*Group, error) {
	if err := e.ledger.Resend(ctx, time.Now(), id); err != nil {
		return nil, err
	}
	poke(e.callback)
	return e.Group(ctx, id)
}
