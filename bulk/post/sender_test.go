package post

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/internal/webhook"
)

func TestSender(t *testing.T) {
	const secret, body = "a secret in plain text", `{"id":"grp_1"}`
	signer, err := webhook.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		if r.Header.Get("webhook-id") != "grp_1-1" || string(got) != body || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%v %s", r.Header, got)
		}
		signed := r.Header.Get("webhook-signature") != ""
		if err := signer.Verify(r.Header, got, time.Now()); signed && err != nil {
			t.Error(err)
		}
		switch {
		case r.URL.Path == "/signed" && !signed:
			t.Error("not signed")
		case r.URL.Path == "/failing":
			http.Error(w, "no\nway "+strings.Repeat("x", 1000), http.StatusTeapot)
		}
	})
	signed, err := NewSender(SenderOptions{Secrets: map[spillway.ActionName]string{"tag": secret}})
	if err != nil {
		t.Fatal(err)
	}
	if err := signed(t.Context(), bulk.Message{ID: "grp_1-1", URL: s.URL + "/signed", Trusted: true, Action: "tag", Body: []byte(body)}); err != nil {
		t.Error(err)
	}
	plain, err := NewSender(SenderOptions{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := plain(t.Context(), bulk.Message{ID: "grp_1-1", URL: s.URL, Trusted: false, Action: "tag", Body: []byte(body)}); err != nil {
		t.Error(err)
	}
	err = plain(t.Context(), bulk.Message{ID: "grp_1-1", URL: s.URL + "/failing", Trusted: false, Action: "tag", Body: []byte(body)})
	if err == nil || !strings.HasPrefix(err.Error(), "the callback was answered with HTTP 418 I'm a teapot: no way xxx") || len(err.Error()) > 300 {
		t.Errorf("error %v", err)
	}
	if err := plain(t.Context(), bulk.Message{ID: "grp_1-1", URL: "x", Trusted: false, Action: "tag", Body: nil}); !errors.Is(err, spillway.CodeInvalid) {
		t.Errorf("error %v", err)
	}
}

func TestSenderRefused(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	send, err := NewSender(SenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := send(t.Context(), bulk.Message{ID: "grp_1-1", URL: s.URL, Trusted: true, Action: "tag", Body: nil}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("error %v", err)
	}
	if _, err := NewSender(SenderOptions{Secrets: map[spillway.ActionName]string{"tag": "whsec_"}}); !errors.Is(err, spillway.CodeInvalid) {
		t.Errorf("bad secret: %v", err)
	}
}
