package bulk

// Row is one row of a source.
type Row struct {
	// Data is a JSON value; it is valid until the next call of Next.
	Data []byte
	// Cost is what the job takes from its resource's rate; 0 is 1.
	Cost int64
	// Bad says why the row cannot be a job: it becomes a failed one by itself.
	Bad string
}

// Source yields the rows of an upload as they arrive.
type Source interface {
	// Next returns the next row, io.EOF at the end, and any other error when
	// the rest cannot be read: the rows before it stand.
	Next() (Row, error)
}
