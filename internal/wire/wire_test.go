package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway/spillway"
)

func TestAppendJob(t *testing.T) {
	for _, c := range []struct {
		name string
		job  spillway.Job
		want string
	}{
		{"plain", spillway.Job{Index: 17, Attempt: 1, Key: "g-17", Data: []byte(`{"a":1}`)}, `"index":17,"attempt":1,"key":"g-17","data":{"a":1}`},
		{"no data", spillway.Job{Key: "k"}, `"index":0,"attempt":0,"key":"k","data":null`},
		{"line breaks", spillway.Job{Attempt: 2, Key: "k", Data: []byte("{\n\"a\":\r\n1}\n")}, `"index":0,"attempt":2,"key":"k","data":{ "a":  1} `},
		{"escapes", spillway.Job{Key: "a\"\\\n\x01é"}, `"index":0,"attempt":0,"key":"a\"\\\n\u0001é","data":null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, string(AppendJob(nil, &c.job))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseResult(t *testing.T) {
	for _, c := range []struct {
		text string
		want spillway.Outcome
	}{
		{`{"index":3}`, spillway.Outcome{Index: 3}},
		{`{"index":3,"status":"ok"}`, spillway.Outcome{Index: 3}},
		{`{"index": 30, "status": "ok"}`, spillway.Outcome{Index: 30}},
		{`{"status":"failed","error":"no","index":3,"more":1}`, spillway.Outcome{Index: 3, Status: spillway.Failed, Error: "no"}},
		{`{"index":3,"status":"retry","retry_after_ms":500}`, spillway.Outcome{Index: 3, Status: spillway.Retry, RetryAfter: 500 * time.Millisecond}},
		{`{"index":3,"status":"throttled","retry_after_ms":1e300}`, spillway.Outcome{Index: 3, Status: spillway.Throttled, RetryAfter: MaxRetryAfter}},
		{`{"index":3,"status":"skipped","value":{"n":[1]}}`, spillway.Outcome{Index: 3, Status: spillway.Skipped, Value: []byte(`{"n":[1]}`)}},
		{`{"index":3,"value":null}`, spillway.Outcome{Index: 3}},
		{`{"index":-3}`, spillway.Outcome{Index: -3}},
	} {
		got, err := ParseResult([]byte(c.text))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", c.text, err, diff)
		}
	}
	for _, text := range []string{``, `x`, `[]`, `{}`, `{"index":"3"}`, `{"index":1.5}`, `{"index":01}`, `{"index":1,"status":"done"}`, `{"index":1,"status":"in_doubt"}`, `{"index":1,"retry_after_ms":-1}`, `{"index":1}{"index":2}`} {
		if o, err := ParseResult([]byte(text)); !errors.Is(err, spillway.CodeHandler) {
			t.Errorf("%s: %v %v, want an error of the handler", text, o, err)
		}
	}
}

func TestStopReason(t *testing.T) {
	began := time.Now()
	if got := StopReason(t.Context(), began); got != "" {
		t.Errorf("running: %q", got)
	}
	past, cancel := context.WithDeadline(t.Context(), began.Add(-30*time.Second))
	defer cancel()
	if got := StopReason(past, began.Add(-time.Minute)); got != "timed out after 30s" {
		t.Errorf("deadline: %q", got)
	}
	caused, stop := context.WithCancelCause(t.Context())
	stop(errors.New("timed out after 9s"))
	if got := StopReason(caused, began); got != "timed out after 9s" {
		t.Errorf("cause: %q", got)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if got := StopReason(stopped, began); got != "broken off: the engine stopped" {
		t.Errorf("cancelled: %q", got)
	}
}

func TestQuote(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{" a\tb\n", 10, "a b"}, {"abcdef", 3, "abc…"}, {"aéé", 4, "aé…"}, {"a\xff", 9, "a\ufffd"}, {"\xff\xff\xff\xff\xff", 4, "\ufffd…"},
	} {
		if got := Quote([]byte(c.text), c.n); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

// FuzzParseResult compares the short way with encoding/json.
func FuzzParseResult(f *testing.F) {
	for _, s := range []string{`{"index":3}`, `{"index": 7,"status":"ok"}`, `{"index":00}`, `{"index":999999999999999999}`, `{"index":1,"value":[1,{}],"status":"retry","retry_after_ms":1e9}`, `{"index":9223372036854775808}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := ParseResult(text)
		var r result
		want, slow := spillway.Outcome{}, json.Unmarshal(text, &r)
		if slow == nil {
			want, slow = r.outcome()
		}
		if (err == nil) != (slow == nil) {
			t.Fatalf("%q: %v, but encoding/json says %v", text, err, slow)
		}
		if err == nil && !cmp.Equal(got, want) {
			t.Fatalf("%q: %s", text, cmp.Diff(want, got))
		}
	})
}

func FuzzAppendJob(f *testing.F) {
	f.Add("key", []byte(`{"a":"b"}`))
	f.Add("\"\xff\u2028\x7f", []byte("[1,\n2]"))
	f.Fuzz(func(t *testing.T, key string, data []byte) {
		if !json.Valid(data) {
			data = nil
		}
		line := AppendJob([]byte{'{'}, &spillway.Job{Key: key, Data: data})
		line = append(line, '}')
		if bytes.ContainsAny(line, "\r\n") {
			t.Fatalf("%q is more than a line", line)
		}
		var got struct {
			Key  string
			Data json.RawMessage
		}
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if utf8.ValidString(key) && got.Key != key {
			t.Fatalf("key %q became %q", key, got.Key)
		}
	})
}

func BenchmarkAppendJob(b *testing.B) {
	j := spillway.Job{Index: 123456, Attempt: 1, Key: "grp_01jz5w3v9k7m8n2p4q6r8s0t1v-123456", Data: []byte(`{"customer_id":"c-0000123456","tag":"spring","note":"a row of an ordinary size, about a hundred bytes"}`)}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendJob(buf[:0], &j)
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkParseResult(b *testing.B) {
	for _, text := range []string{`{"index":123456,"status":"ok"}`, `{"index":123456,"status":"failed","error":"no such customer"}`} {
		b.Run(text[16:], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseResult([]byte(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
