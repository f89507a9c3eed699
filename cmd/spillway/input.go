package main

import (
	"bufio"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/source"
)

// input is the file of jobs.
type input struct {
	name      string
	csv       bool
	costField string
	r         io.Reader
	close     func() error
}

// Close gives the file back; it was only read.
func (in *input) Close() {
	if in.close != nil {
		_ = in.close()
	}
}

// rows reads the header, if there is to be one.
func (in *input) rows() (bulk.Source, error) {
	r := bufio.NewReader(in.r)
	if err := checkPlain(r); err != nil {
		return nil, err
	}
	if in.csv {
		return source.CSV(r, source.Options{CostField: in.costField})
	}
	return source.JSONL(r, source.Options{CostField: in.costField})
}

// checkPlain refuses what is no text, by its first bytes. No more of them are
// waited for than a text could have.
func checkPlain(r *bufio.Reader) error {
	switch head, _ := r.Peek(2); string(head) {
	case "\x1f\x8b":
		return errors.New("the file is compressed with gzip: unpack it first, or pipe it in: gunzip -c FILE | spillway run --csv - …")
	case "PK":
		if head, _ := r.Peek(4); string(head) == "PK\x03\x04" {
			return errors.New("the file is a ZIP archive, as Excel workbooks (.xlsx) are: save the sheet as CSV, or unpack the archive")
		}
	}
	return nil
}

// Bounds of what is read before anything is opened: about the first segment.
const (
	aheadRows  = spillway.ChunkSize
	aheadBytes = 256 << 10
	aheadWait  = 200 * time.Millisecond
)

// ahead is a source of which the first rows were read in advance, so that a
// file that begins broken starts nothing. It waits for rows that trickle in
// only as long as aheadWait.
type ahead struct {
	src    bulk.Source
	opened chan struct{} // closed when the header was read, or could not be
	mu     struct {
		sync.Mutex
		rows  []bulk.Row
		bytes int
		stop  bool
		ended bool // reading ahead is over; the source is the consumer's now
		err   error
	}
	changed *sync.Cond
}

// readAhead begins to read. Its errors are those of the header and of the
// first rows.
func readAhead(in *input, stop <-chan struct{}) (*ahead, error) {
	a := &ahead{opened: make(chan struct{})}
	a.changed = sync.NewCond(&a.mu)
	go a.read(in)
	select {
	case <-a.opened:
	case <-stop:
		return nil, &exitError{exitInterrupted, errors.New("stopped before the first row")}
	}
	timer := time.AfterFunc(aheadWait, a.stop)
	defer timer.Stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	for !a.mu.ended && !a.mu.stop {
		a.changed.Wait()
	}
	if a.mu.err != nil && !errors.Is(a.mu.err, io.EOF) {
		return nil, a.mu.err
	}
	return a, nil
}

func (a *ahead) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.stop = true
	a.changed.Broadcast()
}

func (a *ahead) read(in *input) {
	src, err := in.rows()
	a.src = src
	close(a.opened)
	for more := true; more; {
		var row bulk.Row
		if err == nil {
			row, err = src.Next()
		}
		more = a.keep(row, err)
	}
}

// keep stores a row and says whether to read on.
func (a *ahead) keep(row bulk.Row, err error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.changed.Broadcast()
	if err != nil {
		a.mu.err, a.mu.ended = err, true
		return false
	}
	row.Data = append([]byte(nil), row.Data...)
	a.mu.rows = append(a.mu.rows, row)
	a.mu.bytes += len(row.Data)
	a.mu.ended = a.mu.stop || len(a.mu.rows) >= aheadRows || a.mu.bytes >= aheadBytes
	return !a.mu.ended
}

// Next implements bulk.Source.
func (a *ahead) Next() (bulk.Row, error) {
	a.mu.Lock()
	for len(a.mu.rows) == 0 && !a.mu.ended {
		a.changed.Wait()
	}
	if len(a.mu.rows) > 0 {
		defer a.mu.Unlock()
		row := a.mu.rows[0]
		a.mu.rows = a.mu.rows[1:]
		return row, nil
	}
	err := a.mu.err
	a.mu.Unlock()
	if err != nil {
		return bulk.Row{}, err
	}
	return a.src.Next()
}

// passing is a source that tells when more than n rows were asked of it: the
// rows that were read in an earlier run have then been compared.
type passing struct {
	bulk.Source
	left   int64
	passed func()
	err    error // what ended the source
}

func (p *passing) Next() (bulk.Row, error) {
	if p.left == 0 {
		p.passed()
	}
	p.left--
	row, err := p.Source.Next()
	if err != nil {
		p.err = err
	}
	return row, err
}
