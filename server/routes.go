package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/spillway/spillway"
)

// reply is an answer with its status.
type reply[T any] struct {
	Status int
	Body   T
}

func ok[T any](v T, err error) (*reply[T], error) {
	return &reply[T]{Status: http.StatusOK, Body: v}, err
}

// page is a part of a list.
type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"The cursor of the next page; left out at the end."`
}

// call documents an operation.
type call struct {
	id, tag, method, path string
	summary, description  string
	// errors are the codes that callers should expect beside the usual ones.
	errors []spillway.Code
	// status is that of success, if not 200.
	status int
	// example is that of a JSON body; body documents one that the handler
	// reads by itself.
	example any
	body    *huma.RequestBody
	reply   map[string]*huma.MediaType
	open    bool // needs no key
	large   bool // the body may have Options.MaxBody
}

// smallBody bounds the JSON bodies of most calls, in bytes.
const smallBody = 1 << 20

// usual codes may come from every call.
var usual = []spillway.Code{
	spillway.CodeInvalid, spillway.CodeUnauthorized, spillway.CodeForbidden,
	codeRateExceeded, spillway.CodeUnavailable, spillway.CodeInternal,
}

// handle registers a call. The handler's errors become problems.
func handle[I, O any](s *Server, c call, h func(context.Context, *I) (*O, error)) {
	op := huma.Operation{
		OperationID: c.id, Method: c.method, Path: c.path, Tags: []string{c.tag},
		Summary: c.summary, Description: c.description,
		DefaultStatus: c.status, MaxBodyBytes: smallBody, BodyReadTimeout: -1,
		Responses: s.problems(c),
	}
	if c.example != nil {
		op.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{typeJSON: {Example: c.example}}}
	}
	if c.large {
		op.MaxBodyBytes, op.Middlewares = s.opts.MaxBody, huma.Middlewares{s.reserve}
	}
	if c.open {
		op.Security = []map[string][]string{}
	}
	if c.reply != nil {
		op.Responses[strconv.Itoa(http.StatusOK)] = &huma.Response{Description: "OK", Content: c.reply}
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := h(ctx, in)
		if err != nil {
			return nil, s.problem(exchangeOf(ctx), err)
		}
		return out, nil
	})
	if c.body != nil {
		// Only now, else the framework would read the body.
		s.api.OpenAPI().Paths[c.path].Post.RequestBody = c.body
	}
}

// problems documents the errors of a call, by status.
func (s *Server) problems(c call) map[string]*huma.Response {
	byStatus := map[int][]string{}
	expected := append(slices.Clone(c.errors), usual...)
	for _, code := range expected {
		status, known := statuses[code]
		if !known {
			status = http.StatusInternalServerError
		}
		if !slices.Contains(byStatus[status], string(code)) {
			byStatus[status] = append(byStatus[status], string(code))
		}
	}
	out := map[string]*huma.Response{}
	for status, names := range byStatus {
		out[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status) + ": " + strings.Join(names, ", "),
			Content: map[string]*huma.MediaType{"application/problem+json": {
				Schema: &huma.Schema{Ref: "#/components/schemas/Problem"},
			}},
		}
	}
	return out
}

// routes makes the API and its document.
func (s *Server) routes() error {
	s.mux = http.NewServeMux()
	c := huma.DefaultConfig("Spillway", s.opts.Version)
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", ""
	c.CreateHooks = nil // they would add $schema to replies
	c.Transformers = []huma.Transformer{nameRequest}
	c.RejectUnknownQueryParameters = true
	c.Info.Description = about
	c.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	c.Tags = tags
	c.Security = []map[string][]string{{"key": {}}}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"key": {
		Type: "http", Scheme: "bearer",
		Description: "A tenant's key sees that tenant only; an admin's key sees everything. Without any key the server serves its own machine only, as an admin.",
	}}
	s.api = humago.New(s.mux, c)
	for _, add := range []func(){
		s.groupCalls, s.uploadCalls, s.jobCalls, s.resourceCalls, s.tenantCalls, s.keyCalls,
		s.leaseCalls, s.eventCalls, s.probeCalls,
	} {
		add()
	}
	spec, err := json.MarshalIndent(s.api.OpenAPI(), "", "  ")
	if err != nil {
		return err
	}
	s.spec = append(spec, '\n')
	s.mux.HandleFunc("GET /openapi.json", s.serveSpec)
	s.mux.HandleFunc("GET /{$}", s.serveHome)
	s.mux.HandleFunc("/", s.serveUnknown)
	return nil
}

// nameRequest gives the framework's problems the id of their request.
func nameRequest(ctx huma.Context, _ string, v any) (any, error) {
	if p, ok := v.(*Problem); ok {
		p.Request = exchangeOf(ctx.Context()).id
	}
	return v, nil
}

// OpenAPI is the API's document.
func (s *Server) OpenAPI() []byte { return s.spec }

func (s *Server) serveSpec(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.spec) // the client may be gone
}

// serveUnknown answers what fits no route, and what fits one by another
// method.
func (s *Server) serveUnknown(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = m
		if _, pattern := s.mux.Handler(other); pattern != "/" {
			allowed = append(allowed, m)
		}
	}
	err := spillway.Errorf(spillway.CodeNotFound, "there is nothing at %s; see /openapi.json", r.URL.Path)
	if len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		err = spillway.Errorf(codeMethod, "%s is not possible here: use %s", r.Method, strings.Join(allowed, " or "))
	}
	s.problem(exchangeOf(r.Context()), err).write(w)
}
