// Package post is the handler that POSTs batches of jobs to a URL, and the
// sender of callbacks.
//
// What it guarantees: no request is sent twice by itself; redirects are not
// followed; a URL that is not trusted reaches public addresses only, checked
// at each connection; a refused connection is told apart from an answer that
// did not come, since after the first nothing can have taken effect.
//
// What it costs: an HTTP/1.1 request per batch over connections that are kept
// and reused, and memory for one batch and its answer per worker.
package post

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/internal/webhook"
	"github.com/spillway/spillway/internal/wire"
)

// Options of a handler or a sender.
type Options struct {
	// Secret signs requests as Standard Webhooks does: "whsec_" and base64,
	// or plain text. Empty: not signed.
	Secret string
	// Trusted URLs come from the operator and may reach private addresses;
	// the proxy of the environment is used for them.
	Trusted bool
	// MaxAnswer is the most bytes of an answer that are read. Default 64 MiB.
	MaxAnswer int64
}

func (o Options) withDefaults() Options {
	if o.MaxAnswer == 0 {
		o.MaxAnswer = 64 << 20
	}
	return o
}

func (o Options) signer() (*webhook.Signer, error) {
	switch {
	case o.MaxAnswer < 0:
		return nil, spillway.Errorf(spillway.CodeInvalid, "max answer %d is below 0", o.MaxAnswer)
	case o.Secret == "":
		return nil, nil
	}
	return webhook.NewSigner(o.Secret)
}

type handler struct {
	options   Options
	url       *url.URL
	login     string // value of Authorization, from the URL
	signer    *webhook.Signer
	transport *http.Transport
}

// New makes a handler that POSTs each batch to a URL. The time-out is the
// context's.
func New(rawURL string, o Options) (bulk.Handler, error) {
	o = o.withDefaults()
	u, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	signer, err := o.signer()
	if err != nil {
		return nil, err
	}
	h := &handler{options: o, url: u, login: login(u), signer: signer, transport: newTransport(o.Trusted)}
	return h.handle, nil
}

// login is what a URL's user and password are sent as.
func login(u *url.URL) string {
	if u.User == nil {
		return ""
	}
	password, _ := u.User.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
}

func (h *handler) handle(ctx context.Context, b *bulk.Batch) ([]spillway.Outcome, error) {
	began := time.Now()
	p := newPayload(b)
	defer p.release()
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected = true },
	})
	resp, err := h.transport.RoundTrip(h.request(ctx, p))
	if err != nil {
		return nil, h.broken(ctx, began, connected, err)
	}
	defer resp.Body.Close()
	buf := answers.Get().(*bytes.Buffer)
	defer keep(buf)
	n, err := buf.ReadFrom(io.LimitReader(resp.Body, h.options.MaxAnswer+1))
	reason := wire.StopReason(ctx, began)
	switch {
	case err != nil && reason != "":
		return nil, retry("%s", reason)
	case err != nil:
		return nil, retry("HTTP %d: the answer broke off: %v", resp.StatusCode, err)
	case n > h.options.MaxAnswer:
		return nil, retry("HTTP %d: the answer is larger than %d bytes", resp.StatusCode, h.options.MaxAnswer)
	}
	return judge(resp.StatusCode, resp.Header, buf.Bytes(), time.Now())
}

var answers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func keep(buf *bytes.Buffer) {
	if buf.Cap() <= maxPooled {
		buf.Reset()
		answers.Put(buf)
	}
}

func (h *handler) request(ctx context.Context, p *payload) *http.Request {
	r := &http.Request{
		Method: http.MethodPost, URL: h.url, Host: h.url.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: newHeader(), Body: p.open(), ContentLength: int64(len(p.text)),
		GetBody: func() (io.ReadCloser, error) { return p.open(), nil },
	}
	if h.login != "" {
		r.Header["Authorization"] = []string{h.login}
	}
	if h.signer != nil {
		// A new id for each delivery: a throttled batch comes again unchanged,
		// and must not look like a duplicate. Jobs have their own keys.
		h.signer.SetHeaders(r.Header, "msg_"+rand.Text(), time.Now(), p.text)
	}
	return r.WithContext(ctx)
}

func newHeader() http.Header {
	return http.Header{"Content-Type": {"application/json"}, "User-Agent": {"spillway"}}
}
