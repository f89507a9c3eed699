package server

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/source"
)

// The media types of uploads.
const (
	typeCSV    = "text/csv"
	typeNDJSON = "application/x-ndjson"
	typeJSON   = "application/json"
)

type appendQuery struct {
	GroupPath
	Offset int64  `query:"offset" required:"true" minimum:"0" doc:"How many rows the group has accepted: its total."`
	Cost   string `query:"cost" doc:"The field of a row that holds its cost." maxLength:"200"`
}

// jobsBody is rows as JSON.
type jobsBody struct {
	Jobs []json.RawMessage `json:"jobs" doc:"The rows: any JSON values."`
}

var uploadErrors = []spillway.Code{
	spillway.CodeNotFound, spillway.CodeOffset, spillway.CodeSealed, spillway.CodeState, spillway.CodeTooLarge,
	spillway.CodeLimit, spillway.CodeLedgerFull, codeTimeout, codeMediaType,
}

func (s *Server) uploadCalls() {
	rows := map[string]*huma.MediaType{
		typeCSV:    {Schema: &huma.Schema{Type: "string"}, Example: "id,city\n1,Seoul\n2,Lagos\n"},
		typeNDJSON: {Schema: &huma.Schema{Type: "string"}, Example: "{\"id\":1}\n{\"id\":2}\n"},
	}
	with := func(schema *huma.Schema, example any) *huma.RequestBody {
		content := map[string]*huma.MediaType{typeJSON: {Schema: schema, Example: example}}
		for k, v := range rows {
			content[k] = v
		}
		return &huma.RequestBody{Required: true, Content: content}
	}
	schemas := s.api.OpenAPI().Components.Schemas
	handle(s, call{
		id: "submit-group", tag: "groups", method: http.MethodPost, path: "/v1/groups", status: http.StatusCreated,
		summary: "Start a group",
		description: "A CSV or NDJSON body is streamed: jobs run while it uploads, and its settings come in the query. A JSON body holds settings and jobs, " +
			"or \"open\": true for an upload in parts. 201, or 200 with the existing group for a known key. " +
			"If an upload breaks off, the rows before stand and the group stays open: send the same again with the same key, or go on by /jobs from total.",
		errors: append([]spillway.Code{spillway.CodeUnknownAction, spillway.CodeKeyConflict, spillway.CodeSourceChanged, spillway.CodePrivateAddress}, uploadErrors...),
		body: with(schemas.Schema(typeOf[groupBody](), true, "NewGroup"), map[string]any{
			"tenant": "acme", "action": "tag", "key": "import-7", "jobs": []any{map[string]any{"id": 1}, map[string]any{"id": 2}},
		}),
	}, s.submit)
	handle(s, call{
		id: "append-jobs", tag: "groups", method: http.MethodPost, path: "/v1/groups/{id}/jobs",
		summary:     "Add rows to an open group",
		description: "offset is the number of rows accepted so far; a wrong one answers 409 with the right one, so that an upload goes on where it broke off. Every CSV part begins with the header.",
		errors:      uploadErrors,
		body:        with(schemas.Schema(typeOf[jobsBody](), true, "Jobs"), map[string]any{"jobs": []any{map[string]any{"id": 3}}}),
	}, s.append)
	handle(s, call{
		id: "seal-group", tag: "groups", method: http.MethodPost, path: "/v1/groups/{id}/seal",
		summary:     "End an upload",
		description: "No more rows will come: the group completes when its jobs are done. Sealing a sealed group changes nothing.",
		errors:      []spillway.Code{spillway.CodeNotFound, spillway.CodeState},
	}, func(ctx context.Context, in *GroupPath) (*reply[*bulk.Group], error) {
		if _, err := s.see(ctx, in.ID); err != nil {
			return nil, err
		}
		return ok(s.engine.Seal(ctx, in.ID))
	})
}

// mediaType is the type of the request's body.
func mediaType(r *http.Request) (string, error) {
	unsupported := func(what string) error {
		return spillway.Errorf(codeMediaType, "%s is not taken: send %s, %s or %s in UTF-8", what, typeCSV, typeNDJSON, typeJSON)
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return "", unsupported("the content encoding " + enc)
	}
	given := cmp.Or(r.Header.Get("Content-Type"), typeJSON)
	kind, params, err := mime.ParseMediaType(given)
	if cs := params["charset"]; err == nil && cs != "" && !strings.EqualFold(cs, "utf-8") {
		return "", unsupported("the charset " + cs)
	}
	switch {
	case err != nil:
		return "", unsupported("the content type " + given)
	case kind == "application/ndjson" || kind == "application/jsonl":
		kind = typeNDJSON
	case kind != typeCSV && kind != typeNDJSON && kind != typeJSON:
		return "", unsupported("the content type " + kind)
	}
	return kind, nil
}

// reader makes rows of a streamed body.
func reader(kind string, r io.Reader, cost string) (bulk.Source, error) {
	o := source.Options{CostField: cost}
	if kind == typeCSV {
		return source.CSV(r, o)
	}
	return source.JSONL(r, o)
}

// submit starts a group.
func (s *Server) submit(ctx context.Context, in *submitQuery) (*reply[*bulk.Group], error) {
	kind, err := mediaType(exchangeOf(ctx).r)
	if err != nil {
		return nil, err
	}
	if kind == typeJSON {
		return s.submitJSON(ctx, in)
	}
	sub, err := s.submission(ctx, *in)
	if err != nil {
		return nil, err
	}
	b, release, err := s.upload(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	src, err := reader(kind, b, in.Cost)
	if err != nil {
		return nil, cmp.Or(b.failure(), err)
	}
	g, existing, err := s.engine.Submit(ctx, sub, src)
	return submitted(g, existing, cmp.Or(b.failure(), err))
}

func (s *Server) submitJSON(ctx context.Context, in *submitQuery) (*reply[*bulk.Group], error) {
	data, free, err := s.readAll(ctx)
	if err != nil {
		return nil, err
	}
	defer free()
	var body groupBody
	if err := decodeStrict(data, &body); err != nil {
		return nil, err
	}
	if body.Open && body.Jobs != nil {
		return nil, problemOf(spillway.Errorf(spillway.CodeInvalid, "an open group begins empty: send its rows to /v1/groups/{id}/jobs")).at("body.jobs", nil)
	}
	if !body.Open && body.Jobs == nil {
		return nil, problemOf(spillway.Errorf(spillway.CodeInvalid, "jobs are missing: give them, or \"open\": true to send them later")).at("body.jobs", nil)
	}
	sub, err := s.submission(ctx, body.over(*in))
	if err != nil {
		return nil, err
	}
	if err := checkLabels(body.Labels); err != nil {
		return nil, err
	}
	sub.Labels = body.Labels
	if body.Open {
		g, existing, err := s.engine.Open(ctx, sub)
		return submitted(g, existing, err)
	}
	src := source.Rows(body.Jobs, source.Options{CostField: sub.CostField})
	g, existing, err := s.engine.Submit(ctx, sub, src)
	return submitted(g, existing, err)
}

// submitted answers for a group; beside an error too, if the group stands.
func submitted(g *bulk.Group, existing bool, err error) (*reply[*bulk.Group], error) {
	switch {
	case err != nil && g != nil:
		return nil, uploadProblem(err, g.ID, g.Total)
	case err != nil:
		return nil, err
	case existing:
		return &reply[*bulk.Group]{Status: http.StatusOK, Body: g}, nil
	}
	return &reply[*bulk.Group]{Status: http.StatusCreated, Body: g}, nil
}

// append adds rows to a group.
func (s *Server) append(ctx context.Context, in *appendQuery) (*reply[*bulk.Group], error) {
	kind, err := mediaType(exchangeOf(ctx).r)
	if err != nil {
		return nil, err
	}
	g, err := s.see(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if in.Offset != g.Total {
		// Said before the body is read: the rest of it would be in vain.
		return nil, uploadProblem(spillway.Errorf(spillway.CodeOffset,
			"the group has %d rows: go on from offset %d, not %d", g.Total, g.Total, in.Offset), g.ID, g.Total)
	}
	var total int64
	if kind == typeJSON {
		total, err = s.appendJSON(ctx, in)
	} else {
		total, err = s.appendStream(ctx, in, kind)
	}
	if err != nil {
		return nil, uploadProblem(err, g.ID, max(total, g.Total))
	}
	return ok(s.engine.Group(ctx, in.ID))
}

func (s *Server) appendJSON(ctx context.Context, in *appendQuery) (int64, error) {
	data, free, err := s.readAll(ctx)
	if err != nil {
		return 0, err
	}
	defer free()
	var body jobsBody
	if err := decodeStrict(data, &body); err != nil {
		return 0, err
	}
	return s.engine.Append(ctx, in.ID, in.Offset, source.Rows(body.Jobs, source.Options{CostField: in.Cost}))
}

func (s *Server) appendStream(ctx context.Context, in *appendQuery, kind string) (int64, error) {
	b, release, err := s.upload(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	src, err := reader(kind, b, in.Cost)
	if err != nil {
		return 0, cmp.Or(b.failure(), err)
	}
	total, err := s.engine.Append(ctx, in.ID, in.Offset, src)
	return total, cmp.Or(b.failure(), err)
}

// uploadProblem says, beside what went wrong, where the upload stands.
func uploadProblem(err error, id spillway.GroupID, total int64) error {
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError && spillway.CodeOf(err) == spillway.CodeInternal {
		return err // to be logged with its details
	}
	return p.of(id, total)
}
