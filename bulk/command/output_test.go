package command

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/internal/wire"
)

func parse(r io.Reader) (*output, []spillway.Outcome) {
	var all []spillway.Outcome
	o := &output{report: func(some ...spillway.Outcome) { all = append(all, some...) }}
	o.read(r)
	return o, all
}

// FuzzOutput compares reading in any pieces with splitting the whole.
func FuzzOutput(f *testing.F) {
	for _, s := range []string{"", "\n\n", "{\"index\":1}\n{\"index\":2}", "x\n{\"index\":1,\"value\":\"é\"}\r\n", strings.Repeat("{\"index\":1}\n", 10000), strings.Repeat("y", maxLine+5) + "\n{\"index\":1}\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want []spillway.Outcome
		bad := 0
		for i, line := range bytes.Split(text, []byte("\n")) {
			trimmed := bytes.TrimSpace(line)
			o, err := wire.ParseResult(trimmed)
			switch {
			case len(line) >= maxLine || (len(trimmed) > 0 && err != nil):
				if bad == 0 {
					bad = i + 1
				}
			case len(trimmed) > 0:
				want = append(want, o)
			}
		}
		for name, r := range map[string]io.Reader{"whole": bytes.NewReader(text), "halves": iotest.HalfReader(bytes.NewReader(text)), "data with EOF": iotest.DataErrReader(bytes.NewReader(text))} {
			o, got := parse(r)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s: %s", name, diff)
			}
			if (o.err != nil) != (bad > 0) || (bad > 0 && !strings.HasPrefix(o.err.Error(), "line "+strconv.Itoa(bad)+" ")) {
				t.Fatalf("%s: error %.200v, want line %d", name, o.err, bad)
			}
		}
	})
}

func TestTail(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"blank", "\n \n", ""},
		{"one line", "a", "a"},
		{"last of several", "a\nb\n", "b"},
		{"carriage return", "a\r\nb\r\n\r\n", "b"},
		{"long line", strings.Repeat("a", 9000) + "z\n", strings.Repeat("a", spillway.MaxReason-1) + "z"},
		{"blank end of much", strings.Repeat("a\n", 9000), "a"},
	} {
		for _, size := range []int{1, 7, 5000, 1 << 20} {
			var got tail
			for text := []byte(c.text); len(text) > 0; {
				n := min(size, len(text))
				if k, err := got.Write(text[:n]); k != n || err != nil {
					t.Fatal(k, err)
				}
				text = text[n:]
			}
			if got.last() != c.want || len(got.buf) > 2*tailSize {
				t.Errorf("%s by %d: %q of %d bytes", c.name, size, got.last(), len(got.buf))
			}
		}
	}
}
