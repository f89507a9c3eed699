package command

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// What stands in the pipe at the deadline is read, though a writer stays.
func TestPipeAfterItsDeadline(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := w.WriteString(strings.Repeat("x", 5000)); err != nil {
		t.Fatal(err)
	}
	p := newPipe(r)
	if err := p.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing
		got, err := io.ReadAll(onlyReader{p})
		if err != nil || len(got) != 5000 && len(got) != 0 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if p.rest != maxRest-5000 {
			t.Errorf("%d bytes still allowed", p.rest)
		}
	}
}

// A writer that never stops does not hold the reader for ever.
func TestPipeAfterItsDeadlineIsBounded(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := newPipe(r)
	p.rest = 100
	if err := p.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 5000)); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(onlyReader{p}); len(got) != 100 || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	r.Close()
	w.Close()
}
