package sqlledger

import (
	"context"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

const (
	selectSeq      = `SELECT seq FROM groups WHERE id = $1`
	selectSegments = `SELECT pos, count, body FROM segments WHERE pos BETWEEN $1 AND $2 ORDER BY pos`
)

// Payload reads rows; see ledger.Jobs.
func (l *Ledger) Payload(ctx context.Context, jobs []ledger.JobSet) ([]ledger.Payload, error) {
	for i := range jobs {
		if _, err := chunkOf(jobs[i].Group, jobs[i].Jobs); err != nil {
			return nil, err
		}
	}
	out := make([]ledger.Payload, len(jobs))
	missing := false
	for i := range jobs {
		out[i].Segments = l.cachedPayload(&jobs[i])
		missing = missing || out[i].Segments == nil
	}
	if !missing {
		return out, nil
	}
	err := l.read(ctx, func(s *session) error {
		for i := range jobs {
			if out[i].Segments != nil || len(jobs[i].Jobs) == 0 {
				continue
			}
			var seq int64
			found, err := s.one([]any{&seq}, selectSeq, string(jobs[i].Group))
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			if out[i].Segments, err = l.readPayload(s, seq, jobs[i].Jobs); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// cachedPayload returns the chunk's segments if all that is asked is in the
// cache, else nil.
func (l *Ledger) cachedPayload(j *ledger.JobSet) []ledger.Segment {
	g, ok := l.groups.get(j.Group)
	if !ok || len(j.Jobs) == 0 {
		return nil
	}
	segments, ok := l.segments.get(position(g.seq, chunkStart(j.Jobs[0].From)))
	if !ok || !covers(segments, j.Jobs) {
		return nil
	}
	return segments
}

// readPayload reads the segments of a chunk, by way of the cache.
func (l *Ledger) readPayload(s *session, seq int64, jobs spillway.Spans) ([]ledger.Segment, error) {
	from := position(seq, chunkStart(jobs[0].From))
	if segments, ok := l.segments.get(from); ok && covers(segments, jobs) {
		return segments, nil
	}
	var segments []ledger.Segment
	err := s.each(func(scan func(...any) error) error {
		var pos int64
		var count int
		var body []byte
		if err := scan(&pos, &count, &body); err != nil {
			return err
		}
		rows, err := decodeRows(body)
		if err == nil && rows.Len() != count {
			err = errFormat
		}
		if err != nil {
			return damaged("payload", pos, err)
		}
		segments = append(segments, ledger.Segment{First: indexOf(pos), Rows: rows})
		return nil
	}, selectSegments, from, from+spillway.ChunkSize-1)
	if err != nil {
		return nil, err
	}
	if len(segments) > 0 && l.segments.limit > 0 {
		l.segments.put(from, segments, cost(segments))
	}
	return segments, nil
}
