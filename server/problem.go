package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spillway/spillway"
)

// Problem is the answer of every call that failed: RFC 9457, with a stable
// code.
type Problem struct {
	Type   string `json:"type,omitempty" doc:"Always about:blank; the code tells the kinds apart."`
	Title  string `json:"title" doc:"The status in words." example:"Conflict"`
	Status int    `json:"status" example:"409"`
	Code   string `json:"code" doc:"The kind of problem; programs act upon it." example:"offset_mismatch"`
	Detail string `json:"detail" doc:"What went wrong and what to do." example:"the group has 1200 rows: go on from offset 1200, not 1000"`
	// Request is in the server's log too.
	Request string `json:"request,omitempty" doc:"The request's id, as in the log and in the header X-Request-Id."`

	Errors []*huma.ErrorDetail `json:"errors,omitempty" doc:"Each invalid field with its place."`
	Group  spillway.GroupID    `json:"group,omitempty" doc:"The group whose upload broke off; it can be gone on with."`
	Total  *int64              `json:"total,omitempty" doc:"The rows that the group has accepted."`
	Offset *int64              `json:"offset,omitempty" doc:"Where the upload goes on."`

	retryAfter int
}

// Codes that only a server has; the others are in package spillway.
const (
	codeTimeout      spillway.Code = "timeout"            // the request stalled
	codeMethod       spillway.Code = "method_not_allowed" // see the header Allow
	codeMediaType    spillway.Code = "unsupported_media_type"
	codeRateExceeded spillway.Code = "rate_exceeded" // too many requests with one key; see Retry-After
)

// statuses maps codes to HTTP; a code that is not here is the server's fault.
var statuses = map[spillway.Code]int{
	spillway.CodeInvalid:        http.StatusUnprocessableEntity,
	spillway.CodeUnknownAction:  http.StatusUnprocessableEntity,
	spillway.CodePrivateAddress: http.StatusUnprocessableEntity,
	spillway.CodeHandler:        http.StatusUnprocessableEntity,
	spillway.CodeNotFound:       http.StatusNotFound,
	spillway.CodeKeyConflict:    http.StatusConflict,
	spillway.CodeOffset:         http.StatusConflict,
	spillway.CodeSourceChanged:  http.StatusConflict,
	spillway.CodeSealed:         http.StatusConflict,
	spillway.CodeState:          http.StatusConflict,
	spillway.CodeLeaseLost:      http.StatusConflict,
	spillway.CodeTooLarge:       http.StatusRequestEntityTooLarge,
	spillway.CodeLimit:          http.StatusTooManyRequests,
	spillway.CodeUnauthorized:   http.StatusUnauthorized,
	spillway.CodeForbidden:      http.StatusForbidden,
	spillway.CodeUnavailable:    http.StatusServiceUnavailable,
	spillway.CodeLedgerInUse:    http.StatusServiceUnavailable,
	spillway.CodeLedgerFull:     http.StatusInsufficientStorage,
	codeTimeout:                 http.StatusRequestTimeout,
	codeMethod:                  http.StatusMethodNotAllowed,
	codeMediaType:               http.StatusUnsupportedMediaType,
	codeRateExceeded:            http.StatusTooManyRequests,
}

// codes is the way back, for problems that the framework finds.
var codes = map[int]spillway.Code{
	http.StatusNotFound:              spillway.CodeNotFound,
	http.StatusRequestTimeout:        codeTimeout,
	http.StatusRequestEntityTooLarge: spillway.CodeTooLarge,
	http.StatusUnsupportedMediaType:  codeMediaType,
	http.StatusInternalServerError:   spillway.CodeInternal,
}

// The framework's own errors become problems too. It has one hook for them,
// which is a variable.
func init() {
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		p := &Problem{
			Title:  http.StatusText(status),
			Status: status,
			Code:   string(cmp.Or(codes[status], spillway.CodeInvalid)),
			Detail: msg,
		}
		for _, err := range errs {
			var d huma.ErrorDetailer
			if errors.As(err, &d) {
				p.Errors = append(p.Errors, d.ErrorDetail())
			}
		}
		return p
	}
}

// problemOf turns an error into a problem, which tells nothing of the inside.
func problemOf(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	code := spillway.CodeOf(err)
	status, known := statuses[code]
	if !known {
		return &Problem{
			Title:  http.StatusText(http.StatusInternalServerError),
			Status: http.StatusInternalServerError,
			Code:   string(spillway.CodeInternal),
			Detail: "an error inside the server; its log has the details under this request's id",
		}
	}
	p = &Problem{Title: http.StatusText(status), Status: status, Code: string(code), Detail: err.Error()}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		p.retryAfter = 1
	}
	return p
}

// at adds the place of an invalid field.
func (p *Problem) at(location string, value any) *Problem {
	p.Errors = append(p.Errors, &huma.ErrorDetail{Message: p.Detail, Location: location, Value: value})
	return p
}

// of adds where an upload stands.
func (p *Problem) of(group spillway.GroupID, total int64) *Problem {
	p.Group, p.Total = group, &total
	if spillway.Code(p.Code) == spillway.CodeOffset {
		p.Offset = &total
	}
	return p
}

func (p *Problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="spillway"`)
	}
	return h
}

// write sends the problem from outside of the framework.
func (p *Problem) write(w http.ResponseWriter) {
	for k, v := range p.GetHeaders() {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may be gone
}
