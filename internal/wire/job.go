// Package wire is the form in which jobs go out to handlers in other
// processes and their results come back: what the command and the HTTP
// handler have in common.
//
// Encoding is by hand into a caller's buffer and allocates nothing for
// ordinary payloads; a result costs at most one pass of encoding/json.
package wire

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/spillway/spillway"
)

// AppendJob appends the fields of a job, without braces:
// "index":17,"attempt":1,"key":"…","data":{…}. The text holds no line break.
func AppendJob(b []byte, j *spillway.Job) []byte {
	b = append(b, `"index":`...)
	b = strconv.AppendInt(b, j.Index, 10)
	b = append(b, `,"attempt":`...)
	b = strconv.AppendInt(b, int64(j.Attempt), 10)
	b = append(b, `,"key":`...)
	b = AppendString(b, j.Key)
	b = append(b, `,"data":`...)
	return appendData(b, j.Data)
}

// AppendString appends s as a JSON string.
func AppendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return appendEscaped(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func appendEscaped(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic("wire: a string that does not marshal: " + err.Error())
	}
	return append(b, text...)
}

// appendData copies a JSON value and takes line breaks out, which may stand
// between its tokens only.
func appendData(b, data []byte) []byte {
	if len(data) == 0 {
		return append(b, "null"...)
	}
	start := len(b)
	b = append(b, data...)
	if bytes.IndexByte(data, '\n') >= 0 || bytes.IndexByte(data, '\r') >= 0 {
		for i, c := range b[start:] {
			if c == '\n' || c == '\r' {
				b[start+i] = ' '
			}
		}
	}
	return b
}
