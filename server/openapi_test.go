package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/openapi.json")

const specFile = "../docs/openapi.json"

// The published document is the code's own. After a change of the API:
//
//	go test ./server -run TestOpenAPI -update
func TestOpenAPI(t *testing.T) {
	spec := newServer(t, &fakeEngine{}, nil).OpenAPI()
	if *update {
		if err := os.WriteFile(specFile, spec, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	published, err := os.ReadFile(specFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(spec, published) {
		t.Errorf("%s is stale: run go test ./server -run TestOpenAPI -update", specFile)
	}
}

// Every operation says what it does, which errors it has, and how a body looks.
func TestOpenAPIIsComplete(t *testing.T) {
	var doc struct {
		OpenAPI string `json:"openapi"`
		Paths   map[string]map[string]struct {
			Summary, Description, OperationID string
			Responses                         map[string]struct {
				Description string
				Content     map[string]struct{ Schema, Example any }
			}
			RequestBody struct {
				Content map[string]struct{ Schema, Example any }
			}
		}
		Components struct{ Schemas map[string]any }
	}
	spec := newServer(t, &fakeEngine{}, nil).OpenAPI()
	if err := json.Unmarshal(spec, &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("OpenAPI %s", doc.OpenAPI)
	}
	if bytes.Contains(spec, []byte("$schema")) {
		t.Error("replies carry $schema")
	}
	if doc.Components.Schemas["Problem"] == nil {
		t.Error("the problem document has no schema")
	}
	for _, want := range []string{
		"post /v1/groups", "get /v1/groups", "get /v1/groups/{id}", "post /v1/groups/{id}/jobs", "post /v1/groups/{id}/seal",
		"post /v1/groups/{id}/pause", "post /v1/groups/{id}/resume", "post /v1/groups/{id}/cancel", "post /v1/groups/{id}/retry",
		"post /v1/groups/{id}/resolve", "post /v1/groups/{id}/callback/resend", "get /v1/groups/{id}/failures",
		"get /v1/groups/{id}/results", "get /v1/groups/{id}/jobs/{index}", "get /v1/groups/{id}/why", "get /v1/resources",
		"get /v1/resources/{name}", "put /v1/resources/{name}", "post /v1/resources/{name}/pause", "post /v1/resources/{name}/resume",
		"get /v1/tenants", "post /v1/tenants/{tenant}/pause", "post /v1/tenants/{tenant}/resume", "post /v1/tenants/{tenant}/erase",
		"get /v1/keys", "post /v1/keys", "delete /v1/keys/{id}", "post /v1/leases", "post /v1/leases/{lease}/settle",
		"post /v1/leases/{lease}/extend", "get /v1/events", "get /healthz", "get /readyz", "get /metrics",
	} {
		method, path, _ := strings.Cut(want, " ")
		if _, found := doc.Paths[path][method]; !found {
			t.Errorf("no operation %s", want)
		}
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if op.Summary == "" || op.Description == "" || op.OperationID == "" {
				t.Errorf("%s %s says not what it does", method, path)
			}
			if op.Responses["500"].Content["application/problem+json"].Schema == nil {
				t.Errorf("%s %s has no errors", method, path)
			}
			for kind, c := range op.RequestBody.Content {
				if c.Schema == nil || c.Example == nil {
					t.Errorf("%s %s: %s has no schema or no example", method, path, kind)
				}
			}
		}
	}
}
