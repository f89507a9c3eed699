package spillway

import (
	"encoding/binary"
	"slices"
)

// Span is the jobs from From up to but not including To.
type Span struct{ From, To int64 }

// Len is the number of jobs in the span.
func (s Span) Len() int64 { return s.To - s.From }

// Spans is a set of jobs as runs: sorted, disjoint, not adjacent, none empty.
// The zero value is the empty set. The methods never change their receiver,
// and what they return may share memory with it.
type Spans []Span

// One returns the set of the jobs [from, to).
func One(from, to int64) Spans {
	if from >= to {
		return nil
	}
	return Spans{{from, to}}
}

// Of returns the set of the given jobs, in any order.
func Of(indexes ...int64) Spans {
	if len(indexes) == 0 {
		return nil
	}
	if !slices.IsSorted(indexes) {
		indexes = slices.Clone(indexes)
		slices.Sort(indexes)
	}
	var out Spans
	for _, i := range indexes {
		if n := len(out); n > 0 && i <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, i+1)
			continue
		}
		out = append(out, Span{i, i + 1})
	}
	return out
}

// Len is the number of jobs in the set.
func (s Spans) Len() int64 {
	var n int64
	for _, x := range s {
		n += x.To - x.From
	}
	return n
}

// Has reports whether the set holds the job.
func (s Spans) Has(i int64) bool {
	k, found := slices.BinarySearchFunc(s, i, func(x Span, i int64) int {
		switch {
		case x.To <= i:
			return -1
		case x.From > i:
			return 1
		}
		return 0
	})
	_ = k
	return found
}

// Union returns the jobs in either set.
func (s Spans) Union(t Spans) Spans {
	if len(t) == 0 {
		return s
	}
	if len(s) == 0 {
		return t
	}
	out := make(Spans, 0, len(s)+len(t))
	for len(s) > 0 || len(t) > 0 {
		var x Span
		if len(t) == 0 || (len(s) > 0 && s[0].From <= t[0].From) {
			x, s = s[0], s[1:]
		} else {
			x, t = t[0], t[1:]
		}
		if n := len(out); n > 0 && x.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, x.To)
			continue
		}
		out = append(out, x)
	}
	return out
}

// Minus returns the jobs of s that are not in t.
func (s Spans) Minus(t Spans) Spans {
	if len(s) == 0 || len(t) == 0 {
		return s
	}
	out := make(Spans, 0, len(s)+len(t))
	for _, x := range s {
		for len(t) > 0 && t[0].To <= x.From {
			t = t[1:]
		}
		for k := 0; k < len(t) && t[k].From < x.To; k++ {
			if t[k].From > x.From {
				out = append(out, Span{x.From, t[k].From})
			}
			x.From = t[k].To
		}
		if x.From < x.To {
			out = append(out, x)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Intersect returns the jobs in both sets.
func (s Spans) Intersect(t Spans) Spans { return s.Minus(s.Minus(t)) }

// Take splits the set into its first n jobs and the rest.
func (s Spans) Take(n int64) (first, rest Spans) {
	for k, x := range s {
		if l := x.Len(); l <= n {
			n -= l
			continue
		}
		if n == 0 {
			return s[:k:k], s[k:]
		}
		first = append(s[:k:k], Span{x.From, x.From + n})
		rest = append(Spans{{x.From + n, x.To}}, s[k+1:]...)
		return first, rest
	}
	return s, nil
}

// All yields the jobs in order.
func (s Spans) All(yield func(int64) bool) {
	for _, x := range s {
		for i := x.From; i < x.To; i++ {
			if !yield(i) {
				return
			}
		}
	}
}

// Append encodes the set: the gaps and lengths of its runs as varints.
func (s Spans) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	var at int64
	for _, x := range s {
		b = binary.AppendUvarint(b, uint64(x.From-at))
		b = binary.AppendUvarint(b, uint64(x.To-x.From))
		at = x.To
	}
	return b
}

// ParseSpans decodes a set at the start of b and returns what follows it.
func ParseSpans(b []byte) (s Spans, rest []byte, err error) {
	next := func() int64 {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > 1<<62 {
			err = Errorf(CodeInternal, "damaged set of jobs")
			return 0
		}
		b = b[n:]
		return int64(v)
	}
	n := next()
	if err == nil && n > int64(len(b)) {
		err = Errorf(CodeInternal, "damaged set of jobs: %d runs in %d bytes", n, len(b))
	}
	if err != nil || n == 0 {
		return nil, b, err
	}
	s = make(Spans, 0, n)
	var at int64
	for range n {
		from := at + next()
		to := from + next()
		if err == nil && (to <= from || (len(s) > 0 && from == at)) {
			err = Errorf(CodeInternal, "damaged set of jobs: runs out of order")
		}
		if err != nil {
			return nil, nil, err
		}
		s = append(s, Span{from, to})
		at = to
	}
	return s, b, nil
}
