package sqlledger

import (
	"strings"

	"github.com/pressly/goose/v3"
)

// dialect is where SQL databases differ. Every other text is the same for all.
type dialect struct {
	goose goose.Dialect
	// words are put into the migrations.
	words *strings.Replacer
	// begin starts a transaction that writes.
	begin string
	// tidy is called now and then by the writer, between transactions.
	tidy func(*writer) error
	// classify says what kind of failure an error is.
	classify func(error) fault
}
