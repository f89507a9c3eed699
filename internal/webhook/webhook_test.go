package webhook

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway/spillway"
)

// The example of the Standard Webhooks reference libraries' tests.
const (
	vectorSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorBody      = `{"test": 2432232314}`
	vectorSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

var vectorTime = time.Unix(1614265330, 0)

func signer(t testing.TB, secrets ...string) *Signer {
	t.Helper()
	s, err := NewSigner(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func headers(signature string) http.Header {
	h := http.Header{}
	h.Set("webhook-id", vectorID)
	h.Set("webhook-timestamp", "1614265330")
	h.Set("webhook-signature", signature)
	return h
}

func TestSignKnownVector(t *testing.T) {
	got := signer(t, vectorSecret).Sign(vectorID, vectorTime, []byte(vectorBody))
	if got != vectorSignature {
		t.Errorf("signature %s, want %s", got, vectorSignature)
	}
}

func TestVerify(t *testing.T) {
	s := signer(t, vectorSecret)
	for _, c := range []struct {
		name   string
		change func(h http.Header)
		body   string
		late   time.Duration
		ok     bool
	}{
		{name: "as sent", ok: true},
		{name: "at the tolerance", late: Tolerance, ok: true},
		{name: "too late", late: Tolerance + time.Second},
		{name: "at the tolerance before", late: -Tolerance, ok: true},
		{name: "too early", late: -Tolerance - time.Second},
		{name: "other body", body: "{}"},
		{name: "other id", change: func(h http.Header) { h.Set("webhook-id", "msg_2") }},
		{name: "other time", change: func(h http.Header) { h.Set("webhook-timestamp", "1614265331") }},
		{name: "no id", change: func(h http.Header) { h.Del("webhook-id") }},
		{name: "no time", change: func(h http.Header) { h.Del("webhook-timestamp") }},
		{name: "extreme time", change: func(h http.Header) { h.Set("webhook-timestamp", "-9223372036854775808") }},
		{name: "no signature", change: func(h http.Header) { h.Del("webhook-signature") }},
		{name: "other version", change: func(h http.Header) { h.Set("webhook-signature", "v2"+vectorSignature[2:]) }},
		{name: "empty signature", change: func(h http.Header) { h.Set("webhook-signature", "v1,") }},
		{name: "second of several", ok: true, change: func(h http.Header) {
			h.Set("webhook-signature", "v1,AAAA v1a,xx v1,!! "+vectorSignature)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := headers(vectorSignature)
			if c.change != nil {
				c.change(h)
			}
			body := vectorBody
			if c.body != "" {
				body = c.body
			}
			err := s.Verify(h, []byte(body), vectorTime.Add(c.late))
			if c.ok && err != nil || !c.ok && !errors.Is(err, spillway.CodeUnauthorized) {
				t.Errorf("verified %v, want ok %v", err, c.ok)
			}
		})
	}
}

func TestRotation(t *testing.T) {
	both := signer(t, "an older secret in plain text", vectorSecret)
	h := http.Header{}
	both.SetHeaders(h, vectorID, vectorTime, []byte(vectorBody))
	if !strings.HasSuffix(h.Get(HeaderSignature), " "+vectorSignature) {
		t.Errorf("signatures %q", h.Get(HeaderSignature))
	}
	for _, one := range []*Signer{signer(t, vectorSecret), signer(t, "an older secret in plain text"), both} {
		if err := one.Verify(h, []byte(vectorBody), vectorTime); err != nil {
			t.Error(err)
		}
	}
	if err := signer(t, "a third").Verify(h, []byte(vectorBody), vectorTime); err == nil {
		t.Error("verified with a secret that did not sign")
	}
}

func TestSecrets(t *testing.T) {
	for _, secrets := range [][]string{nil, {""}, {"whsec_"}, {"whsec_not base64"}, {vectorSecret, ""}} {
		if _, err := NewSigner(secrets...); !errors.Is(err, spillway.CodeInvalid) {
			t.Errorf("%q: %v", secrets, err)
		}
	}
	for _, secret := range []string{"plain", "whsec_YWI=", "whsec_YWI"} {
		if _, err := NewSigner(secret); err != nil {
			t.Errorf("%q: %v", secret, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(vectorID, "1614265330", vectorSignature, []byte(vectorBody))
	f.Add("", "-1", "v1, v1,=", []byte(nil))
	s := signer(f, vectorSecret)
	f.Fuzz(func(t *testing.T, id, stamp, signature string, body []byte) {
		h := http.Header{HeaderID: {id}, HeaderTimestamp: {stamp}, HeaderSignature: {signature}}
		if err := s.Verify(h, body, vectorTime); err == nil && !strings.Contains(signature, s.Sign(id, vectorTime, body)) && stamp == "1614265330" {
			t.Errorf("verified %q without its signature", signature)
		}
		s.SetHeaders(h, id, vectorTime, body)
		if err := s.Verify(h, body, vectorTime); err != nil && id != "" {
			t.Errorf("its own signature does not verify: %v", err)
		}
	})
}
