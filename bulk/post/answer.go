package post

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/internal/wire"
)

// maxShown is how much of an answer a reason repeats.
const maxShown = 200

// judge reads an answer. Results count whatever the status is; the status is
// for the other jobs.
func judge(status int, h http.Header, text []byte, now time.Time) ([]spillway.Outcome, error) {
	text = bytes.TrimSpace(text)
	outcomes, err := results(text)
	if status < 200 || status > 299 {
		return outcomes, refusal(status, h, text, now)
	}
	if err != nil {
		return outcomes, retry("HTTP %d: %v", status, err)
	}
	return outcomes, nil
}

// results reads {"results":[…]}, or nothing at all. Those that can be read
// are returned beside an error.
func results(text []byte) ([]spillway.Outcome, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var answer struct {
		Results *[]json.RawMessage `json:"results"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, spillway.Errorf(spillway.CodeHandler, "the answer is neither empty nor results: %w: %s", err, wire.Quote(text, maxShown))
	}
	if answer.Results == nil {
		return nil, spillway.Errorf(spillway.CodeHandler, `the answer is neither empty nor has "results": %s`, wire.Quote(text, maxShown))
	}
	var first error
	out := make([]spillway.Outcome, 0, len(*answer.Results))
	for i, r := range *answer.Results {
		o, err := wire.ParseResult(r)
		if err == nil {
			out = append(out, o)
		} else if first == nil {
			first = spillway.Errorf(spillway.CodeHandler, "result %d of the answer: %w: %s", i+1, err, wire.Quote(r, maxShown))
		}
	}
	return out, first
}

// refusal is what a status other than success means for a batch.
func refusal(status int, h http.Header, text []byte, now time.Time) *bulk.Failure {
	f := retry("HTTP %d %s", status, http.StatusText(status))
	f.Reason = strings.TrimSpace(f.Reason)
	switch {
	case status == http.StatusTooManyRequests:
		f.Status, f.Certain, f.RetryAfter = spillway.Throttled, true, retryAfter(h, now)
	case status == http.StatusServiceUnavailable:
		f.Status, f.RetryAfter = spillway.Throttled, retryAfter(h, now)
	case status >= 500:
	case status >= 300 && status < 400:
		f.Status = spillway.Failed
		f.Reason += ": redirects are not followed; the answer points to " + wire.Quote([]byte(h.Get("Location")), maxShown)
		return f
	default:
		f.Status = spillway.Failed
	}
	if len(text) > 0 {
		f.Reason += ": " + wire.Quote(text, maxShown)
	}
	return f
}

// retryAfter reads Retry-After: seconds or a date (RFC 9110, 10.2.3). 0 for
// none, for nonsense, and for the past.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		if !(s > 0) {
			return 0
		}
		return time.Duration(math.Min(s, wire.MaxRetryAfter.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), wire.MaxRetryAfter)
	}
	return 0
}
