package source_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/spillway/spillway/bulk/source"
)

func TestJSONL(t *testing.T) {
	for _, c := range []struct {
		name, in string
		o        source.Options
		want     []string
	}{
		{name: "empty", in: ""},
		{name: "rows", in: "{\"a\":1}\n[2]\n\"x\"\n4\nnull\n", want: []string{`{"a":1}`, `[2]`, `"x"`, `4`, `null`}},
		{name: "no newline at the end", in: "1\n2", want: []string{"1", "2"}},
		{name: "mark, CRLF, blanks, spaces", in: "\ufeff1\r\n\r\n \n\t{\"a\": 2} \r\n", want: []string{"1", `{"a": 2}`}},
		{name: "not JSON", in: "1\n{\"a\":\nnope\n{\"a\":1} x\n2\n", want: []string{
			"1",
			`"{\"a\":" ! line 2 is not JSON: unexpected end of JSON input`,
			`"nope" ! line 3 is not JSON: invalid character 'o' in literal null (expecting 'u')`,
			`"{\"a\":1} x" ! line 4 is not JSON: invalid character 'x' after top-level value`,
			"2",
		}},
		{name: "not UTF-8", in: "\"\xff\"\n1\n", want: []string{`"\"` + "\ufffd" + `\"" ! line 1 is not valid UTF-8`, "1"}},
		{name: "a NUL", in: "\"\x00\"\n1\n", want: []string{`"\"` + "\ufffd" + `\"" ! line 1 is not JSON: invalid character '\x00' in string literal`, "1"}},
		{name: "over the limit", in: "12345\r\n123456\n1234567\n1\n", o: source.Options{MaxRow: 5}, want: []string{
			"12345",
			`"12345" ! line 2 is 6 bytes, over the limit of 5 bytes for a row`,
			`"12345" ! line 3 is 7 bytes, over the limit of 5 bytes for a row`,
			"1",
		}},
		{name: "cost", in: "{\"n\":7}\n{\"n\":0}\n{}\n3\nnull\n{\"n\":\"2\"}\n", o: source.Options{CostField: "n"}, want: []string{
			`{"n":7} cost 7`,
			`{"n":0} ! line 2: field "n" must be a cost, an integer from 1 to 1000000000, not 0`,
			`{} ! line 3: the row has no field "n" to take the cost from`,
			`3 ! line 4: the row is not an object with a field "n" to take the cost from`,
			`null ! line 5: the row is not an object with a field "n" to take the cost from`,
			`{"n":"2"} ! line 6: field "n" must be a cost, an integer from 1 to 1000000000, not "2"`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, wrap := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.DataErrReader} {
				s, err := source.JSONL(wrap(strings.NewReader(c.in)), c.o)
				if err != nil {
					t.Fatal(err)
				}
				rows, err := read(t, s)
				if got, want := strings.Join(rows, "\n"), strings.Join(c.want, "\n"); got != want || !errors.Is(err, io.EOF) {
					t.Errorf("rows\n%s\nwant\n%s\nthen %v", got, want, err)
				}
			}
		})
	}
	if _, err := source.JSONL(strings.NewReader("\xfe\xff"), source.Options{}); err == nil {
		t.Error("UTF-16 was accepted")
	}
	cause := errors.New("reset")
	s, err := source.JSONL(io.MultiReader(strings.NewReader("1\n2"), iotest.ErrReader(cause)), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := read(t, s); len(rows) != 1 || !errors.Is(err, cause) {
		t.Errorf("rows %q, then %v", rows, err)
	}
}

// TestJSONLStreams proves that a row needs no byte after its line.
func TestJSONLStreams(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	go w.Write([]byte("1\r\n"))
	s, err := source.JSONL(r, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
		go w.Write([]byte("\n{\"a\":1}\n"))
	}
}

// TestJSONLHugeLine proves that a line over the limit is not held.
func TestJSONLHugeLine(t *testing.T) {
	s, err := source.JSONL(io.MultiReader(io.LimitReader(letters{}, 64<<20), strings.NewReader("\n1\n")), source.Options{MaxRow: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := read(t, s)
	if !errors.Is(err, io.EOF) || len(rows) != 2 || rows[1] != "1" || len(rows[0]) > 1200 ||
		!strings.HasSuffix(rows[0], "line 1 is 67108864 bytes, over the limit of 100000 bytes for a row") {
		t.Errorf("%d rows, then %v", len(rows), err)
	}
}

func TestRows(t *testing.T) {
	in := []json.RawMessage{json.RawMessage(`{"n":3}`), json.RawMessage(`{"n":-1}`), json.RawMessage(`"a long one"`)}
	rows, err := read(t, source.Rows(in, source.Options{CostField: "n", MaxRow: 9}))
	want := []string{
		`{"n":3} cost 3`,
		`{"n":-1} ! row 2: field "n" must be a cost, an integer from 1 to 1000000000, not -1`,
		`"\"a long o" ! row 3 is 12 bytes, over the limit of 9 bytes for a row`,
	}
	if got, want := strings.Join(rows, "\n"), strings.Join(want, "\n"); got != want || !errors.Is(err, io.EOF) {
		t.Errorf("rows\n%s\nwant\n%s\nthen %v", got, want, err)
	}
}

// FuzzJSONL accepts exactly the lines that are JSON in UTF-8.
func FuzzJSONL(f *testing.F) {
	for _, seed := range []string{"1\n", "{\"a\":\"\\u0000\"}\r\n\nx\n", "\"\xff\"", "\ufeff1"} {
		f.Add([]byte(seed), uint8(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, step uint8) {
		s, err := source.JSONL(&stepReader{in, int(step)%7 + 1}, source.Options{MaxRow: 50})
		if err != nil {
			return
		}
		for _, line := range strings.Split(strings.TrimPrefix(string(in), "\ufeff"), "\n") {
			line = strings.Trim(line, " \t\r")
			if line == "" {
				continue
			}
			row, err := s.Next()
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if !json.Valid(row.Data) || !utf8.Valid(row.Data) {
				t.Fatalf("not JSON: %q", row.Data)
			}
			good := json.Valid([]byte(line)) && utf8.ValidString(line) && len(line) <= 50
			if good != (row.Bad == "") && !strings.Contains(row.Bad, "over the limit") {
				t.Fatalf("%q: bad is %q", line, row.Bad)
			}
			if good && row.Bad == "" && string(row.Data) != line {
				t.Fatalf("%q became %q", line, row.Data)
			}
		}
		if _, err := s.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("ended with %v", err)
		}
	})
}

func BenchmarkJSONL(b *testing.B) {
	const row = `{"id":1048576,"name":"Anna Larsen","email":"anna.larsen@mail.example","city":"Aarhus","plan":"pro","n":1}` + "\n"
	s, err := source.JSONL(&repeat{text: row}, source.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(row)))
	b.ReportAllocs()
	for b.Loop() {
		if row, err := s.Next(); err != nil || row.Bad != "" {
			b.Fatal(row.Bad, err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
