package server_test

import (
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway/spillway/bulk"
)

const rows = "id,city\n1,Seoul\n2,Lagos\n3,Lima\n"

func TestSubmit(t *testing.T) {
	w := newWorld(t, nil)
	for _, c := range []struct {
		name string
		do   func() answer
	}{
		{"csv", func() answer { return w.csv("/v1/groups?tenant=acme&action=tag", rows) }},
		{"ndjson", func() answer {
			return w.do(w.request(http.MethodPost, "/v1/groups?tenant=acme&action=tag",
				strings.NewReader("{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n"), "Content-Type", "application/x-ndjson"))
		}},
		{"json", func() answer {
			return w.post("/v1/groups", `{"tenant":"acme","action":"tag","rate":"1000/s","labels":{"a":"b"},"jobs":[{"id":1},{"id":2},3]}`)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := read[bulk.Group](c.do().is(http.StatusCreated))
			if !g.Sealed || g.Total != 3 || g.Tenant != "acme" {
				t.Fatalf("group %+v", g)
			}
			g = w.ended(string(g.ID))
			if g.Succeeded != 3 || g.Checkpoint != 3 || string(g.Result) != `{"count":3}` {
				t.Fatalf("group %+v", g)
			}
		})
	}
	if w.count(`{"id":"1","city":"Seoul"}`) != 1 {
		t.Errorf("the handler saw %v", w.seen)
	}
}

func TestKeyIsIdempotent(t *testing.T) {
	w := newWorld(t, nil)
	first := read[bulk.Group](w.csv("/v1/groups?tenant=acme&action=tag&key=k1", rows).is(http.StatusCreated))
	again := read[bulk.Group](w.csv("/v1/groups?tenant=acme&action=tag&key=k1", rows).is(http.StatusOK))
	if first.ID != again.ID {
		t.Errorf("two groups for one key: %s and %s", first.ID, again.ID)
	}
	w.csv("/v1/groups?tenant=acme&action=fail&key=k1", rows).problem(http.StatusConflict, "key_conflict")
	other := read[bulk.Group](w.csv("/v1/groups?tenant=umbrella&action=tag&key=k1", rows).is(http.StatusCreated))
	if other.ID == first.ID {
		t.Error("keys are shared by tenants")
	}
	found := read[list[bulk.Group]](w.get("/v1/groups?tenant=acme&key=k1").is(http.StatusOK))
	if len(found.Items) != 1 || found.Items[0].ID != first.ID {
		t.Errorf("found %+v", found.Items)
	}
}

// The first job runs while the body is still open.
func TestJobsRunWhileTheyUpload(t *testing.T) {
	w := newWorld(t, nil)
	pr, pw := io.Pipe()
	got := make(chan answer, 1)
	go func() {
		got <- w.do(w.request(http.MethodPost, "/v1/groups?tenant=acme&action=tag", pr, "Content-Type", "text/csv"))
	}()
	fmt.Fprint(pw, "id\nfirst\n")
	until(t, "the first job has run", func() bool { return w.count(`{"id":"first"}`) == 1 })
	running := read[list[bulk.Group]](w.get("/v1/groups?state=receiving").is(http.StatusOK))
	if len(running.Items) != 1 || running.Items[0].Sealed {
		t.Fatalf("groups %+v", running.Items)
	}
	fmt.Fprint(pw, "second\n")
	pw.Close()
	g := read[bulk.Group]((<-got).is(http.StatusCreated))
	if g = w.ended(string(g.ID)); g.Succeeded != 2 {
		t.Fatalf("group %+v", g)
	}
}

func TestUploadInParts(t *testing.T) {
	w := newWorld(t, nil)
	g := read[bulk.Group](w.post("/v1/groups", `{"tenant":"acme","action":"tag","open":true}`).is(http.StatusCreated))
	jobs := "/v1/groups/" + string(g.ID) + "/jobs?offset="
	g = read[bulk.Group](w.csv(jobs+"0", rows).is(http.StatusOK))
	if g.Total != 3 || g.Sealed {
		t.Fatalf("group %+v", g)
	}
	p := w.csv(jobs+"2", rows).problem(http.StatusConflict, "offset_mismatch")
	if p.Offset == nil || *p.Offset != 3 || p.Total == nil || *p.Total != 3 || p.Group != g.ID {
		t.Fatalf("problem %+v", p)
	}
	w.post(jobs+"3", `{"jobs":[{"id":"4"}]}`).is(http.StatusOK)
	w.do(w.request(http.MethodPost, jobs+"4", strings.NewReader("{\"id\":\"5\"}\n"), "Content-Type", "application/x-ndjson")).is(http.StatusOK)
	w.post("/v1/groups/"+string(g.ID)+"/seal", "").is(http.StatusOK)
	if g = w.ended(string(g.ID)); g.Succeeded != 5 {
		t.Fatalf("group %+v", g)
	}
	w.csv(jobs+"5", rows).problem(http.StatusConflict, "sealed")
}

func TestBadInputLeavesNothing(t *testing.T) {
	w := newWorld(t, nil)
	const to = "/v1/groups?tenant=acme&action=tag"
	for _, c := range []struct {
		name   string
		do     func() answer
		status int
		code   string
	}{
		{"no header", func() answer { return w.csv(to, "") }, 422, "invalid"},
		{"duplicate column", func() answer { return w.csv(to, "a,a\n1,2\n") }, 422, "invalid"},
		{"unknown action", func() answer { return w.csv("/v1/groups?action=nope", rows) }, 422, "unknown_action"},
		{"no action", func() answer { return w.csv("/v1/groups", rows) }, 422, "invalid"},
		{"no rate", func() answer { return w.csv(to+"&rate=fast", rows) }, 422, "invalid"},
		{"unknown parameter", func() answer { return w.csv(to+"&prioritty=3", rows) }, 422, "invalid"},
		{"unknown field", func() answer { return w.post("/v1/groups", `{"action":"tag","jbos":[]}`) }, 422, "invalid"},
		{"wrong type", func() answer { return w.post("/v1/groups", `{"action":3}`) }, 422, "invalid"},
		{"no JSON", func() answer { return w.post("/v1/groups", `{"action`) }, 422, "invalid"},
		{"no body", func() answer { return w.post("/v1/groups", "") }, 422, "invalid"},
		{"no jobs", func() answer { return w.post("/v1/groups", `{"action":"tag"}`) }, 422, "invalid"},
		{"two values", func() answer { return w.post("/v1/groups", `{"action":"tag","jobs":[1]} {}`) }, 422, "invalid"},
		{"max_failures", func() answer { return w.csv(to+"&max_failures=often", rows) }, 422, "invalid"},
		{"media type", func() answer {
			return w.do(w.request(http.MethodPost, to, strings.NewReader(rows), "Content-Type", "application/pdf"))
		}, 415, "unsupported_media_type"},
		{"charset", func() answer {
			return w.do(w.request(http.MethodPost, to, strings.NewReader(rows), "Content-Type", "text/csv; charset=latin1"))
		}, 415, "unsupported_media_type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := c.do().problem(c.status, c.code)
			if p.Request == "" {
				t.Error("the problem does not name its request")
			}
		})
	}
	if left := read[list[bulk.Group]](w.get("/v1/groups").is(http.StatusOK)); len(left.Items) != 0 {
		t.Errorf("groups were made: %+v", left.Items)
	}
	p := w.post("/v1/groups", `{"action":"tag","jbos":[]}`).problem(422, "invalid")
	if len(p.Errors) != 1 || p.Errors[0].Location != "body.jbos" {
		t.Errorf("errors %+v", p.Errors)
	}
}

// A structure that breaks later leaves the rows before it, and says where the
// upload goes on.
func TestBrokenLater(t *testing.T) {
	w := newWorld(t, nil)
	p := w.csv("/v1/groups?tenant=acme&action=tag&key=b", "id,city\n1,Seoul\n2,Lagos\n3,\"Lima\n").problem(422, "invalid")
	if p.Group == "" || p.Total == nil || *p.Total < 2 {
		t.Fatalf("problem %+v", p)
	}
	g := read[bulk.Group](w.get("/v1/groups/" + string(p.Group)).is(http.StatusOK))
	if g.Sealed || g.Total != *p.Total {
		t.Fatalf("group %+v", g)
	}
}

func TestPauseResumeCancel(t *testing.T) {
	w := newWorld(t, nil)
	g := read[bulk.Group](w.post("/v1/groups", `{"tenant":"acme","action":"tag","open":true}`).is(http.StatusCreated))
	at := "/v1/groups/" + string(g.ID)
	if g = read[bulk.Group](w.post(at+"/pause", "").is(http.StatusOK)); g.State != "paused" || g.PausedBy != "local" {
		t.Fatalf("group %+v", g)
	}
	w.csv(at+"/jobs?offset=0", rows).is(http.StatusOK)
	why := read[bulk.Why](w.get(at + "/why").is(http.StatusOK))
	if why.Code == "" || why.Reason == "" {
		t.Errorf("why %+v", why)
	}
	if g = read[bulk.Group](w.post(at+"/resume", "").is(http.StatusOK)); g.State != "receiving" {
		t.Fatalf("group %+v", g)
	}
	until(t, "the rows have run", func() bool { return read[bulk.Group](w.get(at)).Succeeded == 3 })
	if g = read[bulk.Group](w.post(at+"/cancel", "").is(http.StatusOK)); g.State != "cancelled" {
		t.Fatalf("group %+v", g)
	}
	w.post(at+"/resume", "").problem(http.StatusConflict, "wrong_state")
	w.post("/v1/groups/g_none/pause", "").problem(http.StatusNotFound, "not_found")
}

func TestFailuresRetryAndJobs(t *testing.T) {
	w := newWorld(t, nil)
	g := read[bulk.Group](w.csv("/v1/groups?tenant=acme&action=fail", rows).is(http.StatusCreated))
	at := "/v1/groups/" + string(g.ID)
	if g = w.ended(string(g.ID)); g.Failed != 3 {
		t.Fatalf("group %+v", g)
	}
	first := read[list[bulk.JobView]](w.get(at + "/failures?limit=2").is(http.StatusOK))
	if len(first.Items) != 2 || first.Next != "2" || first.Items[0].Error != "no such customer" || len(first.Items[0].Data) == 0 {
		t.Fatalf("failures %+v", first)
	}
	rest := read[list[bulk.JobView]](w.get(at + "/failures?limit=2&cursor=" + first.Next).is(http.StatusOK))
	if len(rest.Items) != 1 || rest.Next != "" || rest.Items[0].Index != 2 {
		t.Fatalf("failures %+v", rest)
	}
	lines := w.get(at+"/failures", "Accept", "application/x-ndjson").is(http.StatusOK)
	if n := strings.Count(lines.body, "\n"); n != 3 || lines.header.Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("%d lines of %s", n, lines.header.Get("Content-Type"))
	}
	table, err := csv.NewReader(strings.NewReader(w.get(at+"/failures", "Accept", "text/csv").is(http.StatusOK).body)).ReadAll()
	if err != nil || len(table) != 4 || table[1][3] != "no such customer" {
		t.Errorf("csv %v, %v", table, err)
	}
	job := read[bulk.JobView](w.get(at + "/jobs/1").is(http.StatusOK))
	if job.Status != "failed" || job.Index != 1 {
		t.Errorf("job %+v", job)
	}
	w.get(at+"/jobs/99").problem(http.StatusNotFound, "not_found")
	w.get("/v1/groups/g_none/failures").problem(http.StatusNotFound, "not_found")
	if g = read[bulk.Group](w.post(at+"/retry", "").is(http.StatusOK)); g.State != "running" {
		t.Fatalf("group %+v", g)
	}
	w.ended(string(g.ID))
}

func TestResults(t *testing.T) {
	w := newWorld(t, nil)
	g := read[bulk.Group](w.csv("/v1/groups?tenant=acme&action=tag", rows).is(http.StatusCreated))
	w.ended(string(g.ID))
	got := read[list[bulk.JobView]](w.get("/v1/groups/" + string(g.ID) + "/results").is(http.StatusOK))
	if len(got.Items) != 3 || string(got.Items[1].Value) != `{"id":"2","city":"Lagos"}` {
		t.Fatalf("results %+v", got)
	}
	if empty := w.get("/v1/groups/" + string(g.ID) + "/failures").is(http.StatusOK); strings.TrimSpace(empty.body) != `{"items":[]}` {
		t.Errorf("no failures are %q", empty.body)
	}
}
