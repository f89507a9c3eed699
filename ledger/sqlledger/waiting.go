package sqlledger

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

const (
	defaultWaiting = 1000

	selectWaiting = `SELECT pos, merges, sets FROM outcomes WHERE grp = $1 AND waiting > 0 ORDER BY due, pos LIMIT $2`
)

// Waiting lists work to be delivered again; see ledger.Jobs. The first limit
// entries are in the first limit chunks by their earliest due time, because
// each of these has one at least; one chunk more tells what comes after.
func (l *Ledger) Waiting(ctx context.Context, id spillway.GroupID, by time.Time, limit int) (dueNow []ledger.Waiting, left int64, leftDue time.Time, err error) {
	if limit <= 0 {
		limit = defaultWaiting
	}
	err = l.readAtOnce(ctx, func(s *session) error {
		var seq, earliest int64
		found, err := s.one([]any{&seq}, selectSeq, string(id))
		if err != nil || !found {
			return err
		}
		if _, err := s.one([]any{&left, &earliest}, selectWaitingSum, seq); err != nil {
			return err
		}
		var later int64
		dueNow, later, err = readWaiting(s, seq, micros(by), limit)
		for _, w := range dueNow {
			left -= w.Jobs.Len()
		}
		leftDue = fromMicros(later)
		return err
	})
	if err != nil {
		return nil, 0, time.Time{}, err
	}
	return dueNow, left, leftDue, nil
}

// readWaiting returns what is due by a time, and when the rest is; 0 is never.
func readWaiting(s *session, seq, by int64, limit int) (out []ledger.Waiting, later int64, err error) {
	var plans []plan
	err = eachChunk(s, func(c *chunk) error {
		for _, p := range c.plans {
			if p.due != 0 {
				plans = append(plans, p)
			}
		}
		return nil
	}, selectWaiting, seq, int64(limit)+1)
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(plans, func(a, b plan) int {
		return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.jobs[0].From, b.jobs[0].From))
	})
	for _, p := range plans {
		if p.due > by || len(out) == limit {
			return out, p.due, nil
		}
		out = append(out, ledger.Waiting{Jobs: p.jobs, NotBefore: fromMicros(p.due), Lost: p.lost, Failed: p.retrying})
	}
	return out, 0, nil
}
