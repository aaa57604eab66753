package rpc

import (
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/value"
)

func TestConstant(t *testing.T) {
	vars := value.NewObject(value.Field{Name: "n", Value: value.Str("Ada")})
	for _, tc := range []struct{ in, want string }{
		{`7`, `7`},
		{`-7`, `-7`},
		{`1.5f`, `1.5f`},
		{`'x'`, `'x'`},
		{`{ a: 1, "b c": [true, NONE], }`, `{ a: 1, "b c": [true, NONE] }`},
		{`{ name: $n, gone: $nope }`, `{ gone: NONE, name: 'Ada' }`},
		{`person:1`, `person:1`},
		{`person:⟨a b⟩`, "person:`a b`"},
		{`person:[1, 'x']`, `person:[1, 'x']`},
		{`person:{ a: 1 }`, `person:{ a: 1 }`},
		{`u'01a1ff8e-6163-7761-a50f-13f3db900459'`, `u'01a1ff8e-6163-7761-a50f-13f3db900459'`},
		{`d'2024-01-01T00:00:00Z'`, `d'2024-01-01T00:00:00Z'`},
		{`1h30m`, `1h30m`},
		{`1..5`, `1..5`},
		{`1>..=5`, `1>..=5`},
		{`{1, 2}`, `{1, 2}`},
		{`(1)`, `1`},
	} {
		got, err := Constant(tc.in, vars)
		if err != nil || got.Text() != tc.want {
			t.Errorf("%s: got %s, %v, want %s", tc.in, got, err, tc.want)
		}
	}
}

func TestInertRefusesWhatWouldRun(t *testing.T) {
	for _, in := range []string{
		``, `time::now()`, `{ a: rand() }`, `[fn::x()]`, `(CREATE person)`, `{ a: (SELECT * FROM person) }`,
		`CREATE person`,
		`{ RETURN 1 }`, `1 + 1`, `<int>'1'`, `person:rand()`, `person:ulid()`, `person:1..5`, `$n.name`,
		`person.name`, `|$x| $x`,
		`->knows->person`, `IF true { 1 }`, `|person:10|`, `'a'.len()`, `!true`, `-'x'`, `1; 2`, `person`,
		`function() { return 1 }`,
	} {
		if got, err := Constant(in, nil); err == nil {
			t.Errorf("%s: got %s", in, got)
		}
	}
}

func FuzzConstant(f *testing.F) {
	for _, s := range []string{`{ a: [1, person:1, $x], b: 1..2 }`, `person:⟨x⟩`, `((((1))))`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Constant(text, nil)
		if err == nil {
			_ = v.Text()
		}
	})
}

// TestRecordTextIsARecordID: the text of a record id (tag 8 as text, a target in JSON) is nothing else, and is bounded.
func TestRecordTextIsARecordID(t *testing.T) {
	for _, in := range []string{"person:1", "person:[1, 'x']", " person:⟨a b⟩ "} {
		if _, ok := recordText(in); !ok {
			t.Errorf("%s is not read", in)
		}
	}
	for _, in := range []string{
		"t:[fn" + strings.Repeat("::a",
			1000) + "()]", "t:[/(((a|b)*c){9}){9}/]", "t:[time::now()]", "t:[$x]", "(t:1)", "t:1..2",
		"t:1; t:2", "t:rand()",
		"t:" + strings.Repeat("a", 64<<10), "t:[" + strings.Repeat("1,", 2<<20) + "]",
	} {
		if v, ok := recordText(in); ok {
			t.Errorf("%.40s: got %s", in, v.Text())
		}
	}
}
