package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
)

// principal is who makes a request.
type principal struct {
	admin  bool
	tenant spillway.TenantID // of a tenant's key
	name   string            // for limits and for "who changed this"
}

// localName is the operator of a server without keys.
const localName = "local"

// public paths need no key: probes, the document and the page that links it.
var public = map[string]bool{"/": true, "/healthz": true, "/readyz": true, "/openapi.json": true}

// authenticate says who makes a request. Without any key there is only the
// local operator, who must come from this machine.
func (s *Server) authenticate(r *http.Request) (principal, error) {
	secret, given := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	secret = strings.TrimSpace(secret)
	if given && s.isAdminKey(secret) {
		return principal{admin: true, name: "admin"}, nil
	}
	key, found, anyKeys, err := s.keys.Find(r.Context(), time.Now(), secret)
	switch {
	case err != nil:
		return principal{}, spillway.Errorf(spillway.CodeUnavailable, "the keys cannot be read now: %w", err)
	case given && found:
		return principal{admin: key.Admin, tenant: key.Tenant, name: key.ID}, nil
	case given && (anyKeys || s.opts.AdminKey != ""):
		return principal{}, spillway.Errorf(spillway.CodeUnauthorized, "the API key is not known; it may have been revoked")
	case anyKeys || s.opts.AdminKey != "":
		return principal{}, spillway.Errorf(spillway.CodeUnauthorized, "an API key is needed: send the header Authorization: Bearer KEY")
	}
	if err := checkLocal(r); err != nil {
		return principal{}, err
	}
	return principal{admin: true, name: localName}, nil
}

func (s *Server) isAdminKey(secret string) bool {
	if s.opts.AdminKey == "" {
		return false
	}
	a, b := sha256.Sum256([]byte(s.opts.AdminKey)), sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// checkLocal refuses what does not come from this machine by a local name: a
// page of another site, whose name was made to point here, carries its own
// name as the host.
func checkLocal(r *http.Request) error {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return spillway.Errorf(spillway.CodeUnauthorized, "without API keys only this machine is served: create an admin's with spillway keys create --admin")
	}
	if !isLoopback(r.Host) {
		return spillway.Errorf(spillway.CodeForbidden, "the host %q is not a local name: without API keys use 127.0.0.1 or localhost", r.Host)
	}
	return nil
}

// isLoopback reports whether a host, with or without a port, is this machine.
func isLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// CheckListen refuses to serve other machines without keys.
func CheckListen(addr string, haveKeys bool) error {
	if haveKeys || isLoopback(addr) {
		return nil
	}
	return spillway.Errorf(spillway.CodeInvalid,
		"listening on %q would serve anyone: create an admin's API key first (spillway keys create --admin), or set SPILLWAY_ADMIN_KEY, or listen on 127.0.0.1", addr)
}

// needAdmin refuses tenants' keys.
func needAdmin(ctx context.Context) error {
	if exchangeOf(ctx).who.admin {
		return nil
	}
	return spillway.Errorf(spillway.CodeForbidden, "this call needs an admin's key")
}

// tenantOf is the tenant that a call is for: the key's own by default. "" is
// left to an admin's call to mean all, or the default.
func tenantOf(ctx context.Context, asked spillway.TenantID) (spillway.TenantID, error) {
	who := exchangeOf(ctx).who
	if who.admin {
		return asked, nil
	}
	if asked != "" && asked != who.tenant {
		return "", spillway.Errorf(spillway.CodeForbidden, "the key belongs to another tenant than %q", asked)
	}
	return who.tenant, nil
}

// see reads a group that the caller may see; another tenant's is not found.
func (s *Server) see(ctx context.Context, id spillway.GroupID) (*bulk.Group, error) {
	g, err := s.engine.Group(ctx, id)
	if err != nil {
		return nil, err
	}
	if who := exchangeOf(ctx).who; !who.admin && g.Tenant != who.tenant {
		return nil, spillway.Errorf(spillway.CodeNotFound, "there is no group %q", id)
	}
	return g, nil
}
