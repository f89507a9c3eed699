package post

import (
	"net"
	"net/http"
	"time"

	"code.dny.dev/ssrf"
)

const (
	// dialWait bounds connecting to one address and, apart, the TLS handshake.
	dialWait = 10 * time.Second
	// idleWait is when an unused connection is closed: before the servers in
	// common use do it (gunicorn 2 s, Node 5 s, nginx 75 s), so that a request
	// seldom meets a connection that is just being closed.
	idleWait = time.Second
	// maxIdle is the number of idle connections per host: above any number of
	// workers that makes sense, so that none is opened twice under load.
	maxIdle = 4096
)

// newTransport makes the connections of one handler or sender.
//
// A request is never sent twice. net/http repeats a POST by itself only if
// nothing was written to the connection, or if the request carries an
// Idempotency-Key header; so that header is never set, whatever the group's
// delivery: a batch does not know it. A connection that the server closes
// while a request is under way is therefore an error, uncertain, and the
// engine decides. HTTP/2 is off: its one connection per host would carry all
// workers, and large bodies would wait for each other.
func newTransport(trusted bool) *http.Transport {
	dialer := &net.Dialer{Timeout: dialWait, KeepAlive: 30 * time.Second}
	t := &http.Transport{
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    dialWait,
		IdleConnTimeout:        idleWait,
		MaxIdleConnsPerHost:    maxIdle,
		MaxResponseHeaderBytes: 64 << 10,
		WriteBufferSize:        32 << 10,
		ReadBufferSize:         16 << 10,
		DisableCompression:     true,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	if trusted {
		t.Proxy = http.ProxyFromEnvironment
		return t
	}
	// Checked after the name was resolved, for each address that is dialled:
	// a name that changes its mind gains nothing. A proxy would dial instead
	// of us, so there is none.
	dialer.Control = publicOnly.Safe
	return t
}

// publicOnly knows the addresses of the IANA special-purpose registries.
var publicOnly = ssrf.New(ssrf.WithAnyPort())
