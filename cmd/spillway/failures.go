package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/spillway/spillway/bulk"
)

// jobs is a stream of jobs, which may break off.
type jobs = iter.Seq2[bulk.JobView, error]

// failuresFile is a CSV file of jobs that appears complete or not at all.
type failuresFile struct {
	path string
	f    *os.File
}

func newFailuresFile(path string) (*failuresFile, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return &failuresFile{path: path, f: f}, nil
}

// write fills the file and puts it in its place.
func (w *failuresFile) write(read func() jobs) error {
	err := writeJobs(w.f, read)
	if err == nil {
		err = w.f.Chmod(0o644)
	}
	if cerr := w.f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(w.f.Name(), w.path)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", w.path, err)
	}
	w.path = ""
	return nil
}

// discard removes what was not put in its place.
func (w *failuresFile) discard() {
	if w.path != "" {
		w.f.Close()
		_ = os.Remove(w.f.Name()) // nothing depends on it
	}
}

// writeJobs writes jobs as CSV: their fields, then index, status and error.
// It reads them twice: first for the names of the fields.
func writeJobs(out io.Writer, read func() jobs) error {
	names, err := fieldNames(read())
	if err != nil {
		return err
	}
	w := csv.NewWriter(out)
	header := slices.Clone(names)
	for _, own := range []string{"index", "status", "error"} {
		if slices.Contains(names, own) {
			own = "spillway_" + own
		}
		header = append(header, own)
	}
	if err := w.Write(header); err != nil {
		return err
	}
	for job, err := range read() {
		if err != nil {
			return err
		}
		if err := w.Write(record(names, job)); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// maxFields bounds the columns; the rest of a row's fields is left out.
const maxFields = 1000

// fieldNames is the names of the fields of all jobs, in the order in which
// they first appear.
func fieldNames(read jobs) (names []string, err error) {
	known := map[string]bool{}
	for job, err := range read {
		if err != nil {
			return nil, err
		}
		for _, k := range keysOf(job.Data) {
			if !known[k] && len(names) < maxFields {
				known[k] = true
				names = append(names, k)
			}
		}
	}
	return names, nil
}

// keysOf is the keys of a JSON object in their order. A value that is no
// object is one field named data.
func keysOf(data json.RawMessage) []string {
	if len(data) == 0 || bytes.Equal(data, []byte("null")) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return []string{"data"}
	}
	var keys []string
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return keys
		}
		keys = append(keys, fmt.Sprint(t))
		var skip json.RawMessage
		if d.Decode(&skip) != nil {
			return keys
		}
	}
	return keys
}

// record is a job as a row of CSV.
func record(names []string, job bulk.JobView) []string {
	var object map[string]json.RawMessage
	if json.Unmarshal(job.Data, &object) != nil {
		object = map[string]json.RawMessage{"data": job.Data}
	}
	row := make([]string, 0, len(names)+3)
	for _, n := range names {
		row = append(row, plain(object[n]))
	}
	return append(row, fmt.Sprint(job.Index), job.Status, job.Error)
}

// plain is a JSON string without its quotes, and any other value as it is.
func plain(v json.RawMessage) string {
	var s string
	if len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}
