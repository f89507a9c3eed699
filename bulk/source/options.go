package source

import "github.com/spillway/spillway"

// Options shape a reader. The zero value is good for most files.
type Options struct {
	// Separator of CSV fields: a comma, semicolon, tab or bar. 0 takes the one
	// that the header holds most often.
	Separator byte
	// CostField names the field that holds a row's cost, an integer of at
	// least 1. Empty: every row costs 1.
	CostField string
	// MaxField is the most bytes of one CSV field; a row with a longer one is
	// bad. Default 1,000,000.
	MaxField int
	// MaxRow is the most bytes of one row or line; a longer one is bad.
	// Default 8,000,000.
	MaxRow int
}

// maxCost is far over any rate, and low enough that sums of costs fit.
const maxCost = 1_000_000_000

// excerpt is the bytes kept of what is over its limit or is not JSON: enough
// to find it in the file.
const excerpt = 1000

func (o Options) withDefaults() Options {
	if o.MaxField == 0 {
		o.MaxField = 1_000_000
	}
	if o.MaxRow == 0 {
		o.MaxRow = 8_000_000
	}
	return o
}

func (o Options) validate() error {
	switch o.Separator {
	case 0, ',', ';', '\t', '|':
	default:
		return spillway.Errorf(spillway.CodeInvalid, "%q cannot separate fields: use a comma, semicolon, tab or bar", o.Separator)
	}
	if o.MaxField < 1 || o.MaxRow < 1 {
		return spillway.Errorf(spillway.CodeInvalid, "the limits of a field (%d) and a row (%d) must be positive", o.MaxField, o.MaxRow)
	}
	return nil
}
