package post

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/internal/webhook"
	"github.com/spillway/spillway/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func batch(n int) *bulk.Batch {
	b := &bulk.Batch{Group: "grp_1", Tenant: "acme", Action: "tag", Resource: "customers"}
	for i := range n {
		b.Jobs = append(b.Jobs, spillway.Job{Index: int64(i), Attempt: 1, Key: fmt.Sprintf("grp_1-%d", i), Data: []byte(`{"id":"c"}`)})
	}
	return b
}

func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func open(t testing.TB, url string, o Options) bulk.Handler {
	t.Helper()
	o.Trusted = true
	h, err := New(url, o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestRequest(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	signer, err := webhook.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := signer.Verify(r.Header, body, time.Now()); err != nil {
			t.Error(err)
		}
		ids[r.Header.Get("webhook-id")] = true
		user, password, _ := r.BasicAuth()
		got := []string{r.Method, r.URL.String(), r.Header.Get("Content-Type"), user, password, string(body)}
		want := []string{"POST", "/tag?a=b", "application/json", "me", "pw", `{"group":"grp_1","tenant":"acme","action":"tag","resource":"customers","jobs":[` +
			`{"index":0,"attempt":1,"key":"grp_1-0","data":{"id":"c"}},{"index":1,"attempt":1,"key":"grp_1-1","data":{"id":"c"}}]}`}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if r.Header.Get("Idempotency-Key") != "" {
			t.Error("net/http would send the request twice")
		}
	})
	h := open(t, strings.Replace(s.URL, "http://", "http://me:pw@", 1)+"/tag?a=b", Options{Secret: secret})
	for range 2 {
		if out, err := h(t.Context(), batch(2)); out != nil || err != nil {
			t.Error(out, err)
		}
	}
	if len(ids) != 2 {
		t.Errorf("ids %v, want one for each delivery", ids)
	}
}

func TestAnswers(t *testing.T) {
	failure := func(s spillway.Status, reason string) bulk.Failure { return bulk.Failure{Status: s, Reason: reason} }
	for _, c := range []struct {
		name    string
		status  int
		after   string
		body    string
		want    []spillway.Outcome
		failure bulk.Failure // a Reason that ends in … is the beginning of one
	}{
		{name: "empty 200", status: 200},
		{name: "blank 200", status: 200, body: " \n"},
		{name: "204", status: 204},
		{name: "results", status: 200, body: `{"results":[{"index":1,"status":"failed","error":"no"},{"index":0,"value":[1]}]}`, want: []spillway.Outcome{
			{Index: 1, Status: spillway.Failed, Error: "no"}, {Index: 0, Value: []byte("[1]")},
		}},
		{name: "no results", status: 200, body: `{"results":[]}`, want: []spillway.Outcome{}},
		{name: "foreign results passed on", status: 201, body: `{"results":[{"index":9},{"index":9}]}`, want: []spillway.Outcome{{Index: 9}, {Index: 9}}},
		{name: "one bad result", status: 200, body: `{"results":[{"index":1},{"index":0,"status":"done"}]}`, want: []spillway.Outcome{{Index: 1}}, failure: failure(spillway.Retry, `HTTP 200: result 2 of the answer: unknown status "done"…`)},
		{name: "garbage", status: 200, body: "OK", failure: failure(spillway.Retry, "HTTP 200: the answer is neither empty nor results: invalid character 'O' looking for beginning of value: OK")},
		{name: "other JSON", status: 200, body: `{"ok":true}`, failure: failure(spillway.Retry, `HTTP 200: the answer is neither empty nor has "results": {"ok":true}`)},
		{name: "too large", status: 200, body: strings.Repeat(" ", 5000), failure: failure(spillway.Retry, "HTTP 200: the answer is larger than 4096 bytes")},
		{name: "429", status: 429, body: "slow down", failure: bulk.Failure{Status: spillway.Throttled, Reason: "HTTP 429 Too Many Requests: slow down", Certain: true}},
		{name: "429 with seconds", status: 429, after: "7", failure: bulk.Failure{Status: spillway.Throttled, Reason: "HTTP 429 Too Many Requests", Certain: true, RetryAfter: 7 * time.Second}},
		{name: "503", status: 503, failure: failure(spillway.Throttled, "HTTP 503 Service Unavailable")},
		{name: "503 with seconds", status: 503, after: "2", failure: bulk.Failure{Status: spillway.Throttled, Reason: "HTTP 503 Service Unavailable", RetryAfter: 2 * time.Second}},
		{name: "503 with results", status: 503, body: `{"results":[{"index":0,"status":"throttled"}]}`, want: []spillway.Outcome{{Status: spillway.Throttled}}, failure: failure(spillway.Throttled, "HTTP 503…")},
		{name: "500", status: 500, after: "7", body: "<b>oops\n</b>", failure: failure(spillway.Retry, "HTTP 500 Internal Server Error: <b>oops </b>")},
		{name: "599", status: 599, failure: failure(spillway.Retry, "HTTP 599")},
		{name: "404", status: 404, body: strings.Repeat("x", 1000), failure: failure(spillway.Failed, "HTTP 404 Not Found: "+strings.Repeat("x", 200)+"…")},
		{name: "400", status: 400, failure: failure(spillway.Failed, "HTTP 400 Bad Request")},
		{name: "redirect", status: 307, failure: failure(spillway.Failed, "HTTP 307 Temporary Redirect: redirects are not followed; the answer points to /elsewhere")},
	} {
		t.Run(c.name, func(t *testing.T) {
			var calls atomic.Int32
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				if c.after != "" {
					w.Header().Set("Retry-After", c.after)
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			out, err := open(t, s.URL, Options{MaxAnswer: 4096})(t.Context(), batch(3))
			if diff := cmp.Diff(c.want, out); diff != "" {
				t.Error(diff)
			}
			checkFailure(t, err, c.failure)
			if n := calls.Load(); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func checkFailure(t *testing.T, err error, want bulk.Failure) {
	t.Helper()
	var got bulk.Failure
	if f := new(bulk.Failure); errors.As(err, &f) {
		got = *f
	} else if err != nil {
		t.Errorf("error %#v is no failure", err)
	}
	if begin, ok := strings.CutSuffix(want.Reason, "…"); ok && strings.HasPrefix(got.Reason, begin) {
		got.Reason = want.Reason
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "x": 0, "0": 0, "-5": 0, "NaN": 0, "120": 2 * time.Minute, "0.5": 500 * time.Millisecond, "1e99": wire.MaxRetryAfter,
		"Tue, 01 Dec 2026 09:00:30 GMT": 30 * time.Second, "Tue, 01 Dec 2020 09:00:30 GMT": 0, "Tue, 01 Dec 2099 09:00:30 GMT": wire.MaxRetryAfter,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	_, err := open(t, s.URL, Options{})(t.Context(), batch(1))
	checkFailure(t, err, bulk.Failure{Status: spillway.Retry, Reason: "dial tcp…", Certain: true, Down: true})
}

func TestNoSuchHost(t *testing.T) {
	err := (&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "x.invalid", IsNotFound: true}})
	h := &handler{}
	checkFailure(t, h.broken(t.Context(), time.Now(), false, err), bulk.Failure{Status: spillway.Retry, Reason: "dial: lookup x.invalid: no such host", Certain: true, Down: true})
}

func TestTimeOut(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	release := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel(errors.New("timed out after 30s"))
		<-release
	})
	defer close(release)
	_, err := open(t, s.URL, Options{})(ctx, batch(1))
	checkFailure(t, err, bulk.Failure{Status: spillway.Retry, Reason: "timed out after 30s"})
	// Before anything was sent.
	_, err = open(t, s.URL, Options{})(ctx, batch(1))
	checkFailure(t, err, bulk.Failure{Status: spillway.Retry, Reason: "timed out after 30s", Certain: true})
}

func TestTimeOutWithinTheAnswer(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"results":[`)
		_ = http.NewResponseController(w).Flush()
		cancel(errors.New("timed out after 30s"))
		<-r.Context().Done()
	})
	_, err := open(t, s.URL, Options{})(ctx, batch(1))
	checkFailure(t, err, bulk.Failure{Status: spillway.Retry, Reason: "timed out after 30s"})
}

func TestBrokenAnswer(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"results":[`)
	})
	_, err := open(t, s.URL, Options{})(t.Context(), batch(1))
	checkFailure(t, err, bulk.Failure{Status: spillway.Retry, Reason: "HTTP 200: the answer broke off: unexpected EOF"})
}

// A connection that is closed under a request, a kept one, too: the request
// may have taken effect, so it is not repeated.
func TestNeverSentTwice(t *testing.T) {
	var calls atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if calls.Add(1) > 1 {
			panic(http.ErrAbortHandler)
		}
	})
	h := open(t, s.URL, Options{})
	if _, err := h(t.Context(), batch(1)); err != nil {
		t.Fatal(err)
	}
	_, err := h(t.Context(), batch(1))
	var f *bulk.Failure
	if !errors.As(err, &f) || f.Certain || f.Down || f.Status != spillway.Retry {
		t.Errorf("error %#v", err)
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("%d requests for two batches", n)
	}
}

// The server answers without reading: the buffer is in use for longer than
// the call, and must not carry the next batch yet.
func TestEarlyAnswers(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/early" {
			w.WriteHeader(400)
			return
		}
		body, _ := io.ReadAll(r.Body)
		if !strings.HasPrefix(string(body), `{"group":"grp_1"`) || !strings.HasSuffix(string(body), `}]}`) {
			t.Errorf("damaged body of %d bytes", len(body))
		}
	})
	early, whole := open(t, s.URL+"/early", Options{}), open(t, s.URL, Options{})
	for range 50 {
		_, _ = early(t.Context(), batch(1000))
		if _, err := whole(t.Context(), batch(500)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestInvalid(t *testing.T) {
	for _, url := range []string{"", "localhost:80", "ftp://x/", "http://", "http://:80/", "http://x:0/", "http://x:99999/", "http://x y/", "/path"} {
		if _, err := New(url, Options{}); !errors.Is(err, spillway.CodeInvalid) {
			t.Errorf("%q: %v", url, err)
		}
	}
	for name, o := range map[string]Options{"secret": {Secret: "whsec_?"}, "limit": {MaxAnswer: -1}} {
		if _, err := New("http://127.0.0.1/", o); !errors.Is(err, spillway.CodeInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(200, "1", []byte(`{"results":[{"index":0,"status":"retry","retry_after_ms":1}]}`))
	f.Add(503, "Tue, 01 Dec 2026 09:00:30 GMT", []byte(`{"results":null}`))
	f.Add(204, "", []byte(nil))
	f.Fuzz(func(t *testing.T, status int, after string, text []byte) {
		out, err := judge(status, http.Header{"Retry-After": {after}}, text, time.Now())
		var f *bulk.Failure
		switch errors.As(err, &f); {
		case err != nil && (f == nil || f.Reason == "" || f.RetryAfter < 0 || len(f.Reason) > 2000):
			t.Fatalf("%#v", err)
		case err == nil && (status < 200 || status > 299):
			t.Fatalf("%d is a success", status)
		case len(out) > len(text)/len(`{"index":0}`):
			t.Fatalf("%d results in %q", len(out), text)
		}
	})
}
