package value

import (
	"testing"

	"github.com/nacredb/nacre/engine/errs"
)

// The answers are the reference's.
func TestCast(t *testing.T) {
	for _, c := range []struct{ typ, in, want string }{
		{"array", "9223372036854775806..", "[9223372036854775806, 9223372036854775807]"},
		{"array", "9223372036854775806..=9223372036854775807", "[9223372036854775806, 9223372036854775807]"},
		{"array", "-9223372036854775808>..-9223372036854775806", "[-9223372036854775807]"}, {"array", "5..=5", "[5]"},
		{"array", "5>..=5", "[]"}, {"array", "5..1", "[]"}, {"array", "1.0..3dec", "[1, 2]"},
		{"array", "1..2.5", "Could not cast into `array` using input `1..2.5f`"},
		{"array<int>", "1..", "Casting range `1..` to an array would create an array larger then the max allocation limit."},
		{"array<array<int>>", "[['x']]", "Could not cast into `int` using input `'x'` when coercing an element of `array<int>` when coercing an element of `array<array<int>>`"},
		{"array<array<int,1>>", "[[1,2]]", "Expected `array<int,1>` but found a collection of length `2` when coercing an element of `array<array<int, 1>>`"},
		{"set<int,2>", "[1,1]", "Expected `set<int,2>` but found a collection of length `1`"},
		{"set<int,2>", "[1,1,2]", "{1, 2}"}, {"set<string>", "[1,'1',2]", "{'1', '2'}"},
		{"array<record<person>,2>", "['x:1']", "Expected `array<record<person>,2>` but found a collection of length `1`"},
		{"table<a>", "'a'", "a"}, {"table<a|b>", "'c'", "Could not cast into `table<a|b>` using input `'c'`"},
		{"table", "type::table('a b')", "`a b`"},
		{"record", "'t:[1,2]'", "t:[1, 2]"}, {"point", "[1dec,2dec]", "(1, 2)"},
		{"point", "['1','2']", "Could not cast into `geometry` using input `['1', '2']`"},
		{"bytes", "[256,-1,255,-129]", `b"00FFFF7F"`}, {"bytes", "['-1']", `b"FF"`},
		{"bytes", "[1.5]", "Could not cast into `bytes` using input `[1.5f]`"},
		{"option<string>", "NONE", "NONE"},
		{"option<string>", "NULL", "Could not cast into `none | string` using input `NULL`"},
		{"float | int", "'1'", "1f"}, {"1", "1.0", "1f"},
		{"{ a: int }", "{a:1.0}", "{ a: 1f }"},
		{"{ a: int }", "{a:1,b:NONE}", "Could not cast into `{ a: int }` using input `{ a: 1, b: NONE }`"}, {"{ a: option<int> }", "{}", "{  }"},
		{"int", "1e30", "9223372036854775807"}, {"int", "NaN", "Could not cast into `int` using input `NaN`"},
		{"decimal", "'1_000'", "1000dec"}, {"decimal", "'-0'", "0dec"},
		{"decimal", "'1e3'", "Could not cast into `decimal` using input `'1e3'`"},
		{"float", "'.5'", "0.5f"}, {"float", "'-nan'", "NaN"},
		{"float", "'0x1p4'", "Could not cast into `float` using input `'0x1p4'`"},
		{"float", "'1_0'", "Could not cast into `float` using input `'1_0'`"},
		{"number", "'9223372036854775808'", "9223372036854776000f"}, {"duration", "' 1h1h '", "2h"},
		{"duration", "'18446744073709551615s1s'",
			"Could not cast into `duration` using input `'18446744073709551615s1s'`"}, {"duration", "'1_000s'", "16m40s"},
		{"datetime", "'2024-01-01 00:00:00.12345678912345Z'", "d'2024-01-01T00:00:00.123456790Z'"},
		{"datetime", "'2024-01-01T00:00:00+0200'", "Could not cast into `datetime` using input `'2024-01-01T00:00:00+0200'`"},
		{"datetime", "'0002024-01-01'", "d'2024-01-01T00:00:00Z'"},
		{"datetime", "'2024-01-01T00:00:00Zx'", "d'2024-01-01T00:00:00Z'"},
		{"uuid", "'{018f0d3e-6f3b-7aaa-8aaa-1234567890ab}'", "u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab'"},
		{"uuid", "'018f0d3e6f3b7aaa8aaa1234567890ab'", "u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab'"},
		{"uuid", "'urn:uuid:018f0d3e6f3b7aaa8aaa1234567890ab'", "Could not cast into `uuid` using input `'urn:uuid:018f0d3e6f3b7aaa8aaa1234567890ab'`"},
	} {
		text, err := castTo(t, c.typ, c.in)
		if err != nil {
			if e := errs.As(err); e.Kind != errs.KindInternal || e.Msg != text {
				t.Errorf("<%s>%s: crosses the wire as %s %s", c.typ, c.in, e.Kind, e.Msg)
			}
		}
		if text != c.want {
			t.Errorf("<%s>%s: got %s, want %s", c.typ, c.in, text, c.want)
		}
	}
}

// TestCastInUnion holds what an alternative of a union takes: a cast of its own may take more. The answers are the
// reference's.
func TestCastInUnion(t *testing.T) {
	for _, c := range []struct{ typ, in, want string }{
		{"record<user> | string", "'user:two'", "'user:two'"},
		{"record<user> | string", "user:two", "user:two"},
		{"record | string", "'user:two'", "user:two"},
		{"string | record", "'user:two'", "'user:two'"},
		{"option<record<user>>", "'user:1'", "Could not cast into `none | record<user>` using input `'user:1'`"},
		{"option<record>", "'user:1'", "user:1"},
		{"array<record<user>> | string", "['user:1']", "\"['user:1']\""},
		{"array<record> | string", "['user:1']", "[user:1]"},
		{"array<int> | string", "['1']", "[1]"},
		{"array<int> | string", "[1]", "[1]"},
		{"array<int> | string", "[1f]", "[1]"},
		{"array | string", "{1,2}", "'{1, 2}'"},
		{"set | string", "[1, 1]", "'[1, 1]'"},
		{"set | array", "[1, 1]", "[1, 1]"},
		{"array | set", "{1, 2}", "{1, 2}"},
		{"array<int> | set<int>", "{1, 2}", "{1, 2}"},
		{"int | array", "{1, 2}", "Could not cast into `int | array` using input `{1, 2}`"},
		{"int | set", "[1, 2]", "Could not cast into `int | set` using input `[1, 2]`"},
		{"int | string", "'1'", "1"},
		{"int | float", "'1'", "1"},
		{"int | uuid", "'1'", "1"},
		{"datetime | int", "'1'", "1"},
		{"datetime | duration", "'1h'", "1h"},
		{"option<int>", "'1'", "1"},
		{"option<datetime>", "'2020-01-01T00:00:00Z'", "d'2020-01-01T00:00:00Z'"},
		{"option<array<int>>", "['1']", "[1]"},
		{"option<array>", "{1,2}", "Could not cast into `none | array` using input `{1, 2}`"},
		{"option<set>", "[1,1]", "Could not cast into `none | set` using input `[1, 1]`"},
		{"geometry<point> | string", "[1,2]", "'[1, 2]'"},
		{"geometry<point> | int", "[1,2]", "Could not cast into `geometry<point> | int` using input `[1, 2]`"},
		{"option<array<record<user>>>", "['user:1']", "Could not cast into `none | array<record<user>>` using input `['user:1']`"},
		{"record<user>", "'user:1'", "user:1"},
		{"array<record<user>>", "['user:1']", "[user:1]"},
		{"bytes | int", "'a'", "b\"61\""},
		{"bool | int", "'true'", "true"},
		{"array<int,2> | string", "['1','2']", "[1, 2]"},
		{"{a: int} | string", "{a: '1'}", "\"{ a: '1' }\""},
		{"[int, string] | string", "['1', 2]", "\"['1', 2]\""},
		{"option<{a: int}>", "{a: '1'}", "Could not cast into `none | { a: int }` using input `{ a: '1' }`"},
		{"function | int", "'a'", "Could not cast into `function | int` using input `'a'`"},
		{"range | string", "[1,2]", "1..2"},
		{"option<range>", "[1,2]", "1..2"},
		{"number | bool", "'true'", "true"},
		{"file | int", "'a:/b'", "Could not cast into `file | int` using input `'a:/b'`"},
		{"table | int", "'ab'", "ab"},
		{"array | int", "1..3", "Could not cast into `array | int` using input `1..3`"},
		{"array | string", "b'00'", "'\\0'"},
		{"array | int", "b'00'", "Could not cast into `array | int` using input `b\"00\"`"},
		{"set | int", "1..3", "Could not cast into `set | int` using input `1..3`"},
		{"bytes | int", "[1,2]", "b\"0102\""},
		{"option<bytes>", "[1,2]", "b\"0102\""},
		{"option<bytes>", "'a'", "b\"61\""},
		{"table<user> | string", "'user'", "user"},
		{"option<table>", "'user'", "user"},
		{"array<array<record<u>>> | int", "[['u:1']]", "Could not cast into `array<array<record<u>>> | int` using input `[['u:1']]`"},
		{"array<option<record<u>>>", "['u:1']", "Could not cast into `none | record<u>` using input `'u:1'` when coercing an element of `array<none | record<u>>`"},
		{"array<set> | int", "[[1,1]]", "Could not cast into `array<set> | int` using input `[[1, 1]]`"},
		{"array<int|set>", "[[1,1]]", "Could not cast into `int | set` using input `[1, 1]` when coercing an element of `array<int | set>`"},
		{"array<array<int>> | string", "[{1,}]", "'[{1,}]'"},
		{"option<geometry<line>>", "[1,2]", "Could not cast into `none | geometry<line>` using input `[1, 2]`"},
		{"option<point>", "[1,2]", "Could not cast into `none | geometry<point>` using input `[1, 2]`"},
		{"point | int", "[1,2]", "Could not cast into `geometry<point> | int` using input `[1, 2]`"},
		{"array<int, 3> | int", "['1', '2']", "Could not cast into `array<int, 3> | int` using input `['1', '2']`"},
		{"array<int, 3> | string", "['1', '2']", "\"['1', '2']\""},
		{"set<int, 3> | string", "{'1', '2'}", "\"{'1', '2'}\""},
		{"array<record> | int", "['u:1', 'x']", "Could not cast into `array<record> | int` using input `['u:1', 'x']`"},
	} {
		if text, _ := castTo(t, c.typ, c.in); text != c.want {
			t.Errorf("<%s> %s: got %s, want %s", c.typ, c.in, text, c.want)
		}
	}
}

// castTo is the text of a cast, or of its error.
func castTo(t *testing.T, typ, in string) (text string, err error) {
	t.Helper()
	to, err := readType(typ)
	if err != nil {
		t.Fatal(typ, err)
	}
	got, err := Cast(lit(t, in), to, &reader{})
	if err != nil {
		return err.Error(), err
	}
	return got.Text(), nil
}

// The answers are the reference's.
func TestCoerce(t *testing.T) {
	for _, c := range []struct{ typ, in, want string }{
		{"array<set<int>>", "[[1]]", "Expected `set` but found `[1]` when coercing an element of `array<set<int>>`"},
		{"set<int,2>", "{1,1}", "Expected `set<int,2>` but found a collection of length `1`"},
		{"set<int>", "{1,1.0,'x'}", "Expected `int` but found `'x'` when coercing an element of `set<int>`"},
		{"array<int> | string", "['x']", "Expected `array<int> | string` but found `['x']`"},
		{"record<p|q>", "r:1", "Expected `record<p|q>` but found `r:1`"},
		{"table<a>", "'b'", "Expected `table<a>` but found `'b'`"}, {"table<a>", "type::table('a')", "a"},
		{"{ a: int }", "{a:1, b:2}", "Expected `{ a: int }` but found `{ a: 1, b: 2 }`"},
		{"int", "1e30", "9223372036854775807"}, {"int", "NaN", "Expected `int` but found `NaN`"},
		{"decimal", "1e30", "Expected `decimal` but found `1000000000000000000000000000000f`"},
		{"int | float", "2f", "2"}, {"float | int", "2", "2f"}, {"array<float | int>", "[2, 2f]", "[2f, 2f]"},
		{"array<float> | array<int>", "[2]", "[2f]"}, {"[int, string]", "[1.0,'x']", "[1f, 'x']"},
		{"object", "(1,2)", "Expected `object` but found `(1, 2)`"},
		{"array", "{1,2}", "Expected `array` but found `{1, 2}`"},
		{"string", "type::table('t')", "Expected `string` but found `t`"},
	} {
		typ, err := readType(c.typ)
		if err != nil {
			t.Fatal(c.typ, err)
		}
		in := lit(t, c.in)
		got, err := Coerce(in, typ)
		text := got.Text()
		if err != nil {
			text = err.Error()
		}
		if text != c.want {
			t.Errorf("%s as %s: got %s, want %s", c.in, c.typ, text, c.want)
		}
		if Is(in, typ) != (err == nil) {
			t.Errorf("%s as %s: Is says %v", c.in, c.typ, Is(in, typ))
		}
	}
}
