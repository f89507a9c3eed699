// Package source reads the rows of an upload: CSV, whose first row names the
// fields, JSON lines, and rows that are in memory already.
//
// What it guarantees: a row is returned as soon as its line has arrived, so
// that work starts while the upload still streams; memory is bounded by
// Options whatever the input holds; a row that cannot be a job (ragged, over a
// limit, not UTF-8) is returned with its reason and the rows after it go on;
// an input whose structure is broken ends with an error that names row, line
// and column.
//
// What it costs: one pass over the bytes and no allocation per good row; the
// row's Data is overwritten by the next one.
//
// CSV has its own scanner because encoding/csv holds a whole record in memory,
// however long, and stops at what must fail one row only. It reads what
// encoding/csv reads, which the fuzz test uses as its oracle.
package source
