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

// SenderOptions are the settings of a sender.
type SenderOptions struct {
	// Secrets sign the callbacks of the groups of each action, as Options.Secret
	// signs the action's requests. Those of other actions are not signed.
	Secrets map[spillway.ActionName]string
	// Trusted makes every URL trusted, whatever the message says.
	Trusted bool
}

type sender struct {
	signers map[spillway.ActionName]*webhook.Signer
	trusted bool
	private *http.Transport // for trusted URLs
	public  *http.Transport
}

// NewSender makes the sender of callbacks. An answer other than 2xx is an
// error, and so is a redirect; 30 seconds are allowed.
func NewSender(o SenderOptions) (bulk.Sender, error) {
	s := &sender{
		signers: map[spillway.ActionName]*webhook.Signer{}, trusted: o.Trusted,
		private: newTransport(true), public: newTransport(false),
	}
	for action, secret := range o.Secrets {
		var err error
		if s.signers[action], err = webhook.NewSigner(secret); err != nil {
			return nil, err
		}
	}
	return s.send, nil
}

func (s *sender) send(ctx context.Context, m bulk.Message) error {
	ctx, cancel := context.WithTimeout(ctx, sendWait)
	defer cancel()
	u, err := parseURL(m.URL)
	if err != nil {
		return err
	}
	transport := s.public
	if m.Trusted || s.trusted {
		transport = s.private
	}
	r, err := s.request(ctx, u, m)
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

func (s *sender) request(ctx context.Context, u *url.URL, m bulk.Message) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(m.Body))
	if err != nil {
		return nil, err
	}
	r.Header = newHeader()
	if l := login(u); l != "" {
		r.Header["Authorization"] = []string{l}
	}
	if signer := s.signers[m.Action]; signer != nil {
		signer.SetHeaders(r.Header, m.ID, time.Now(), m.Body)
	} else {
		r.Header[webhook.HeaderID] = []string{m.ID}
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
