// Package webhook signs and verifies messages as Standard Webhooks does
// (github.com/standard-webhooks, spec version 1.0.0, symmetric signatures): a
// keyed SHA-256 over id, time and body, in three headers.
//
// A signature proves that the body came from a holder of the secret within
// the last five minutes. It hides nothing, and it does not prevent a replay
// within that time: receivers compare the id for that.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spillway/spillway"
)

// The headers, in Go's canonical spelling.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// Tolerance is how far a message's time may be from the verifier's (the
// value of the reference libraries).
const Tolerance = 5 * time.Minute

const (
	prefix  = "whsec_"
	version = "v1,"
)

// Signer signs with one or more secrets. It is safe for concurrent use.
type Signer struct{ keys [][]byte }

// NewSigner takes secrets as "whsec_" and base64, or as plain text, whose
// bytes are the key. With several secrets each message gets a signature per
// secret, which is how one is exchanged for another.
func NewSigner(secrets ...string) (*Signer, error) {
	s := &Signer{}
	for _, secret := range secrets {
		key, err := parseSecret(secret)
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, key)
	}
	if len(s.keys) == 0 {
		return nil, spillway.Errorf(spillway.CodeInvalid, "no webhook secret")
	}
	return s, nil
}

func parseSecret(secret string) ([]byte, error) {
	text, encoded := strings.CutPrefix(secret, prefix)
	key := []byte(text)
	if encoded {
		var err error
		key, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
		if err != nil {
			return nil, spillway.Errorf(spillway.CodeInvalid, "a webhook secret that starts with %q must go on in base64", prefix)
		}
	}
	if len(key) == 0 {
		return nil, spillway.Errorf(spillway.CodeInvalid, "the webhook secret is empty")
	}
	return key, nil
}

// Sign returns the value of the signature header, "v1,BASE64" for each
// secret. The time counts in whole seconds.
func (s *Signer) Sign(id string, at time.Time, body []byte) string {
	var out strings.Builder
	for i, key := range s.keys {
		if i > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(version)
		out.WriteString(base64.StdEncoding.EncodeToString(mac(key, id, strconv.FormatInt(at.Unix(), 10), body)))
	}
	return out.String()
}

// SetHeaders sets the three headers of a message.
func (s *Signer) SetHeaders(h http.Header, id string, at time.Time, body []byte) {
	h[HeaderID] = []string{id}
	h[HeaderTimestamp] = []string{strconv.FormatInt(at.Unix(), 10)}
	h[HeaderSignature] = []string{s.Sign(id, at, body)}
}

// Verify checks the headers of a received message at the time now: one
// signature by one of the secrets is enough. Errors have CodeUnauthorized.
func (s *Signer) Verify(h http.Header, body []byte, now time.Time) error {
	id, stamp := h.Get(HeaderID), h.Get(HeaderTimestamp)
	sent, err := strconv.ParseInt(stamp, 10, 64)
	if id == "" || err != nil {
		return spillway.Errorf(spillway.CodeUnauthorized, "webhook-id or webhook-timestamp is missing or malformed")
	}
	if tolerance := int64(Tolerance / time.Second); sent < now.Unix()-tolerance || sent > now.Unix()+tolerance {
		return spillway.Errorf(spillway.CodeUnauthorized, "webhook-timestamp is more than %v from now", Tolerance)
	}
	for field := range strings.FieldsSeq(h.Get(HeaderSignature)) {
		text, ok := strings.CutPrefix(field, version)
		given, err := base64.StdEncoding.DecodeString(text)
		if ok && err == nil && s.made(given, id, stamp, body) {
			return nil
		}
	}
	return spillway.Errorf(spillway.CodeUnauthorized, "no webhook signature fits")
}

func (s *Signer) made(given []byte, id, stamp string, body []byte) bool {
	for _, key := range s.keys {
		if hmac.Equal(given, mac(key, id, stamp, body)) {
			return true
		}
	}
	return false
}

func mac(key []byte, id, stamp string, body []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(id + "." + stamp + "."))
	m.Write(body)
	return m.Sum(nil)
}
