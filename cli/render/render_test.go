package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

func row(fields ...value.Field) value.Value { return value.ObjectOf(value.NewObject(fields...)) }

func TestValue(t *testing.T) {
	people := value.Array(
		row(value.Field{Name: "id", Value: value.Record("p", value.Int(1))},
			value.Field{Name: "name", Value: value.Str("Ada, \"A\"")}),
		row(value.Field{Name: "age", Value: value.Int(3)},
			value.Field{Name: "id", Value: value.Record("p", value.Int(2))}),
	)
	for _, tc := range []struct {
		name   string
		format Format
		in     value.Value
		want   string
	}{
		{"literal", Surql, people, "[{ id: p:1, name: 'Ada, \"A\"' }, { age: 3, id: p:2 }]\n"},
		{"csv quotes and leaves absent fields empty", CSV, people, "id,age,name\np:1,,\"Ada, \"\"A\"\"\"\np:2,3,\n"},
		{"csv of scalars", CSV, value.Array(value.Int(1), value.Str("x"), value.Float(1.5)), "1\nx\n1.5\n"},
		{"table", Table, people, "id  | age | name\n----+-----+---------\np:1 |     | Ada, \"A\"\np:2 |   3 | \n"},
		{"table of what is no list of rows", Table, value.Int(5), "5\n"},
		{"vertical", Vertical, people, "*** 1 ***\n  id: p:1\nname: Ada, \"A\"\n*** 2 ***\n id: p:2\nage: 3\n"},
		{"compact", Compact, people, `[{"id":"p:1","name":"Ada, \"A\""},{"age":3,"id":"p:2"}]` + "\n"},
		{"ndjson is a line a record", NDJSON, people,
			`{"id":"p:1","name":"Ada, \"A\""}` + "\n" + `{"age":3,"id":"p:2"}` + "\n"},
		{"ndjson of one value", NDJSON, value.Int(5), "5\n"},
		{"csv has parts as JSON", CSV, row(value.Field{Name: "a", Value: value.Array(value.Int(1), value.Str("x"))}),
			"a\n\"[1,\"\"x\"\"]\"\n"},
		{"places of the screen, not characters", Table, value.Array(
			row(value.Field{Name: "a", Value: value.Str("日本")}, value.Field{Name: "b", Value: value.Str("👩‍👩‍👧")},
				value.Field{Name: "n", Value: value.Float(1.5)}),
			row(value.Field{Name: "a", Value: value.Str("e\u0301")}, value.Field{Name: "b", Value: value.Str("xyz")},
				value.Field{Name: "n", Value: value.Int(20)})),
			"a    | b   | n\n-----+-----+----\n日本 | 👩‍👩‍👧  | 1.5\ne\u0301    | xyz |  20\n"},
		{"empty list in a table", Table, value.Array(), "[]\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Value(&out, tc.format, tc.in); err != nil {
				t.Fatal(err)
			}
			if out.String() != tc.want {
				t.Errorf("got\n%s\nwant\n%s", out.String(), tc.want)
			}
		})
	}
}

// The control characters of data do not drive the terminal. In the language and in JSON their escapes are the same
// value.
func TestControlCharactersAreEscapes(t *testing.T) {
	bad := "\x1b]0;owned\a\u009b31m\u202e"
	in := value.Array(row(value.Field{Name: "x" + bad, Value: value.Str(bad)}))
	for _, f := range Formats() {
		if f == string(CSV) { // for programs; the callers mind a terminal
			continue
		}
		var out bytes.Buffer
		if err := Value(&out, Format(f), in); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(out.String(), bad[:1]+"\a\u009b\u202e") {
			t.Errorf("%s: %q", f, out.String())
		}
		if f != string(Surql) && f != string(Pretty) {
			continue
		}
		if back, err := parse.Value(out.String()); err != nil || back.Text() != in.Text() {
			t.Errorf("%s: %q reads back as %v, %v", f, out.String(), back, err)
		}
	}
}

func TestPrettyBreaksWhatIsLong(t *testing.T) {
	long := value.Str("a text that is long enough to make its object leave the line it stands on, for sure")
	v := row(value.Field{Name: "a", Value: long}, value.Field{Name: "b", Value: value.Array(value.Int(1))})
	var out bytes.Buffer
	if err := Value(&out, Pretty, v); err != nil {
		t.Fatal(err)
	}
	want := "{\n  a: " + long.Text() + ",\n  b: [1]\n}\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestTabular(t *testing.T) {
	flat := value.Array(row(value.Field{Name: "a", Value: value.Int(1)}))
	deep := value.Array(row(value.Field{Name: "a", Value: flat}))
	if !Tabular(flat) || Tabular(deep) || Tabular(value.Array()) || Tabular(value.Int(1)) {
		t.Error("only non-empty lists of flat rows are tabular")
	}
}
