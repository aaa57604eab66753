package load

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/value"
)

// all reads everything: rows as "LINE RECORD", bad ones as "LINE!".
func all(t testing.TB, r Reader) []string {
	t.Helper()
	var out []string
	for {
		row, err := r.Next()
		var bad *RowError
		switch {
		case errors.Is(err, io.EOF):
			return out
		case errors.As(err, &bad):
			out = append(out, fmt.Sprintf("%d!", bad.Line))
		case err != nil:
			return append(out, "end: "+err.Error())
		default:
			out = append(out, fmt.Sprintf("%d %s", row.Line, value.ObjectOf(row.Record).Text()))
		}
	}
}

func TestReaders(t *testing.T) {
	shape := Shape{Table: "t"}
	typed := Shape{Table: "t", ID: "k", Types: map[string]string{
		"s": "string", "i": "int", "f": "float", "d": "decimal", "b": "bool", "at": "datetime",
		"u": "uuid", "r": "record", "j": "json", "for": "duration",
	}}
	for _, tc := range []struct {
		name   string
		format Format
		shape  Shape
		opt    CSVOptions
		text   string
		want   []string
	}{
		{"guesses", CSV, shape, CSVOptions{}, "a,b,c,d,e\n1,-2.5,007,true,x\n",
			[]string{"2 { a: 1, b: -2.5f, c: '007', d: true, e: 'x' }"}},
		{"a mark, CRLF and blanks around names", CSV, shape, CSVOptions{}, "\xef\xbb\xbfa , b\r\n1,2\r\n",
			[]string{"2 { a: 1, b: 2 }"}},
		{"short and long rows", CSV, shape, CSVOptions{}, "a,b\n1\n1,2,3\n4,5\n",
			[]string{"2 { a: 1 }", "3!", "4 { a: 4, b: 5 }"}},
		{"quotes", CSV, shape, CSVOptions{}, "a\n\"x\n\"\"y\"\n\"1\"2\nz\n",
			[]string{"2 { a: 'x\\n\"y' }", "4!", "5 { a: 'z' }"}},
		{"text", CSV, shape, CSVOptions{Text: true, Columns: []string{"a"}}, "1\n", []string{"1 { a: '1' }"}},
		{"the same column twice", CSV, shape, CSVOptions{}, "a,a\n1,2\n",
			[]string{`end: line 1: column "a" is empty or there twice: name the columns with --columns`}},
		{"tabs", TSV, shape, CSVOptions{}, "a\tb\nx \"y\"\t2\n", []string{"2 { a: 'x \"y\"', b: 2 }"}},
		{"types", CSV, typed, CSVOptions{}, "k,s,i,f,d,b,at,u,r,j,for\na,1,2,3,4.50,true,2026-01-02T03:04:05Z," +
			"018cc251-f400-7ae0-8d5e-3a3b5c8d9e0f,t:x,\"[1,null]\",1h30m\n",
			[]string{"2 { at: d'2026-01-02T03:04:05Z', b: true, d: 4.5dec, f: 3f, for: 1h30m, i: 2, id: 'a', j: [1, NULL], " +
				"r: t:x, s: '1', u: u'018cc251-f400-7ae0-8d5e-3a3b5c8d9e0f' }"}},
		{"wrong types", CSV, typed, CSVOptions{},
			"k,i,at,r\n1,x,,\n1,1.5,,\n1,,yesterday,\n1,,,nothing\n1,\"1; REMOVE TABLE t\",,\n,,,\n",
			[]string{"2!", "3!", "4!", "5!", "6!", "7!"}},
		{"lines", NDJSON, shape, CSVOptions{}, "{\"id\":\"t:a\",\"n\":1}\n\n [1]\n{\"n\":\r\n{\"id\":\"u:a\"}",
			[]string{"1 { id: 'a', n: 1 }", "3!", "4!", "5 { id: 'u:a' }"}},
		{"an array", JSON, shape, CSVOptions{}, "[\n{\"a\":[\"]}\\\"\",{}]},\n\n{\"b\":{\n\"c\":1}}, 3\n]",
			[]string{"2 { a: [']}\"', {  }] }", "4 { b: { c: 1 } }", "5!"}},
		{"values one after another", JSON, shape, CSVOptions{}, `{"a":1}{"a":2}`, []string{"1 { a: 1 }", "1 { a: 2 }"}},
		{"an array without end", JSON, shape, CSVOptions{}, `[{"a":1},{"a":`, []string{"1 { a: 1 }", "1!"}},
		{"nothing", JSON, shape, CSVOptions{}, " ", nil},
	} {
		got := all(t, NewReader(strings.NewReader(tc.text), tc.format, tc.shape, tc.opt))
		if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
			t.Errorf("%s:\ngot  %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

// A row without end is refused before it fills memory.
func TestRowsAreBounded(t *testing.T) {
	for format, head := range map[Format]string{CSV: "a\n\"", JSON: `[{"a":"`, NDJSON: `{"a":"`} {
		endless := io.MultiReader(strings.NewReader(head), letters{})
		got := all(t, NewReader(endless, format, Shape{Table: "t"}, CSVOptions{}))
		if len(got) != 1 || !strings.Contains(got[0], "longer than 64 MiB") {
			t.Errorf("%s: %.200q", format, got)
		}
	}
}

// letters has no end.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestDetect(t *testing.T) {
	for path, want := range map[string]Format{
		"a.csv": CSV, "b/A.CSV.gz": CSV, "x.tsv.zst": TSV, "x.jsonl": NDJSON, "x.ndjson.gz": NDJSON, "x.json": JSON,
		"dump.surql": Statements, "-": Statements, "x.sql.gz": Statements,
	} {
		if got := Detect(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestParseTypes(t *testing.T) {
	got, err := ParseTypes(" a:int, b:c:string ,")
	if err != nil || len(got) != 2 || got["a"] != "int" || got["b:c"] != "string" {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"a", ":int", "a:nothing"} {
		if got, err := ParseTypes(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// Reading ends for any bytes, and each line is reported as bad at most once.
func FuzzReaders(f *testing.F) {
	f.Add("a,b\n1,\"2\n", uint8(0))
	f.Add("[{\"a\":1},{]", uint8(1))
	f.Add("{\"a\":1}\n{", uint8(2))
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		format := []Format{CSV, JSON, NDJSON, TSV}[kind%4]
		shape := Shape{Table: "t", Types: map[string]string{"a": "datetime"}}
		rows := all(t, NewReader(strings.NewReader(text), format, shape, CSVOptions{}))
		if len(rows) > len(text)+1 {
			t.Errorf("%d rows of %d bytes", len(rows), len(text))
		}
	})
}
