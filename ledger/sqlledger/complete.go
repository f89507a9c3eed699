package sqlledger

import (
	"context"
	"strconv"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

const insertCallback = `INSERT INTO outbox (id, grp, group_id, url, state, attempts, due, created, error)
	VALUES ($1, $2, $3, $4, 'pending', 0, $5, $5, '')`

// Complete ends groups; see ledger.Groups.
func (l *Ledger) Complete(ctx context.Context, now time.Time, all []ledger.Completion) (out []ledger.Group, err error) {
	err = l.write(ctx, &request{apply: func(b *batch) error {
		out = nil
		groups := make([]*group, len(all))
		for i := range all { // read before anything is changed
			var err error
			if groups[i], err = b.group(all[i].Group); err != nil {
				return err
			}
		}
		for i, g := range groups {
			if g == nil || !g.mayEnd() {
				continue
			}
			if err := b.end(now, g, &all[i]); err != nil {
				return abort(err)
			}
			described, err := b.describe(g)
			if err != nil {
				return abort(err)
			}
			out = append(out, described)
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// mayEnd reports whether the group has an end to come, and it is now. A
// cancelled one ends when its caller says that no lease is out.
func (g *group) mayEnd() bool {
	return g.ready() || g.State == spillway.Cancelled && g.Finished.IsZero()
}

func (b *batch) end(now time.Time, g *group, c *ledger.Completion) error {
	if g.State == spillway.Running {
		g.State = spillway.Completed
	}
	g.Finished = fromMicros(due(now))
	g.Result = c.Result
	g.Completions++
	g.changed()
	if g.Spec.Callback == "" {
		return nil
	}
	g.CallbackState, g.CallbackAttempts = ledger.CallbackPending, 0
	_, err := b.s.exec(insertCallback, callbackID(g), g.seq, string(g.ID), g.Spec.Callback, due(now))
	return err
}

// callbackID names a completion; it never changes.
func callbackID(g *group) string { return string(g.ID) + "." + strconv.Itoa(g.Completions) }
