package post

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/spillway/spillway"
)

// resolveWait bounds the look-up of a host in CheckURL.
const resolveWait = 5 * time.Second

// CheckURL checks a URL that came in through the API: http or https, with a
// host that exists and, unless allowPrivate, has public addresses only
// (CodePrivateAddress). It is for an early answer; what protects is the check
// of each connection. A resolver that does not answer is no error here.
func CheckURL(raw string, allowPrivate bool) error {
	u, err := parseURL(raw)
	if err != nil || allowPrivate {
		return err
	}
	addrs, err := resolve(u.Hostname())
	if err != nil {
		return err
	}
	for _, a := range addrs {
		if publicOnly.SafeAddr(a.Unmap()) != nil {
			return privateAddress(u.Hostname())
		}
	}
	return nil
}

func privateAddress(host string) error {
	return spillway.Errorf(spillway.CodePrivateAddress, "%s resolves to an address that is not public; the server's allow_private_urls would permit it", host)
}

func resolve(host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), resolveWait)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	var d *net.DNSError
	if errors.As(err, &d) && d.IsNotFound {
		return nil, spillway.Errorf(spillway.CodeInvalid, "the host %s does not exist", host)
	}
	return addrs, nil
}

func parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, spillway.Errorf(spillway.CodeInvalid, "not a URL: %w", err)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, spillway.Errorf(spillway.CodeInvalid, "a URL must start with http:// or https://")
	case u.Hostname() == "":
		return nil, spillway.Errorf(spillway.CodeInvalid, "the URL has no host")
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return nil, spillway.Errorf(spillway.CodeInvalid, "port %s is not from 1 to 65535", p)
		}
	}
	return u, nil
}
