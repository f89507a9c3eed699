package post

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/internal/webhook"
	"github.com/spillway/spillway/internal/wire"
)

// sendWait bounds one callback.
const sendWait = 30 * time.Second

type sender struct {
	signer  *webhook.Signer
	trusted bool
	private *http.Transport // for trusted URLs
	public  *http.Transport
}

// NewSender makes the sender of callbacks. With Options.Trusted every URL is
// trusted, whatever the call says. An answer other than 2xx is an error, and
// so is a redirect; 30 seconds are allowed.
func NewSender(o Options) (bulk.Sender, error) {
	signer, err := o.withDefaults().signer()
	if err != nil {
		return nil, err
	}
	s := &sender{signer: signer, trusted: o.Trusted, private: newTransport(true), public: newTransport(false)}
	return s.send, nil
}

func (s *sender) send(ctx context.Context, id, rawURL string, trusted bool, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, sendWait)
	defer cancel()
	u, err := parseURL(rawURL)
	if err != nil {
		return err
	}
	transport := s.public
	if trusted || s.trusted {
		transport = s.private
	}
	r, err := s.request(ctx, u, id, text)
	if err != nil {
		return err
	}
	resp, err := transport.RoundTrip(r)
	switch {
	case err == nil:
		return verdict(resp)
	case forbidden(err):
		return privateAddress(u.Hostname())
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the callback to %s timed out: %w", u.Host, err)
	}
	return fmt.Errorf("the callback to %s failed: %w", u.Host, err)
}

func (s *sender) request(ctx context.Context, u *url.URL, id string, text []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Header = newHeader()
	if l := login(u); l != "" {
		r.Header["Authorization"] = []string{l}
	}
	if s.signer != nil {
		s.signer.SetHeaders(r.Header, id, time.Now(), text)
	} else {
		r.Header[webhook.HeaderID] = []string{id}
	}
	return r, nil
}

func verdict(resp *http.Response) error {
	defer resp.Body.Close()
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be kept
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4*maxShown))
	message := strings.TrimSuffix(resp.Status+": "+wire.Quote(text, maxShown), ": ")
	return spillway.Errorf(spillway.CodeUnavailable, "the callback was answered with HTTP %s", message)
}
