package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/server"
)

type leased struct {
	Lease, Group, Tenant, Action string
	Deadline                     string
	Jobs                         []struct {
		Index   int64
		Attempt int
		Key     string
		Data    any
	}
}

// A pull worker's cycle: lease, extend, settle; what it does not mention comes
// again, and what is settled twice is refused.
func TestPullWorker(t *testing.T) {
	w := newWorld(t, nil)
	if a := w.post("/v1/leases", `{"actions":["pull"]}`); a.status != http.StatusNoContent || a.body != "" {
		t.Fatalf("a lease of nothing: %d %s", a.status, a.body)
	}
	g := read[bulk.Group](w.csv("/v1/groups?tenant=acme&action=pull", rows).is(http.StatusCreated))
	var got []leased
	results := map[int64]string{}
	for final := 0; final < 3; {
		a := w.post("/v1/leases", `{"actions":["pull"],"max":10,"wait_ms":10000}`).is(http.StatusOK)
		l := read[leased](a)
		if l.Group != string(g.ID) || l.Tenant != "acme" || l.Action != "pull" || len(l.Jobs) == 0 {
			t.Fatalf("lease %s", a.body)
		}
		w.post("/v1/leases/"+l.Lease+"/extend", `{"by_ms":30000}`).is(http.StatusOK)
		var out []string
		for _, j := range l.Jobs {
			if j.Index == 0 && j.Attempt == 1 {
				out = append(out, `{"index":0,"status":"retry","error":"later"}`)
				continue
			}
			final++
			results[j.Index] = j.Key
			out = append(out, fmt.Sprintf(`{"index":%d,"value":{"n":%d}}`, j.Index, j.Index))
		}
		s := read[struct{ Accepted int64 }](w.post("/v1/leases/"+l.Lease+"/settle", `{"results":[`+strings.Join(out, ",")+`]}`).is(http.StatusOK))
		if s.Accepted != int64(len(l.Jobs)) {
			t.Errorf("accepted %d of %d", s.Accepted, len(l.Jobs))
		}
		got = append(got, l)
	}
	if end := w.ended(string(g.ID)); end.Succeeded != 3 {
		t.Fatalf("group %+v", end)
	}
	if results[0] != string(g.ID)+"-0" {
		t.Errorf("keys %v", results)
	}
	last := got[len(got)-1]
	w.post("/v1/leases/"+last.Lease+"/settle", fmt.Sprintf(`{"results":[{"index":%d}]}`, last.Jobs[0].Index)).problem(http.StatusConflict, "lease_lost")
	w.post("/v1/leases/"+last.Lease+"/settle", `{"results":[{"index":0,"status":"fine"}]}`).problem(422, "invalid")
	w.post("/v1/leases", `{"actions":["nope"]}`).problem(422, "unknown_action")
	w.post("/v1/leases", `{"actions":[]}`).problem(422, "invalid")
}

// A lease's results may be as large as an upload in JSON.
func TestSettleTakesLargeValues(t *testing.T) {
	w := newWorld(t, func(o *server.Options) { o.MaxBody = 4 << 20 })
	const n = 10
	g := read[bulk.Group](w.post("/v1/groups", `{"action":"pull","jobs":[`+strings.Repeat("1,", n-1)+`1]}`).is(http.StatusCreated))
	l := read[leased](w.post("/v1/leases", `{"actions":["pull"],"max":10,"wait_ms":10000}`).is(http.StatusOK))
	if len(l.Jobs) != n {
		t.Fatalf("%d jobs leased, want %d", len(l.Jobs), n)
	}
	results := func(size int) string {
		value := strings.Repeat("x", size)
		var out []string
		for _, j := range l.Jobs {
			out = append(out, fmt.Sprintf(`{"index":%d,"value":%q}`, j.Index, value))
		}
		return `{"results":[` + strings.Join(out, ",") + `]}`
	}
	at := "/v1/leases/" + l.Lease + "/settle"
	w.post(at, results(500_000)).problem(http.StatusRequestEntityTooLarge, "too_large")
	s := read[struct{ Accepted int64 }](w.post(at, results(200_000)).is(http.StatusOK))
	if s.Accepted != n {
		t.Errorf("accepted %d of %d", s.Accepted, n)
	}
	if end := w.ended(string(g.ID)); end.Succeeded != n {
		t.Errorf("group %+v", end)
	}
	if body := w.get("/v1/groups/" + string(g.ID) + "/jobs/9").is(http.StatusOK).body; len(body) < 200_000 {
		t.Errorf("the value has become %d bytes", len(body))
	}
}

func TestResources(t *testing.T) {
	w := newWorld(t, nil)
	w.csv("/v1/groups?tenant=acme&action=tag", rows).is(http.StatusCreated)
	put := func(body string) answer {
		return w.do(w.request(http.MethodPut, "/v1/resources/tag", strings.NewReader(body), "Content-Type", "application/json"))
	}
	r := read[bulk.Resource](put(`{"rate":"50/5s","concurrency":3}`).is(http.StatusOK))
	if r.Rate != "50/5s" || r.Concurrency != 3 || r.ChangedBy != "local" || r.ChangedAt == nil {
		t.Errorf("resource %+v", r)
	}
	if r = read[bulk.Resource](w.post("/v1/resources/tag/pause", "").is(http.StatusOK)); !r.Paused || r.Rate != "50/5s" {
		t.Errorf("resource %+v", r)
	}
	if r = read[bulk.Resource](w.post("/v1/resources/tag/resume", "").is(http.StatusOK)); r.Paused {
		t.Errorf("resource %+v", r)
	}
	if r = read[bulk.Resource](w.get("/v1/resources/tag").is(http.StatusOK)); r.Concurrency != 3 {
		t.Errorf("resource %+v", r)
	}
	all := read[list[bulk.Resource]](w.get("/v1/resources").is(http.StatusOK))
	if len(all.Items) == 0 {
		t.Error("no resources")
	}
	p := put(`{"rate":"fast"}`).problem(422, "invalid")
	if len(p.Errors) != 1 || p.Errors[0].Location != "body.rate" {
		t.Errorf("errors %+v", p.Errors)
	}
	put(`{}`).problem(422, "invalid")
	put(`{"ratee":"5/s"}`).problem(422, "invalid")
	if body := w.get("/metrics").is(http.StatusOK).body; !strings.Contains(body, `spillway_resource_rate{resource="tag"} 10`) {
		t.Error("the resource is not among the metrics")
	}
}

func TestTenants(t *testing.T) {
	w := newWorld(t, nil)
	w.do(w.request(http.MethodPost, "/v1/tenants/acme/pause", nil)).is(http.StatusNoContent)
	g := read[bulk.Group](w.csv("/v1/groups?tenant=acme&action=tag", rows).is(http.StatusCreated))
	all := read[list[bulk.Tenant]](w.get("/v1/tenants").is(http.StatusOK))
	if len(all.Items) != 1 || all.Items[0].ID != "acme" || !all.Items[0].Paused {
		t.Errorf("tenants %+v", all.Items)
	}
	w.post("/v1/tenants/acme/resume", "").is(http.StatusNoContent)
	w.ended(string(g.ID))
	if e := read[struct{ Groups int64 }](w.post("/v1/tenants/acme/erase", "").is(http.StatusOK)); e.Groups != 1 {
		t.Errorf("erased %+v", e)
	}
	w.get("/v1/groups/"+string(g.ID)).problem(http.StatusNotFound, "not_found")
	w.post("/v1/prune", "").is(http.StatusOK)
}
