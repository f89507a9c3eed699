package source_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/bulk/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	_ bulk.Source = (*source.CSVReader)(nil)
	_ bulk.Source = (*source.JSONLReader)(nil)
	_ bulk.Source = (*source.RowsReader)(nil)
)

// read returns the rows as text, a bad one's reason after " ! ", and the error
// that ended them.
func read(t testing.TB, s bulk.Source) (rows []string, err error) {
	t.Helper()
	for {
		row, err := s.Next()
		if err != nil {
			if _, again := s.Next(); !errors.Is(again, err) {
				t.Errorf("after %v the next call said %v", err, again)
			}
			return rows, err
		}
		if !json.Valid(row.Data) || !utf8.Valid(row.Data) {
			t.Errorf("not JSON: %q", row.Data)
		}
		text := string(row.Data)
		if row.Cost != 1 {
			text += fmt.Sprint(" cost ", row.Cost)
		}
		if row.Bad != "" {
			text += " ! " + row.Bad
		}
		rows = append(rows, text)
	}
}

func TestCSV(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for _, c := range []struct {
		name, in string
		o        source.Options
		want     []string
		err      string // "" is io.EOF
	}{
		{name: "rows", in: "id,name\n1,Anna\n2,Bo\n", want: []string{`{"id":"1","name":"Anna"}`, `{"id":"2","name":"Bo"}`}},
		{name: "no newline at the end", in: "id\n1", want: []string{`{"id":"1"}`}},
		{name: "a header alone", in: "id,name\n"},
		{name: "empty fields", in: "a,b,c\n,,\n", want: []string{`{"a":"","b":"","c":""}`}},
		{name: "byte order mark", in: "\ufeffid\n1\n", want: []string{`{"id":"1"}`}},
		{name: "byte order mark and quotes", in: "\ufeff\"id\"\n1\n", want: []string{`{"id":"1"}`}},
		{name: "CRLF", in: "id,n\r\n1,\"a\"\r\n\r\n2,b\r\n", want: []string{`{"id":"1","n":"a"}`, `{"id":"2","n":"b"}`}},
		{name: "carriage return at the end", in: "id,n\n1,\"a\"\r", want: []string{`{"id":"1","n":"a"}`}},
		{name: "blank lines", in: "\n\r\nid\n\n1\n\n\n2\n\r", want: []string{`{"id":"1"}`, `{"id":"2"}`}},
		{name: "quotes", in: "a,b\n\"x,\"\"y\"\"\",\"1\n2\r\n3\"\n", want: []string{`{"a":"x,\"y\"","b":"1\n2\n3"}`}},
		{name: "names need escapes", in: "\"a\"\"b\",\"c\\d\"\n1,2\n", want: []string{`{"a\"b":"1","c\\d":"2"}`}},
		{name: "spaces around names", in: " id , name\n1, x\n", want: []string{`{"id":"1","name":" x"}`}},
		{name: "control characters", in: "a\n\"\t\x01\x1f\x7f\\\"\n", want: []string{`{"a":"\t\u0001\u001f` + "\x7f" + `\\"}`}},
		{name: "many scripts", in: "имя,名\nЖеня,😀\u2028\n", want: []string{`{"имя":"Женя","名":"😀` + "\u2028" + `"}`}},
		{name: "semicolons", in: "a;b,c;d\n1;2;3\n", want: []string{`{"a":"1","b,c":"2","d":"3"}`}},
		{name: "tabs", in: "a\tb\n1\t2\n", want: []string{`{"a":"1","b":"2"}`}},
		{name: "bars", in: "a|b\n1|2\n", want: []string{`{"a":"1","b":"2"}`}},
		{name: "separators inside quotes", in: "\"a;;;\",b\n1,2\n", want: []string{`{"a;;;":"1","b":"2"}`}},
		{name: "forced separator", in: "a;b,c\n1;2,3\n", o: source.Options{Separator: ','}, want: []string{`{"a;b":"1;2","c":"3"}`}},
		{name: "unknown separator", in: "a", o: source.Options{Separator: 'x'}, err: `'x' cannot separate fields: use a comma, semicolon, tab or bar`},
		{name: "negative limit", in: "a", o: source.Options{MaxRow: -1}, err: `the limits of a field (1000000) and a row (-1) must be positive`},

		{name: "ragged rows", in: "a,b\n1\n\n1,2,3,4\n1,2\n", want: []string{
			`{"a":"1"} ! row 1 has 1 field, the header has 2 (line 2)`,
			`{"a":"1","b":"2","":["3","4"]} ! row 2 has 4 fields, the header has 2 (line 4)`,
			`{"a":"1","b":"2"}`,
		}},
		{name: "not UTF-8", in: "a,b\n1,x\xffy\n2,\"\xe2\x82\"\n3,\ufffd\n", want: []string{
			`{"a":"1","b":"x` + "\ufffd" + `y"} ! row 1 (line 2): column "b" is not valid UTF-8`,
			`{"a":"2","b":"` + "\ufffd\ufffd" + `"} ! row 2 (line 3): column "b" is not valid UTF-8`,
			`{"a":"3","b":"` + "\ufffd" + `"}`,
		}},
		{name: "a NUL", in: "a,b\n1\x00,2\n3,4\n", want: []string{
			`{"a":"1` + "\ufffd" + `","b":"2"} ! row 1 (line 2): column "a" holds a NUL byte`,
			`{"a":"3","b":"4"}`,
		}},
		{name: "field at its limit", in: "a\n12345\r\n\"12345\"\n", o: source.Options{MaxField: 5}, want: []string{`{"a":"12345"}`, `{"a":"12345"}`}},
		{name: "field over its limit", in: "a,b\n123456,x\n\"123\"\"45\",y\n" + long + ",z\n", o: source.Options{MaxField: 5}, want: []string{
			`{"a":"12345","b":"x"} ! row 1 (line 2): column "a" is 6 bytes, over the limit of 5 bytes for a field`,
			`{"a":"123\"4","b":"y"} ! row 2 (line 3): column "a" is 6 bytes, over the limit of 5 bytes for a field`,
			`{"a":"xxxxx","b":"z"} ! row 3 (line 4): column "a" is 2000 bytes, over the limit of 5 bytes for a field`,
		}},
		{name: "row over its limit", in: "a,b\n12345,12345\n1,2,3,4,5,6,7\n1,2\n", o: source.Options{MaxRow: 9}, want: []string{
			`{"a":"12345","b":"12345"} ! row 1 (line 2) is over the limit of 9 bytes for a row`,
			`{"a":"1","b":"2","":["3","4"]} ! row 2 (line 3) is over the limit of 9 bytes for a row`,
			`{"a":"1","b":"2"}`,
		}},
		{name: "cost", in: "a,n\n1,5\n2,0\n3,\n4,x\n5,9999999999\n6,1\n7\n", o: source.Options{CostField: "n"}, want: []string{
			`{"a":"1","n":"5"} cost 5`,
			`{"a":"2","n":"0"} ! row 2 (line 3): column "n" must be a cost, an integer from 1 to 1000000000, not "0"`,
			`{"a":"3","n":""} ! row 3 (line 4): column "n" must be a cost, an integer from 1 to 1000000000, not ""`,
			`{"a":"4","n":"x"} ! row 4 (line 5): column "n" must be a cost, an integer from 1 to 1000000000, not "x"`,
			`{"a":"5","n":"9999999999"} ! row 5 (line 6): column "n" must be a cost, an integer from 1 to 1000000000, not "9999999999"`,
			`{"a":"6","n":"1"}`,
			`{"a":"7"} ! row 7 has 1 field, the header has 2 (line 8)`,
		}},
		{name: "no cost column", in: "a,b\n", o: source.Options{CostField: "n"}, err: `the header has no column "n" to take the cost from; it has ["a" "b"]`},

		{
			name: "bare quote", in: "a,b\n1,2\n3,4\"5\n", want: []string{`{"a":"1","b":"2"}`},
			err: `row 2, line 3, column 4 (column "b"): bare " in non-quoted field; put the field in quotes and double the quotes inside it`,
		},
		{
			name: "quote inside quotes", in: "a\n\"x\ny\"z\"\n",
			err: `row 1, line 3, column 2 (column "a"): extraneous or missing " in quoted-field; put the field in quotes and double the quotes inside it`,
		},
		{
			name: "ends in mid-row", in: "a,b\n1,2\n3,\"4\n5,6\n", want: []string{`{"a":"1","b":"2"}`},
			err: `row 2, line 3, column 3 (column "b"): the input ends inside a quoted field; the file is cut off, or a quote is not closed`,
		},

		{name: "empty file", in: "", err: `the file is empty: its first row must name the columns, and each row after it is a job`},
		{name: "blank lines alone", in: "\n\r\n\n", err: `the file is empty: its first row must name the columns, and each row after it is a job`},
		{name: "byte order mark alone", in: "\ufeff", err: `the file is empty: its first row must name the columns, and each row after it is a job`},
		{name: "duplicate column", in: "id,x,id\n", err: `row 1 (the header, line 1): columns 1 and 3 are both named "id"; rename one`},
		{name: "empty name", in: "\nid,,x\n", err: `row 1 (the header, line 2), column 2 has no name; name it, or remove the column`},
		{name: "numbers for a header", in: "1,2.5\n3,4\n", err: `row 1 (line 1) looks like data ("1"), not like a header; add a first row that names the columns`},
		{name: "an address for a header", in: "Anna,anna@x.example\n", err: `row 1 (line 1) looks like data ("anna@x.example"), not like a header; add a first row that names the columns`},
		{name: "header not UTF-8", in: "id,n\xe9\n", err: `row 1 (the header, line 1), column 2: the name is not UTF-8; save the file as UTF-8`},
		{name: "header with a NUL", in: "i\x00d\n", err: `row 1 (the header, line 1), column 1: the name holds a NUL byte; save the file as UTF-8 text`},
		{name: "header with a broken quote", in: "id,a\"b\n", err: `the header is broken at line 1, column 5: bare " in non-quoted field`},
		{name: "name too long", in: long + "\n1\n", err: `row 1 (the header, line 1), column 1: the name is over 1000 bytes; is the first row the header?`},
		{name: "UTF-16", in: "\xff\xfei\x00d\x00", err: `the input is UTF-16: save it as UTF-8`},
		{name: "lone carriage returns", in: "id,n\r1,2\r3,4\r", err: `row 1 (the header, line 1), column 2: lines end in a carriage return alone; save the file with LF or CRLF line ends`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, wrap := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.DataErrReader} {
				var rows []string
				s, err := source.CSV(wrap(strings.NewReader(c.in)), c.o)
				if err == nil {
					rows, err = read(t, s)
				}
				if got, want := strings.Join(rows, "\n"), strings.Join(c.want, "\n"); got != want {
					t.Errorf("rows\n%s\nwant\n%s", got, want)
				}
				switch {
				case c.err == "" && !errors.Is(err, io.EOF):
					t.Errorf("ended with %v", err)
				case c.err != "" && (err == nil || err.Error() != c.err):
					t.Errorf("ended with\n%v\nwant\n%s", err, c.err)
				case c.err != "" && !errors.Is(err, spillway.CodeInvalid):
					t.Errorf("code %s", spillway.CodeOf(err))
				}
			}
		})
	}
}

// TestCSVStreams proves that a row needs no byte after its line.
func TestCSVStreams(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	send := func(s string) { go w.Write([]byte(s)) }
	send("id,n\r\n")
	s, err := source.CSV(r, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"1,a\n", "2,\"b\"\n", "3,\"c\"\r\n", "4,\"d\ne\"\n", "\n5,f\r\n"} {
		send(line)
		if _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
	}
	go w.CloseWithError(errors.New("line dropped"))
	if _, err := s.Next(); err == nil || err.Error() != "after row 5: line dropped" {
		t.Errorf("a broken stream ended with %v", err)
	}
}

func TestCSVStreamBreaks(t *testing.T) {
	cause := errors.New("reset")
	for _, in := range []string{"a,b\n1,2\n3", "a,b\n1,2\n3,\"x", "a,b\n1,2\n3,\"x\"", "a,b\n1,2\n3,\"x\"\r", "a,b\n1,2\n\r", "a,b\n1,2\n"} {
		s, err := source.CSV(io.MultiReader(strings.NewReader(in), iotest.ErrReader(cause)), source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if rows, err := read(t, s); len(rows) != 1 || !errors.Is(err, cause) {
			t.Errorf("%q: rows %q, then %v", in, rows, err)
		}
	}
	if _, err := source.CSV(iotest.ErrReader(cause), source.Options{}); !errors.Is(err, cause) {
		t.Errorf("an unreadable header: %v", err)
	}
	if _, err := source.CSV(stuck{}, source.Options{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that reads nothing: %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// TestCSVHugeField proves that memory does not grow with a field.
func TestCSVHugeField(t *testing.T) {
	const size = 64 << 20
	for _, quotes := range []string{"", `"`} {
		in := io.MultiReader(strings.NewReader("a,b\n1,"+quotes), io.LimitReader(letters{}, size), strings.NewReader(quotes+"\n2,x\n"))
		s, err := source.CSV(in, source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var first, second bulk.Row
		r := testing.Benchmark(func(b *testing.B) {
			if b.N > 1 {
				return
			}
			first, _ = s.Next()
			if len(first.Data) > 2000 || !strings.Contains(first.Bad, "over the limit of") {
				t.Errorf("%d bytes, %q", len(first.Data), first.Bad)
			}
			second, err = s.Next()
		})
		if r.MemBytes > 8<<20 {
			t.Errorf("%d bytes allocated for one field", r.MemBytes)
		}
		if err != nil || second.Bad != "" || string(second.Data) != `{"a":"2","b":"x"}` {
			t.Errorf("the row after it: %s %q %v", second.Data, second.Bad, err)
		}
	}
}

type letters struct{}

func (letters) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// FuzzCSV reads what encoding/csv reads.
func FuzzCSV(f *testing.F) {
	for _, seed := range []string{"a,b\n1,2\n", "a\n\"x\r\ny\"\"\"\r\n", "a\n\"x\"y\n", "a\nx\"\n", "a\n\r\r\n\"\"", "a\n\"b\n", "a,b\n1\n\xff,\x00\n", "\n\na\n\r", "a\n\"\"\r"} {
		f.Add([]byte(seed), uint8(1))
	}
	f.Fuzz(func(t *testing.T, body []byte, step uint8) {
		in := append([]byte("a,b\n"), body...)
		s, err := source.CSV(&stepReader{in, int(step)%7 + 1}, source.Options{Separator: ','})
		if err != nil {
			t.Fatal(err)
		}
		oracle := csv.NewReader(bytes.NewReader(in))
		oracle.FieldsPerRecord = -1
		_, _ = oracle.Read()
		for {
			row, err := s.Next()
			want, wantErr := oracle.Read()
			if (err == nil) != (wantErr == nil) || errors.Is(err, io.EOF) != errors.Is(wantErr, io.EOF) {
				t.Fatalf("%v, encoding/csv says %v", err, wantErr)
			}
			if err != nil {
				var parse *csv.ParseError
				if errors.As(wantErr, &parse) && !strings.Contains(err.Error(), "input ends") &&
					!strings.Contains(err.Error(), fmt.Sprintf("line %d, column %d", parse.Line, parse.Column)) {
					t.Fatalf("%v, encoding/csv says %v", err, wantErr)
				}
				return
			}
			if !json.Valid(row.Data) || !utf8.Valid(row.Data) {
				t.Fatalf("not JSON: %q", row.Data)
			}
			var got map[string]any
			if err := json.Unmarshal(row.Data, &got); err != nil {
				t.Fatal(err)
			}
			var fields []string
			for _, name := range []string{"a", "b"} {
				if v, ok := got[name].(string); ok {
					fields = append(fields, v)
				}
			}
			if more, ok := got[""].([]any); ok {
				for _, v := range more {
					fields = append(fields, v.(string))
				}
			}
			clean := true
			for i, w := range want {
				clean = clean && utf8.ValidString(w) && !strings.Contains(w, "\x00")
				want[i] = strings.ReplaceAll(string([]rune(w)), "\x00", "\ufffd")
			}
			if fmt.Sprintf("%q", fields) != fmt.Sprintf("%q", want) {
				t.Fatalf("%q, encoding/csv says %q", fields, want)
			}
			if (row.Bad == "") != (clean && len(want) == 2) {
				t.Fatalf("%q: bad is %q", want, row.Bad)
			}
		}
	})
}

// stepReader gives a few bytes at a time.
type stepReader struct {
	rest []byte
	step int
}

func (r *stepReader) Read(b []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, r.rest[:min(r.step, len(r.rest))])
	r.rest = r.rest[n:]
	return n, nil
}

func BenchmarkCSV(b *testing.B) {
	for _, c := range []struct{ name, row string }{
		{"plain", "1048576,Anna Larsen,anna.larsen@mail.example,+4520123456,Aarhus,DK,pro,129.50,2025-03-14,regular\n"},
		{"quoted", "1048576,\"Larsen, Anna\",\"anna.larsen@mail.example\",+4520123456,\"Århus\",DK,\"pro\",129.50,2025-03-14,\"says \"\"hi\"\"\"\n"},
	} {
		b.Run(c.name, func(b *testing.B) {
			in := io.MultiReader(strings.NewReader("id,name,email,phone,city,country,plan,spent,signup,note\n"), &repeat{text: c.row})
			s, err := source.CSV(in, source.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(c.row)))
			b.ReportAllocs()
			for b.Loop() {
				if row, err := s.Next(); err != nil || row.Bad != "" {
					b.Fatal(row.Bad, err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// repeat is a text without end.
type repeat struct {
	text string
	at   int
}

func (r *repeat) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		k := copy(b[n:], r.text[r.at:])
		n += k
		r.at = (r.at + k) % len(r.text)
	}
	return n, nil
}
