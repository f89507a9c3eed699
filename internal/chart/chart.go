// Package chart draws numbers as text, for golden files that a reviewer can
// read as a picture and for terminals.
package chart

import (
	"fmt"
	"strings"
)

// Columns draws one column per value, height rows high, over an axis that is
// marked every mark columns with tick(column). The top row is at peak, or at
// the greatest value if peak is not positive; what is greater is drawn as ^ in
// the top row. A value above 0 always shows: as '.' if it is less than half a
// row.
func Columns(values []int64, height int, peak int64, mark int, tick func(column int) string) string {
	if peak <= 0 {
		for _, v := range values {
			peak = max(peak, v)
		}
		peak = max(peak, 1)
	}
	width := len(fmt.Sprint(peak))
	var b strings.Builder
	for row := height; row >= 1; row-- {
		line := make([]byte, len(values))
		for i, v := range values {
			line[i] = cell(v, peak, row, height)
		}
		label := ""
		if row == height || row == (height+1)/2 && height > 3 {
			label = fmt.Sprint(peak * int64(row) / int64(height))
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%*s |%s", width, label, line), " "))
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%*d +%s\n", width, 0, axis(len(values), mark))
	if mark > 0 && tick != nil {
		b.WriteString(ticks(len(values), mark, width+2, tick))
	}
	return b.String()
}

// cell is the character of value v in that row, rows counted from 1.
func cell(v, peak int64, row, height int) byte {
	rows := (2*v*int64(height) + peak) / (2 * peak) // rounded to the nearest
	switch {
	case row == height && v > peak:
		return '^'
	case rows >= int64(row):
		return '#'
	case row == 1 && v > 0:
		return '.'
	}
	return ' '
}

func axis(n, mark int) string {
	line := []byte(strings.Repeat("-", n))
	for i := 0; mark > 0 && i < n; i += mark {
		line[i] = '+'
	}
	return string(line)
}

func ticks(n, mark, indent int, tick func(int) string) string {
	line := strings.Repeat(" ", indent)
	for i := 0; i < n; i += mark {
		if pad := indent + i - len(line); pad >= 0 {
			line += strings.Repeat(" ", pad) + tick(i)
		}
	}
	return strings.TrimRight(line, " ") + "\n"
}
