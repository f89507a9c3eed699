package bulk

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spillway/spillway"
)

// Count counts the values: {"count":n}.
// Sum adds up the numbers among them: {"count":n,"sum":x}.
// GroupBy counts equal values: {"count":n,"groups":{"value":n,…},"other":n},
// up to MaxGroupValues distinct ones.
//
// With a field, the value of that field of each value, an object, is taken.
func Count() Reducer               { return tally{} }
func Sum(field string) Reducer     { return tally{field: field, sum: true} }
func GroupBy(field string) Reducer { return tally{field: field, group: true} }

// MaxGroupValues bounds the distinct values that GroupBy tells apart.
const MaxGroupValues = 1000

// ReducerNamed returns a built-in reducer: count, sum, group, sum:FIELD or
// group:FIELD; nil for "".
func ReducerNamed(name string) (Reducer, error) {
	kind, field, _ := strings.Cut(name, ":")
	switch kind {
	case "":
		return nil, nil
	case "count":
		return Count(), nil
	case "sum":
		return Sum(field), nil
	case "group":
		return GroupBy(field), nil
	}
	return nil, spillway.Errorf(spillway.CodeInvalid, "reduce %q: use count, sum, group, sum:FIELD or group:FIELD", name)
}

// tally is the built-in reducers.
type tally struct {
	field      string
	sum, group bool
}

// tallied is a part, and the result.
type tallied struct {
	Count  int64            `json:"count"`
	Sum    *float64         `json:"sum,omitempty"`
	Groups map[string]int64 `json:"groups,omitempty"`
	Other  int64            `json:"other,omitempty"`
}

func (t tally) Map(values []JobValue) (json.RawMessage, error) {
	out := t.empty()
	for _, v := range values {
		raw := v.Value
		if t.field != "" {
			var object map[string]json.RawMessage
			if json.Unmarshal(raw, &object) != nil || object[t.field] == nil {
				continue
			}
			raw = object[t.field]
		}
		var number float64
		if t.sum {
			if json.Unmarshal(raw, &number) != nil {
				continue
			}
			*out.Sum += number
		}
		out.Count++
		if t.group {
			out.add(plain(raw), 1)
		}
	}
	return json.Marshal(out)
}

func (t tally) Reduce(parts []json.RawMessage) (json.RawMessage, error) {
	out := t.empty()
	for _, p := range parts {
		var x tallied
		if err := json.Unmarshal(p, &x); err != nil {
			return nil, fmt.Errorf("a part of the result is damaged: %w", err)
		}
		out.Count += x.Count
		out.Other += x.Other
		if out.Sum != nil && x.Sum != nil {
			*out.Sum += *x.Sum
		}
		for value, n := range x.Groups {
			out.add(value, n)
		}
	}
	return json.Marshal(out)
}

func (t tally) empty() *tallied {
	out := &tallied{}
	if t.sum {
		out.Sum = new(float64)
	}
	if t.group {
		out.Groups = map[string]int64{}
	}
	return out
}

func (t *tallied) add(value string, n int64) {
	if _, known := t.Groups[value]; !known && len(t.Groups) >= MaxGroupValues {
		t.Other += n
		return
	}
	t.Groups[value] += n
}

// plain is a JSON value as a key: strings without their quotes.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
