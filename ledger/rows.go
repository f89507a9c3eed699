package ledger

import (
	"encoding/json"
	"sort"

	"github.com/spillway/spillway"
)

// Rows is consecutive payloads in one buffer, so that a million rows are not a
// million allocations.
type Rows struct {
	// Data is the payloads end to end; Ends[i] is where row i ends.
	Data []byte
	Ends []uint32
	// Costs are the rows' costs; nil if all are 1.
	Costs []int64
}

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.Ends) }

// At returns row i. It shares the buffer.
func (r *Rows) At(i int) json.RawMessage {
	var from uint32
	if i > 0 {
		from = r.Ends[i-1]
	}
	return r.Data[from:r.Ends[i]:r.Ends[i]]
}

// Cost returns the cost of row i.
func (r *Rows) Cost(i int) int64 {
	if r.Costs == nil {
		return 1
	}
	return r.Costs[i]
}

// Add appends a row; a cost below 1 counts as 1.
func (r *Rows) Add(data []byte, cost int64) {
	r.Data = append(r.Data, data...)
	r.End(cost)
}

// End closes a row that was appended to Data by hand.
func (r *Rows) End(cost int64) {
	r.Ends = append(r.Ends, uint32(len(r.Data)))
	if cost > 1 && r.Costs == nil {
		r.Costs = make([]int64, len(r.Ends)-1, cap(r.Ends))
		for i := range r.Costs {
			r.Costs[i] = 1
		}
	}
	if r.Costs != nil {
		r.Costs = append(r.Costs, max(cost, 1))
	}
}

// MaxCost is the highest cost, 1 for no rows.
func (r *Rows) MaxCost() int64 {
	highest := int64(1)
	for _, c := range r.Costs {
		highest = max(highest, c)
	}
	return highest
}

// Segment is rows of one chunk, from job First on.
type Segment struct {
	First int64
	Rows  *Rows
}

// Payload is what the ledger holds of the asked rows, in segments of one
// chunk in order. Rows are shared with a cache and must not be changed.
type Payload struct {
	Segments []Segment
}

// At returns the row of a job and its cost; ok is false if it is not held.
func (p *Payload) At(index int64) (data json.RawMessage, cost int64, ok bool) {
	k := sort.Search(len(p.Segments), func(k int) bool {
		s := p.Segments[k]
		return index < s.First+int64(s.Rows.Len())
	})
	if k == len(p.Segments) || index < p.Segments[k].First {
		return nil, 0, false
	}
	s := p.Segments[k]
	i := int(index - s.First)
	return s.Rows.At(i), s.Rows.Cost(i), true
}

// Cost sums the costs of jobs; a row that is not held counts as 1.
func (p *Payload) Cost(jobs spillway.Spans) int64 {
	plain := true
	for _, s := range p.Segments {
		plain = plain && s.Rows.Costs == nil
	}
	if plain {
		return jobs.Len()
	}
	var sum int64
	for i := range jobs.All {
		if _, c, ok := p.At(i); ok {
			sum += c
		} else {
			sum++
		}
	}
	return sum
}
