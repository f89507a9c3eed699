package sqlledger

import (
	"context"
	"strconv"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

const (
	selectTouched = `SELECT pos + touched FROM outcomes WHERE pos BETWEEN $1 AND $2 AND touched > 0 ORDER BY pos DESC LIMIT 1`

	selectWaitingSum = `SELECT COALESCE(SUM(waiting), 0), COALESCE(MIN(due), 0) FROM outcomes WHERE grp = $1 AND waiting > 0`
)

// Index lists unfinished groups; see ledger.Groups. Rows that were bad from
// the start don't count for Indexed.Next: an upload records them far ahead of
// what was delivered.
func (l *Ledger) Index(ctx context.Context, now time.Time, q ledger.IndexQuery) (out []ledger.Indexed, err error) {
	if q.Limit <= 0 {
		q.Limit = defaultIndex
	}
	if q.Adopt {
		err = l.write(ctx, &request{apply: func(b *batch) (err error) {
			out, err = b.adoptPage(now, q)
			return abort(err)
		}})
	} else {
		err = l.snapshot(ctx, func(s *session, v *view) (err error) {
			out, err = l.indexPage(s, v, q)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// indexQuery makes the query for columns of a page of unfinished groups.
func indexQuery(q ledger.IndexQuery, columns string) (text string, args []any) {
	args = []any{string(q.After), int64(q.Limit)}
	only := ""
	if q.IDs != nil {
		only = " AND id IN (" + placeholders(q.IDs, func(v any) string {
			args = append(args, v)
			return "$" + strconv.Itoa(len(args))
		}) + ")"
	}
	return "SELECT " + columns + " FROM groups WHERE finished = 0 AND id > $1" + only + " ORDER BY id LIMIT $2", args
}

func (l *Ledger) indexPage(s *session, v *view, q ledger.IndexQuery) ([]ledger.Indexed, error) {
	text, args := indexQuery(q, groupColumns)
	groups, err := readGroups(s, len(q.IDs) <= 1, text, args)
	if err != nil {
		return nil, err
	}
	if err := l.describeAt(s, v, groups); err != nil {
		return nil, err
	}
	out := make([]ledger.Indexed, len(groups))
	for i, g := range groups {
		if out[i], err = indexed(s, g.Group, g.seq); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func indexed(s *session, g ledger.Group, seq int64) (x ledger.Indexed, err error) {
	x.Group = g
	if x.Next, err = touched(s, seq); err != nil {
		return x, err
	}
	var at int64
	_, err = s.one([]any{&x.Waiting, &at}, selectWaitingSum, seq)
	x.WaitingDue = fromMicros(at)
	return x, err
}

// touched is the end of the jobs with any outcome, intent or plan.
func touched(s *session, seq int64) (int64, error) {
	var pos int64
	found, err := s.one([]any{&pos}, selectTouched, position(seq, 0), position(seq, maxJobs-1))
	if err != nil || !found {
		return 0, err
	}
	return pos - position(seq, 0), nil
}

func (b *batch) adoptPage(now time.Time, q ledger.IndexQuery) ([]ledger.Indexed, error) {
	if err := b.flush(); err != nil {
		return nil, err
	}
	var ids []spillway.GroupID
	text, args := indexQuery(q, "id")
	err := b.s.eachOnce(func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		ids = append(ids, spillway.GroupID(id))
		return err
	}, text, args...)
	if err != nil {
		return nil, err
	}
	out := make([]ledger.Indexed, len(ids))
	for i, id := range ids {
		g, err := b.mustGroup(id)
		if err != nil {
			return nil, err
		}
		if err := b.adopt(now, g); err != nil {
			return nil, err
		}
		described, err := b.describe(g)
		if err != nil {
			return nil, err
		}
		if out[i], err = indexed(b.s, described, g.seq); err != nil {
			return nil, err
		}
	}
	return out, nil
}
