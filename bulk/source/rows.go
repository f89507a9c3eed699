package source

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spillway/spillway/bulk"
)

// RowsReader yields rows that are in memory already. It is a bulk.Source.
type RowsReader struct {
	rows []json.RawMessage
	o    Options
	row  int
}

// Rows returns a reader of rows that were decoded before, such as the jobs of
// a JSON body: they must be valid JSON. Only Options.CostField and MaxRow
// count.
func Rows(rows []json.RawMessage, o Options) *RowsReader {
	return &RowsReader{rows: rows, o: o.withDefaults()}
}

// Next returns the next row.
func (r *RowsReader) Next() (bulk.Row, error) {
	if r.row == len(r.rows) {
		return bulk.Row{}, io.EOF
	}
	row := bulk.Row{Data: r.rows[r.row], Cost: 1}
	r.row++
	switch {
	case len(row.Data) > r.o.MaxRow:
		row.Bad = fmt.Sprintf("row %d is %d bytes, over the limit of %d bytes for a row", r.row, len(row.Data), r.o.MaxRow)
		text, _ := appendEscaped([]byte{'"'}, head(row.Data, r.o.MaxRow))
		row.Data = append(text, '"')
	case r.o.CostField != "":
		row.Cost, row.Bad = cost(row.Data, r.o.CostField)
		if row.Bad != "" {
			row.Bad = fmt.Sprintf("row %d: %s", r.row, row.Bad)
		}
	}
	return row, nil
}
