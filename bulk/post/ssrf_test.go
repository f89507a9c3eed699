package post

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
)

// private are ways to write addresses that are not public.
var private = []string{
	"127.0.0.1", "localhost", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
	"[::1]", "[::]", "[fe80::1]", "[fd00::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "255.255.255.255",
}

func TestUntrustedReachesNothingPrivate(t *testing.T) {
	var calls atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { calls.Add(1) })
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	t.Setenv("HTTP_PROXY", s.URL) // must not be used
	send, err := NewSender(SenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range private {
		url := "http://" + host + port + "/"
		h, err := New(url, Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = h(t.Context(), batch(1))
		checkFailure(t, err, bulk.Failure{Status: spillway.Failed, Reason: strings.Trim(host, "[]") + " resolves to an address that is not public…", Certain: true})
		if err := send(t.Context(), bulk.Message{ID: "msg_1", URL: url, Trusted: false}); !errors.Is(err, spillway.CodePrivateAddress) {
			t.Errorf("callback to %s: %v", host, err)
		}
		if err := CheckURL(url, false); !errors.Is(err, spillway.CodePrivateAddress) {
			t.Errorf("check of %s: %v", host, err)
		}
		if err := CheckURL(url, true); err != nil {
			t.Errorf("check of %s where private ones are allowed: %v", host, err)
		}
	}
	if calls.Load() > 0 {
		t.Error("the server was reached")
	}
}

// A redirect to a private address is not followed; this server is trusted, so
// that it can be reached at all.
func TestRedirectIsNotFollowed(t *testing.T) {
	var paths []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		http.Redirect(w, r, "/private", http.StatusFound)
	})
	send, err := NewSender(SenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := send(t.Context(), bulk.Message{ID: "msg_1", URL: s.URL + "/a", Trusted: true}); err == nil || !strings.Contains(err.Error(), "HTTP 302 Found") {
		t.Errorf("error %v", err)
	}
	if len(paths) != 1 {
		t.Errorf("requests to %v", paths)
	}
}

func TestCheckURL(t *testing.T) {
	for _, url := range []string{"http://8.8.8.8/", "https://8.8.8.8:8443/hook?x=1", "http://[2606:4700::1111]:81/", "http://[::ffff:8.8.8.8]/"} {
		if err := CheckURL(url, false); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{"ftp://8.8.8.8/", "http://", "x"} {
		for _, allow := range []bool{true, false} {
			if err := CheckURL(url, allow); !errors.Is(err, spillway.CodeInvalid) {
				t.Errorf("%s: %v", url, err)
			}
		}
	}
}

func FuzzCheckURL(f *testing.F) {
	for _, host := range private {
		f.Add("http://" + host + ":80/")
	}
	f.Add("https://8.8.8.8/\x00")
	f.Add("http://user:pw@10.0.0.1/")
	f.Fuzz(func(t *testing.T, raw string) {
		if err := CheckURL(raw, true); err == nil && !strings.HasPrefix(strings.ToLower(raw), "http") {
			t.Errorf("%q passed", raw)
		}
		if r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, raw, nil); err != nil && CheckURL(raw, true) == nil {
			t.Errorf("%q passed, but %v is requested: %v", raw, r, err)
		}
	})
}
