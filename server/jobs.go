package server

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"iter"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
)

type jobID struct {
	GroupPath
	Index int64 `path:"index" minimum:"0" doc:"The job's number within its group, from 0."`
}

type jobPage struct {
	GroupPath
	Cursor int64  `query:"cursor" minimum:"0" doc:"The lowest index to answer: the next of the page before."`
	Limit  int64  `query:"limit" minimum:"0" doc:"Most jobs to answer. Default: 1000 for JSON, all for NDJSON and CSV."`
	Accept string `header:"Accept" doc:"application/json (default), application/x-ndjson or text/csv."`
}

// jobsPerPage is the default page of a JSON list.
const jobsPerPage = 1000

// listing yields jobs of a group in order of index, from one on.
type listing func(ctx context.Context, id spillway.GroupID, from int64) iter.Seq2[bulk.JobView, error]

func (s *Server) jobCalls() {
	jobs := s.api.OpenAPI().Components.Schemas.Schema(typeOf[page[bulk.JobView]](), true, "Jobs")
	content := map[string]*huma.MediaType{
		typeJSON:   {Schema: jobs},
		typeNDJSON: {Schema: &huma.Schema{Type: "string"}, Example: "{\"index\":17,\"status\":\"failed\",\"error\":\"no such customer\"}\n"},
		typeCSV:    {Schema: &huma.Schema{Type: "string"}, Example: "index,status,attempt,error,value,data\n17,failed,5,no such customer,,\"{\"\"id\"\":17}\"\n"},
	}
	for _, c := range []struct {
		what, summary, description string
		list                       listing
	}{
		{"failures", "List failed jobs", "Failed, skipped and in-doubt jobs with their reasons and payloads.", s.engine.Failures},
		{"results", "List values", "The jobs that succeeded, with the values that their handlers answered.", s.engine.Results},
	} {
		handle(s, call{
			id: "list-" + c.what, tag: "jobs", method: http.MethodGet, path: "/v1/groups/{id}/" + c.what,
			summary:     c.summary,
			description: c.description + " In order of index; JSON in pages, NDJSON and CSV as one stream, by Accept. A stream that cannot be ended well is cut off.",
			errors:      []spillway.Code{spillway.CodeNotFound},
			reply:       content,
		}, func(ctx context.Context, in *jobPage) (*huma.StreamResponse, error) {
			if _, err := s.see(ctx, in.ID); err != nil {
				return nil, err
			}
			return &huma.StreamResponse{Body: func(huma.Context) { s.stream(ctx, in, c.list(ctx, in.ID, in.Cursor)) }}, nil
		})
	}
	handle(s, call{
		id: "get-job", tag: "jobs", method: http.MethodGet, path: "/v1/groups/{id}/jobs/{index}",
		summary:     "Show a job",
		description: "One job with its payload, its state and, when it is done, its outcome.",
		errors:      []spillway.Code{spillway.CodeNotFound},
	}, func(ctx context.Context, in *jobID) (*reply[*bulk.JobView], error) {
		if _, err := s.see(ctx, in.ID); err != nil {
			return nil, err
		}
		return ok(s.engine.Job(ctx, in.ID, in.Index))
	})
}

// jobWriter writes jobs in one format.
type jobWriter interface {
	job(bulk.JobView) error
	end(next string) error
}

// accepted chooses the format that a client names first.
func accepted(accept string, w http.ResponseWriter) (kind string, _ jobWriter) {
	for part := range strings.SplitSeq(accept, ",") {
		kind, _, _ := mime.ParseMediaType(strings.TrimSpace(part))
		switch kind {
		case typeNDJSON, "application/ndjson", "application/jsonl":
			return typeNDJSON, &ndjsonJobs{json.NewEncoder(w)}
		case typeCSV:
			return typeCSV, &csvJobs{out: csv.NewWriter(w)}
		case typeJSON:
			return typeJSON, &jsonJobs{w: w}
		}
	}
	return typeJSON, &jsonJobs{w: w}
}

// stream writes a listing. An error after the first job cuts the connection,
// since a list that only looks complete would be worse.
func (s *Server) stream(ctx context.Context, in *jobPage, jobs iter.Seq2[bulk.JobView, error]) {
	x := exchangeOf(ctx)
	kind, out := accepted(in.Accept, x.w)
	limit := in.Limit
	if limit == 0 && kind == typeJSON {
		limit = jobsPerPage
	}
	fail := func(err error) {
		p := s.problem(x, err)
		if x.w.status != 0 {
			panic(http.ErrAbortHandler)
		}
		p.write(x.w)
	}
	// The type is set when the first job is there: until then it may become
	// a problem.
	begin := func() {
		if x.w.status == 0 {
			x.w.Header().Set("Content-Type", kind)
			x.w.WriteHeader(http.StatusOK)
		}
	}
	n, next := int64(0), ""
	for job, err := range jobs {
		if err != nil {
			fail(err)
			return
		}
		if limit > 0 && n == limit {
			next = strconv.FormatInt(job.Index, 10)
			break
		}
		begin()
		if err := out.job(job); err != nil {
			return // the client is gone
		}
		n++
	}
	begin()
	_ = out.end(next) // the client may be gone
}

type ndjsonJobs struct{ out *json.Encoder }

func (o *ndjsonJobs) job(j bulk.JobView) error { return o.out.Encode(j) }
func (o *ndjsonJobs) end(string) error         { return nil }

type jsonJobs struct {
	w     http.ResponseWriter
	begun bool
}

func (o *jsonJobs) job(j bulk.JobView) error {
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	sep := ","
	if !o.begun {
		sep, o.begun = `{"items":[`, true
	}
	_, err = o.w.Write(append([]byte(sep), data...))
	return err
}

func (o *jsonJobs) end(next string) error {
	tail := "]}\n"
	if !o.begun {
		tail = `{"items":[]}` + "\n"
	}
	if next != "" {
		tail = `],"next":` + strconv.Quote(next) + "}\n"
	}
	_, err := o.w.Write([]byte(tail))
	return err
}

type csvJobs struct {
	out   *csv.Writer
	begun bool
}

func (o *csvJobs) head() error {
	if o.begun {
		return nil
	}
	o.begun = true
	return o.out.Write([]string{"index", "status", "attempt", "error", "value", "data"})
}

func (o *csvJobs) job(j bulk.JobView) error {
	if err := o.head(); err != nil {
		return err
	}
	return o.out.Write([]string{
		strconv.FormatInt(j.Index, 10), j.Status, strconv.Itoa(j.Attempt), j.Error, string(j.Value), string(j.Data),
	})
}

func (o *csvJobs) end(string) error {
	if err := o.head(); err != nil {
		return err
	}
	o.out.Flush()
	return o.out.Error()
}
