package server_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/server"
)

func withAdmin(o *server.Options) { o.AdminKey = adminKey }

// A tenant's key sees that tenant: another's groups are not found, and what is
// for admins is forbidden.
func TestTenantsSeeThemselvesOnly(t *testing.T) {
	w := newWorld(t, withAdmin)
	keyA, _ := w.newKey(`{"tenant":"a","label":"test"}`)
	keyB, _ := w.newKey(`{"tenant":"b"}`)
	a, b, admin := w.as(keyA), w.as(keyB), w.as(adminKey)

	g := read[bulk.Group](a.csv("/v1/groups?action=fail", rows).is(http.StatusCreated))
	if g.Tenant != "a" {
		t.Fatalf("the key's tenant is not the default: %+v", g)
	}
	a.ended(string(g.ID))
	at := "/v1/groups/" + string(g.ID)
	for _, path := range []string{"", "/why", "/failures", "/results", "/jobs/0"} {
		a.get(at + path).is(http.StatusOK)
		admin.get(at + path).is(http.StatusOK)
		b.get(at+path).problem(http.StatusNotFound, "not_found")
		w.as("").get(at+path).problem(http.StatusUnauthorized, "unauthorized")
		w.as("sw_unknown").get(at+path).problem(http.StatusUnauthorized, "unauthorized")
	}
	for _, path := range []string{"/pause", "/resume", "/cancel", "/retry", "/seal", "/callback/resend"} {
		b.post(at+path, "").problem(http.StatusNotFound, "not_found")
	}
	b.post(at+"/resolve", `{"as":"failed"}`).problem(http.StatusNotFound, "not_found")
	b.csv(at+"/jobs?offset=3", rows).problem(http.StatusNotFound, "not_found")
	b.csv("/v1/groups?action=tag&tenant=a", rows).problem(http.StatusForbidden, "forbidden")
	b.post("/v1/groups", `{"action":"tag","tenant":"a","jobs":[1]}`).problem(http.StatusForbidden, "forbidden")
	b.get("/v1/groups?tenant=a").problem(http.StatusForbidden, "forbidden")
	if l := read[list[bulk.Group]](b.get("/v1/groups").is(http.StatusOK)); len(l.Items) != 0 {
		t.Errorf("b sees %+v", l.Items)
	}
	if l := read[list[bulk.Group]](a.get("/v1/groups").is(http.StatusOK)); len(l.Items) != 1 {
		t.Errorf("a sees %+v", l.Items)
	}
	if l := read[list[bulk.Tenant]](b.get("/v1/tenants").is(http.StatusOK)); len(l.Items) != 0 {
		t.Errorf("b sees the tenants %+v", l.Items)
	}
	b.post("/v1/leases", `{"actions":["pull"],"tenant":"a"}`).problem(http.StatusForbidden, "forbidden")
	b.get("/v1/events?tenant=a").problem(http.StatusForbidden, "forbidden")
	for _, path := range []string{"/v1/resources", "/v1/resources/tag", "/v1/keys", "/metrics"} {
		a.get(path).problem(http.StatusForbidden, "forbidden")
	}
	for _, path := range []string{"/v1/resources/tag/pause", "/v1/tenants/a/pause", "/v1/tenants/b/erase", "/v1/prune"} {
		a.post(path, "").problem(http.StatusForbidden, "forbidden")
	}
	a.post("/v1/keys", `{"admin":true}`).problem(http.StatusForbidden, "forbidden")
	for _, path := range []string{"/", "/healthz", "/readyz", "/openapi.json"} {
		w.as("").get(path).is(http.StatusOK)
	}
}

// A tenant's key cannot leave the action's limits by naming a resource that has
// none; an admin's key may name any.
func TestTenantsNameResourcesWithLimitsOnly(t *testing.T) {
	w := newWorld(t, func(o *server.Options) {
		withAdmin(o)
		o.ResourceOf = func(a spillway.ActionName, _ spillway.TenantID) spillway.ResourceName {
			return spillway.ResourceName(a)
		}
	})
	secret, _ := w.newKey(`{"tenant":"a"}`)
	tenant, admin := w.as(secret), w.as(adminKey)
	p := tenant.csv("/v1/groups?action=tag&resource=free", rows).problem(http.StatusForbidden, "forbidden")
	if len(p.Errors) != 1 || p.Errors[0].Location != "resource" {
		t.Errorf("errors %+v", p.Errors)
	}
	tenant.post("/v1/groups", `{"action":"tag","resource":"free","jobs":[1]}`).problem(http.StatusForbidden, "forbidden")
	tenant.post("/v1/groups", `{"action":"tag","resource":"free","open":true}`).problem(http.StatusForbidden, "forbidden")
	tenant.csv("/v1/groups?action=tag&resource=fail", rows).problem(http.StatusForbidden, "forbidden")
	tenant.csv("/v1/groups?action=tag&resource=tag", rows).is(http.StatusCreated)
	admin.csv("/v1/groups?action=tag&resource=free", rows).is(http.StatusCreated)
	admin.do(admin.request(http.MethodPut, "/v1/resources/free", strings.NewReader(`{"rate":"100/s"}`), "Content-Type", "application/json")).is(http.StatusOK)
	tenant.csv("/v1/groups?action=tag&resource=free", rows).is(http.StatusCreated)
}

func TestKeys(t *testing.T) {
	w := newWorld(t, withAdmin)
	secret, id := w.newKey(`{"tenant":"a"}`)
	if !strings.HasPrefix(secret, "sw_") || len(secret) != 46 {
		t.Errorf("secret %q", secret)
	}
	stored, err := w.ledger.Load(t.Context(), "key")
	if err != nil || len(stored) != 1 || strings.Contains(string(stored[0].Value), secret[3:]) {
		t.Errorf("the ledger holds %s, %v", stored, err)
	}
	if body := w.as(adminKey).get("/v1/keys").is(http.StatusOK).body; !strings.Contains(body, id) || strings.Contains(body, "hash") {
		t.Errorf("keys are listed as %s", body)
	}
	w.as(secret).get("/v1/groups").is(http.StatusOK)
	revoke := w.as(adminKey).request(http.MethodDelete, "/v1/keys/"+id, nil)
	w.do(revoke).is(http.StatusNoContent)
	w.as(secret).get("/v1/groups").problem(http.StatusUnauthorized, "unauthorized")
	w.do(w.as(adminKey).request(http.MethodDelete, "/v1/keys/"+id, nil)).problem(http.StatusNotFound, "not_found")
	w.as(adminKey).post("/v1/keys", `{}`).problem(422, "invalid")
	w.as(adminKey).post("/v1/keys", `{"tenant":"a","admin":true}`).problem(422, "invalid")
}

// A key that another instance revoked ends within seconds; without an answer
// from the ledger, keys are not believed for longer than that.
func TestKeysAreCachedBriefly(t *testing.T) {
	store := &memSettings{}
	here, there := server.NewKeys(store, true), server.NewKeys(store, true)
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	key, secret, err := there.Create(t.Context(), now, server.Key{Tenant: "a"})
	if err != nil {
		t.Fatal(err)
	}
	found := func(at time.Duration) bool {
		t.Helper()
		k, ok, _, err := here.Find(context.Background(), now.Add(at), secret)
		return err == nil && ok && k.ID == key.ID
	}
	if !found(0) {
		t.Fatal("a new key is not found")
	}
	if err := there.Revoke(t.Context(), now, key.ID, "x"); err != nil {
		t.Fatal(err)
	}
	if !found(time.Second) {
		t.Error("the cache is not used")
	}
	if found(3 * time.Second) {
		t.Error("a revoked key still counts after 3 s")
	}
	key, secret, _ = here.Create(t.Context(), now, server.Key{Tenant: "a"})
	if !found(4 * time.Second) {
		t.Error("a key made here does not count at once")
	}
	store.err = errors.New("down")
	if !found(8 * time.Second) {
		t.Error("a short silence of the ledger shuts callers out")
	}
	if found(60 * time.Second) {
		t.Error("keys are believed for ever")
	}
}

// Without keys, this machine is served under its own name, and pages of other
// sites are not.
func TestWithoutKeys(t *testing.T) {
	c := serve(t, newServer(t, &fakeEngine{}, nil))
	c.get("/v1/keys").is(http.StatusOK)
	rebound := c.request(http.MethodGet, "/v1/keys", nil)
	rebound.Host = "evil.example"
	c.do(rebound).problem(http.StatusForbidden, "forbidden")
	c.do(c.request(http.MethodPost, "/v1/keys", strings.NewReader(`{"admin":true}`),
		"Origin", "https://evil.example", "Content-Type", "application/json")).problem(http.StatusForbidden, "forbidden")
	c.do(c.request(http.MethodPost, "/v1/keys", strings.NewReader(`{"admin":true}`),
		"Sec-Fetch-Site", "cross-site", "Content-Type", "application/json")).problem(http.StatusForbidden, "forbidden")
	if l := read[list[server.Key]](c.get("/v1/keys")); len(l.Items) != 0 {
		t.Errorf("keys were made: %+v", l.Items)
	}
	if p := c.post("/v1/keys", `{"tenant":"a"}`).problem(http.StatusConflict, "wrong_state"); !strings.Contains(p.Detail, "keys create --admin") {
		t.Errorf("what to do first is not said: %s", p.Detail)
	}
	admin := read[struct{ Secret string }](c.post("/v1/keys", `{"admin":true}`).is(http.StatusCreated))
	c.get("/v1/keys").problem(http.StatusUnauthorized, "unauthorized")
	c.as(admin.Secret).post("/v1/keys", `{"tenant":"a"}`).is(http.StatusCreated)
}

// An erased tenant's keys end with it, and no others.
func TestErasingATenantRevokesItsKeys(t *testing.T) {
	w := newWorld(t, withAdmin)
	a1, _ := w.newKey(`{"tenant":"a"}`)
	a2, _ := w.newKey(`{"tenant":"a"}`)
	b, _ := w.newKey(`{"tenant":"b"}`)
	operator, _ := w.newKey(`{"admin":true}`)
	w.as(a1).ended(string(read[bulk.Group](w.as(a1).csv("/v1/groups?action=tag", rows).is(http.StatusCreated)).ID))
	e := read[struct{ Groups, Keys int }](w.as(operator).post("/v1/tenants/a/erase", "").is(http.StatusOK))
	if e.Groups != 1 || e.Keys != 2 {
		t.Errorf("erased %+v", e)
	}
	for _, secret := range []string{a1, a2} {
		w.as(secret).csv("/v1/groups?action=tag", rows).problem(http.StatusUnauthorized, "unauthorized")
	}
	w.as(b).get("/v1/groups").is(http.StatusOK)
	w.as(operator).get("/v1/keys").is(http.StatusOK)
}

func TestCheckListen(t *testing.T) {
	for addr, local := range map[string]bool{
		"127.0.0.1:8080": true, "[::1]:8080": true, "localhost:80": true, "127.3.4.5:1": true,
		":8080": false, "0.0.0.0:8080": false, "[::]:8080": false, "10.0.0.1:80": false, "example.com:80": false,
	} {
		if err := server.CheckListen(addr, false); (err == nil) != local {
			t.Errorf("%s without keys: %v", addr, err)
		}
		if err := server.CheckListen(addr, true); err != nil {
			t.Errorf("%s with keys: %v", addr, err)
		}
	}
	if err := server.CheckListen(":1", false); !errors.Is(err, spillway.CodeInvalid) {
		t.Errorf("code %s", spillway.CodeOf(err))
	}
}

// URLs that come in through the API must not reach into the private network.
func TestCallbacksToPrivateAddressesAreRefused(t *testing.T) {
	w := newWorld(t, nil)
	for _, url := range []string{"http://127.0.0.1:9/x", "http://10.1.2.3/", "http://169.254.169.254/latest", "http://[::1]/", "http://localhost/"} {
		w.csv("/v1/groups?action=tag&callback="+url, rows).problem(422, "private_address")
		p := w.post("/v1/groups", `{"action":"tag","jobs":[1],"callback":"`+url+`"}`).problem(422, "private_address")
		if len(p.Errors) != 1 || p.Errors[0].Location != "callback" {
			t.Errorf("errors %+v", p.Errors)
		}
	}
	w.csv("/v1/groups?action=tag&callback=ftp://example.com/", rows).problem(422, "invalid")
	trusting := newWorld(t, func(o *server.Options) { o.AllowPrivateURLs = true })
	trusting.csv("/v1/groups?action=tag&callback=http://127.0.0.1:9/x", rows).is(http.StatusCreated)
}

func TestLastAdminsKeyStaysWhileTenantsHaveKeys(t *testing.T) {
	keys := server.NewKeys(&memSettings{}, false)
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	create := func(k server.Key) string {
		t.Helper()
		made, _, err := keys.Create(t.Context(), now, k)
		if err != nil {
			t.Fatal(err)
		}
		return made.ID
	}
	admin, tenant := create(server.Key{Admin: true}), create(server.Key{Tenant: "a"})
	if err := keys.Revoke(t.Context(), now, admin, "x"); !errors.Is(err, spillway.CodeState) {
		t.Errorf("the last admin's key: %v", err)
	}
	if err := keys.Revoke(t.Context(), now, tenant, "x"); err != nil {
		t.Error(err)
	}
	if err := keys.Revoke(t.Context(), now, admin, "x"); err != nil {
		t.Errorf("the very last key: %v", err)
	}
}
