package config

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/spillway/spillway/flow"
)

// Text is a string that may take parts from the environment: ${NAME}. "$${"
// stands for "${".
type Text string

// Duration is a time with a unit: 15s, 1h30m, 250ms, 7d.
type Duration time.Duration

// Size is a number of bytes with or without a unit: 32MB, 10GB, 512KiB. KB, MB
// and GB are powers of 1024, as KiB, MiB and GiB are.
type Size int64

// Rate is N/PERIOD as flow.ParseRate reads it.
type Rate flow.Rate

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (t *Text) UnmarshalYAML(n ast.Node) error {
	return scalar(n, func(s string) (err error) { *t, err = expand(s, os.LookupEnv); return err })
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (d *Duration) UnmarshalYAML(n ast.Node) error {
	return scalar(n, func(s string) (err error) { *d, err = parseDuration(s); return err })
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (z *Size) UnmarshalYAML(n ast.Node) error {
	return scalar(n, func(s string) (err error) { *z, err = parseSize(s); return err })
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (r *Rate) UnmarshalYAML(n ast.Node) error {
	return scalar(n, func(s string) error {
		if s == "adaptive" {
			return errors.New("adaptive rates are not available yet: write a fixed rate, such as 200/s")
		}
		parsed, err := flow.ParseRate(s)
		*r = Rate(parsed)
		return err
	})
}

// positioned is an error at a line of the file.
type positioned struct {
	line int
	err  error
}

func (p *positioned) Error() string { return p.err.Error() }
func (p *positioned) Unwrap() error { return p.err }

// scalar hands the text of a scalar to parse and places its error.
func scalar(n ast.Node, parse func(string) error) error {
	for {
		switch x := n.(type) {
		case *ast.AnchorNode:
			n = x.Value
			continue
		case *ast.TagNode:
			n = x.Value
			continue
		}
		break
	}
	var err error
	switch x := n.(type) {
	case *ast.NullNode:
	case *ast.LiteralNode:
		err = parse(x.Value.Value)
	case ast.ScalarNode:
		err = parse(x.GetToken().Value)
	default:
		err = errors.New("a single value is expected here")
	}
	if err == nil {
		return nil
	}
	return &positioned{line: n.GetToken().Position.Line, err: err}
}

var variable = regexp.MustCompile(`\$?\$\{([^}]*)\}`)

func expand(s string, env func(string) (string, bool)) (Text, error) {
	var missing error
	out := variable.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		name := m[2 : len(m)-1]
		v, ok := env(name)
		if !ok && missing == nil {
			missing = fmt.Errorf("the environment variable %q is not set: export it, or write $${ for a literal ${", name)
		}
		return v
	})
	return Text(out), missing
}

func parseDuration(s string) (Duration, error) {
	bad := fmt.Errorf("%q is no duration: write a number with its unit, such as 250ms, 15s, 1h30m or 7d", s)
	text, days := s, time.Duration(0)
	if before, after, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(before, 10, 16)
		if err != nil || n > 36_500 {
			return 0, bad
		}
		days, text = time.Duration(n)*day, after
	}
	if text == "" && days > 0 || s == "0" || s == "0d" {
		return Duration(days), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > 100*365*day {
		return 0, bad
	}
	return Duration(days + d), nil
}

var units = map[string]int64{"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

func parseSize(s string) (Size, error) {
	bad := fmt.Errorf("%q is no size: write bytes, or a number with KB, MB, GB or TB, such as 32MB", s)
	end := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(s)
	}
	n, err := strconv.ParseFloat(s[:end], 64)
	unit := strings.ToUpper(strings.TrimSpace(s[end:]))
	if unit != "B" {
		unit = strings.TrimSuffix(strings.TrimSuffix(unit, "B"), "I")
	}
	by, ok := units[unit]
	if err != nil || !ok || n*float64(by) >= 1<<62 {
		return 0, bad
	}
	return Size(n * float64(by)), nil
}
