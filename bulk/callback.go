package bulk

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/flow"
	"github.com/spillway/spillway/ledger"
)

// How callbacks are retried: exponentially, for a day, then visibly given up.
const (
	callbackGiveUp   = 24 * time.Hour
	callbackHold     = time.Minute
	callbackAtOnce   = 16
	callbackInterval = time.Second
)

var callbackBackoff = flow.Backoff{Base: 5 * time.Second}

// outboxLoop delivers the callbacks of groups that have ended.
func (e *Engine) outboxLoop(ctx context.Context) error {
	if e.cfg.Callbacks == nil {
		return nil
	}
	tick := time.NewTicker(callbackInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-e.callback:
		}
		due, err := e.ledger.Due(ctx, time.Now(), callbackAtOnce, callbackHold)
		if err != nil {
			e.warn(ctx, "the outbox could not be read; trying again", err)
			continue
		}
		var g errgroup.Group
		for _, c := range due {
			g.Go(func() error {
				e.send(ctx, c)
				return nil
			})
		}
		_ = g.Wait() // send keeps its error in the outbox
		if len(due) == callbackAtOnce {
			poke(e.callback)
		}
	}
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
