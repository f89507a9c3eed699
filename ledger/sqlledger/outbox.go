package sqlledger

import (
	"context"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

const (
	selectDue = `SELECT id, group_id, url, attempts, created FROM outbox
		WHERE state = 'pending' AND due <= $1 ORDER BY due, id LIMIT $2`

	holdCallback = `UPDATE outbox SET due = $2 WHERE id = $1`

	selectCallback = `SELECT group_id, state FROM outbox WHERE id = $1`

	markCallback = `UPDATE outbox SET state = $2, attempts = attempts + 1, due = $3, error = $4 WHERE id = $1`

	resendCallback = `UPDATE outbox SET state = 'pending', attempts = 0, due = $2, created = $3, error = '' WHERE id = $1`
)

// Due takes callbacks that are due; see ledger.Outbox.
func (l *Ledger) Due(ctx context.Context, now time.Time, limit int, hold time.Duration) (out []ledger.Callback, err error) {
	err = l.write(ctx, &request{apply: func(b *batch) (err error) {
		out, err = readDue(b.s, now, limit)
		for i := 0; i < len(out) && err == nil; i++ {
			_, err = b.s.exec(holdCallback, out[i].ID, due(now.Add(hold)))
		}
		return err
	}})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func readDue(s *session, now time.Time, limit int) (out []ledger.Callback, err error) {
	err = s.each(func(scan func(...any) error) error {
		var c ledger.Callback
		var group string
		var created int64
		err := scan(&c.ID, &group, &c.URL, &c.Attempts, &created)
		c.Group, c.Created = spillway.GroupID(group), fromMicros(created)
		out = append(out, c)
		return err
	}, selectDue, micros(now), int64(limit))
	return out, err
}

// Mark records attempts at delivery; see ledger.Outbox. What is accepted or
// given up already, or deleted, stays as it is.
func (l *Ledger) Mark(ctx context.Context, now time.Time, marks []ledger.Marked) error {
	return l.write(ctx, &request{apply: func(b *batch) error {
		for i := range marks {
			if err := b.mark(&marks[i]); err != nil {
				return abort(err)
			}
		}
		return nil
	}})
}

func (b *batch) mark(m *ledger.Marked) error {
	var id, state string
	found, err := b.s.one([]any{&id, &state}, selectCallback, m.ID)
	if err != nil || !found || state != ledger.CallbackPending {
		return err
	}
	g, err := b.group(spillway.GroupID(id))
	if err != nil {
		return err
	}
	switch {
	case m.Accepted:
		state = ledger.CallbackAccepted
	case m.GiveUp:
		state = ledger.CallbackGivenUp
	}
	if g != nil && callbackID(g) == m.ID {
		g.CallbackState = state
		g.CallbackAttempts++
		g.dirty = true
	}
	_, err = b.s.exec(markCallback, m.ID, state, micros(m.NotBefore), clip(m.Error))
	return err
}

// Resend makes a group's last callback due again; see ledger.Outbox.
func (l *Ledger) Resend(ctx context.Context, now time.Time, id spillway.GroupID) error {
	return l.write(ctx, &request{apply: func(b *batch) error {
		g, err := b.mustGroup(id)
		if err != nil {
			return err
		}
		n, err := b.s.exec(resendCallback, callbackID(g), due(now), micros(now))
		if err != nil {
			return err
		}
		if n == 0 {
			return spillway.Errorf(spillway.CodeState, "group %q has no callback to send again", id)
		}
		g.CallbackState, g.CallbackAttempts, g.dirty = ledger.CallbackPending, 0, true
		return nil
	}})
}
