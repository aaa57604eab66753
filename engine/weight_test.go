package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// heavyLimit is what a value may weigh in these tests.
const heavyLimit = 1 << 20

const tooHeavy = "The value would be larger than 1048576 bytes"

func openLight(t testing.TB) *engine.Session {
	e, err := engine.Open(t.Context(), "memory", engine.Options{Limits: engine.Limits{Answer: heavyLimit}, Experimental: []string{"files"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	s := owner(t, e)
	run(t, s, `DEFINE TABLE t; DEFINE FIELD x ON t; DEFINE INDEX i ON t FIELDS x; DEFINE INDEX y ON t FIELDS y UNIQUE;
		DEFINE EVENT e ON t THEN { LET $b = [$before, $after]; CREATE log SET at = $b.len() };
		DEFINE FIELD c ON t COMPUTED [x, x].len(); DEFINE FIELD w ON t VALUE [$this.x, $this.x].len();
		DEFINE TABLE v AS SELECT count() AS n, x FROM t GROUP BY x; DEFINE FUNCTION fn::twice($v: any) { RETURN [$v, $v] };
		CREATE t:1 SET l = t:1; CREATE p:1; CREATE p:2; CREATE wide:1 SET a = { b: 1 }`)
	return s
}

// doublings hold a value twice in one; {} is the value. They all end at the limit, however often they are asked for.
var doublings = map[string]string{
	"list":            "[{}, {}]",
	"object":          "{ a: {}, b: {} }",
	"objects in list": "[{ a: {} }, { b: {} }]",
	"set":             "{[1, {}], [2, {}],}",
	"record id":       "[t:[{}], t:[{}]]",
	"range":           "([{}]..[{}])",
	"destructuring":   "{ o: {} }.{ a: o, b: o }",
	"path over lists": "[{ o: {} }, { o: {} }].o",
	"concatenation":   "([[{}]] + [[{}]])",
	"fill":            "array::fill([1, 2], {})",
	"repeat":          "array::repeat({}, 2)",
	"append":          "array::append([{}], {})",
	"closure":         "(|$v| [$v, $v])({})",
	"map":             "[1, 2].map(|$i| {})",
	"function":        "fn::twice({})",
	"block":           "{ LET $v = {}; [$v, $v] }",
	"projection":      "(SELECT {} AS a, {} AS b FROM ONLY 1)",
	"rows":            "(SELECT VALUE {} FROM [1, 2])",
	"groups":          "(SELECT array::group([1, {}]) AS a, array::group([2, {}]) AS b FROM [1, 2] GROUP ALL)",
	"patch":           "value::patch({ a: {} }, [{ op: 'copy', from: '/a', path: '/b' }])",
	"patch of itself": "value::patch({ a: {} }, [{ op: 'copy', from: '', path: '/b' }, { op: 'copy', from: '/a', path: '/c' }])",
	"extend":          "object::extend({ a: {} }, { b: {} })",
	"entries":         "object::from_entries([['a', {}], ['b', {}]])",
	"combine":         "array::combine([1, 2], [{}])",
	"conditional":     "(IF true { [{}, {}] })",
	"cast":            "<array> <set> [{}, [{}]]",
	"text":            "(<string> {} + <string> {})",
	"join":            "array::join([{}, {}], ',')",
	"assignment":      "(UPSERT ONLY wide:1 SET a = { b: {} }, a.c = a.b, a.d = { e: {} } RETURN VALUE [a, {}])",
	"merge":           "(UPSERT ONLY wide:2 MERGE { a: {}, b: {} } RETURN VALUE [a, b])",
	"closures kept":   "[|$x| {}, {}]",
}

// TestNoValueHoldsItselfWithoutEnd: whichever way a value is put into another twice, two hundred times over, an error ends
// it at the limit.
func TestNoValueHoldsItselfWithoutEnd(t *testing.T) {
	for name, d := range doublings {
		t.Run(name, func(t *testing.T) {
			s := openLight(t)
			step := strings.ReplaceAll(d, "{}", "$a")
			texts := []string{"LET $a = [1]; " + strings.Repeat("LET $a = "+step+"; ", 200) + "RETURN $a"}
			if !strings.Contains(d, "UPSERT") { // closures write nothing
				texts = append(texts, "RETURN (<array> 0..200).fold([1], |$a, $i| "+step+")")
			}
			for _, text := range texts {
				res := run(t, s, text, allowErrors)
				found := false
				for _, r := range res {
					switch {
					case r.Err != nil && (r.Err.Msg == tooHeavy || r.Err.Msg == "The statement would hold more than 1048576 bytes" || strings.HasPrefix(r.Err.Msg, "The string would be longer") || strings.HasPrefix(r.Err.Msg, "Incorrect arguments for function array::join")):
						found = true
					case r.Err != nil && !found:
						t.Fatalf("%.200s: %v", text, r.Err)
					case value.Exceeds(r.Value, heavyLimit):
						t.Errorf("%.200s: an answer of %d bytes", text, value.Weight(r.Value))
					}
				}
				if !found && name != "closures kept" && name != "text" && name != "join" {
					t.Errorf("%.200s: no error", text)
				}
			}
		})
	}
}

// uses are what is done with a heavy value $b on its way to the limit: were one of them to walk what the value does not
// keep, the test would not end.
var uses = []string{
	"$b = $b", "$b == [$b, 1]", "$b != $a", "$b < [$b]", "$b IN [$a, $b]", "$b CONTAINS $a", "$b CONTAINSALL [$b]", "$b ANYINSIDE [$b]", "$b ?? 1", "!$b", "$b AND $b", "$b ?= $a", "$b *= $a", "$b ∋ $a",
	"<string> $b", "<array> $b", "<set> $b", "<array<array>> $b", "string::concat('', $b)", "type::string($b)", "type::is_array($b)", "type::of($b)", "type::array($b)", "$b.to_string()", "crypto::md5(<string> $b)",
	"array::distinct([$b, $b])", "array::sort([$b, $a, $b])", "array::sort::desc([$b, $a])", "array::flatten([$b, $b])", "array::union([$b], [$a])", "array::intersect([$b], [$b])", "array::difference([$b], [$a])", "array::complement([$b], [$a])",
	"array::find_index([$a], $b)", "array::max([$a, $b])", "array::min([$a, $b])", "array::reverse($b)", "array::transpose([$b, $b])", "array::windows([$b, $b, $b], 2)", "array::clump([$b, $b], 1)", "array::group([$b, $b])",
	"array::matches([$b], $b)", "array::add([$b], $b)", "array::any($b, $b)", "array::len($b)", "set::add({1,}, $b)", "value::diff($a, $b)", "value::patch([$b], [{ op: 'add', path: '/0', value: $b }])",
	"encoding::json::encode($b)", "encoding::cbor::encode($b)", "encoding::cbor::decode(encoding::cbor::encode($b))", "object::values({ a: $b })", "object::entries({ a: $b })", "math::sum($b)", "vector::add([1], $b)", "string::len(<string> $b)",
	"(SELECT * FROM [{ x: $b }, { x: $a }, { x: $b }] ORDER BY x)", "(SELECT count(), x FROM [{ x: $b }, { x: $b }] GROUP BY x)", "(SELECT array::distinct(x) AS x FROM [{ x: $b }, { x: $b }] GROUP ALL)", "(SELECT * FROM { x: $b } SPLIT x)", "(SELECT VALUE $this FROM $b)",
	"(SELECT * OMIT x FROM { x: $b, y: 1 })", "(SELECT * FROM { x: $b } FETCH x)", "(SELECT * FROM t WHERE x = $b)", "(SELECT * FROM t WHERE x IN [$b])", "(SELECT $b FROM t)", "(SELECT * FROM t WHERE y = $b ORDER BY x)",
	"(UPSERT t:1 SET x = $b)", "(UPSERT t:1 SET y = $b RETURN DIFF)", "(UPDATE t:1 MERGE { x: $b })", "(UPDATE t:1 CONTENT { x: $b })", "(UPDATE t:1 PATCH [{ op: 'replace', path: '/x', value: $b }])", "(UPDATE t:1 SET x += $b, z = [x])",
	"(INSERT INTO q { x: $b } ON DUPLICATE KEY UPDATE x = $b)", "(RELATE p:1->likes->p:2 SET x = $b RETURN AFTER)", "(CREATE q SET x = $b RETURN BEFORE)", "(CREATE t SET y = [rand(), $b])", "(DELETE q WHERE x = $b RETURN BEFORE)", "(UPSERT t:[$b] SET x = 1)",
	"t:[$b]", "type::record('t', $b)", "[$b]..[$a]", "|$x: array<array>| $b", "(|$x: array| $x)($b)", "(|$x| -> array { $x })($b)", "fn::twice($b)",
	"$b[0]", "$b[*]", "$b.*", "$b[WHERE $this = $a]", "$b[0..1]", "$b.flatten()", "$b.{ a }", "$b.map(|$v| $v)", "$b.filter(|$v| $v = $a)", "$b.first()", "$b.chain(|$v| $v)", "$b.is_array()",
	"{ LET $x: array | object | string | set | range | record = $b; $x }", "{ FOR $e IN [$b] { LET $y = $e } }", "{ LET $f = |$v| [$b]; $f(1) }", "(IF $b { $b } ELSE { 1 })", "(RETURN $b)", "{ THROW $b }",
}

// TestEveryUseOfASharedValueEnds: at each of the doublings up to the limit, a value is compared, written, stored, encoded
// and so on.
func TestEveryUseOfASharedValueEnds(t *testing.T) {
	s := openLight(t)
	run(t, s, "LIVE SELECT *, [x, x] AS z FROM t")
	for _, grow := range []string{"[$a, $a]", "{ a: $a, b: [$a] }", "[{ a: $a }, t:[$a]]"} {
		for _, use := range uses {
			if strings.HasPrefix(use, "{ THROW") {
				run(t, s, "LET $a = (<array> 0..10).fold([1], |$a, $i| "+grow+"); THROW $a", allowErrors)
				continue
			}
			text := "RETURN (<array> 0..200).fold([1], |$a, $i| { LET $b = " + grow + "; LET $u = (" + use + "); $b })"
			res := run(t, s, text, allowErrors)
			if res[0].Err == nil {
				t.Errorf("%s: no error", text)
			} else if strings.Contains(res[0].Err.Msg, "internal error") {
				t.Errorf("%s: %v", text, res[0].Err)
			}
		}
	}
}

// TestDeepValuesAreRefused: a value nests 254 levels at most, however it came about, so that no walk over one ends the stack.
func TestDeepValuesAreRefused(t *testing.T) {
	s := owner(t, openQuiet(t))
	for _, grow := range []string{"[$a]", "[[[[$a]]]]", "{ a: $a }", "{[$a],}", "t:[$a]", "([$a]..[1])", "[$a] + []", "value::patch({}, [{ op: 'add', path: '/a/b', value: $a }])", "[1].map(|$i| $a)"} {
		text := "RETURN (<array> 0..1000).fold(0, |$a, $i| " + grow + ")"
		if got := run(t, s, text, allowErrors)[0]; got.Err == nil || got.Err.Msg != errs.TooDeep().Msg && got.Err.Msg != "The value would be larger than 1073741824 bytes" {
			t.Errorf("%s: %v", grow, got.Err)
		}
	}
	for _, c := range [][2]string{
		{"LET $x = array::repeat(0, 200).fold(0, |$a, $i| { a: $a }); CREATE t:1 SET x = $x RETURN NONE; RETURN t:1.x = $x", "true"},
		{"UPDATE t:1 SET x = array::repeat(0, 240).fold(t:1.x, |$a, $i| { a: $a })", errs.TooDeep().Msg},
		{"UPDATE t:1 SET y" + strings.Repeat(".a", 300) + " = 1", errs.TooDeep().Msg},
		{"UPDATE t:1 PATCH [{ op: 'add', path: string::repeat('/a', 250), value: 1 }] RETURN VALUE 1", "[1]"},
		{"UPDATE t:1 PATCH [{ op: 'add', path: string::repeat('/b', 300), value: 1 }]", errs.TooDeep().Msg},
		{"RETURN value::patch({}, [{ op: 'add', path: string::repeat('/a', 500000), value: 1 }])", errs.TooDeep().Msg},
	} {
		res := run(t, s, c[0], allowErrors)
		last := res[len(res)-1]
		got := last.Value.Text()
		if last.Err != nil {
			got = last.Err.Msg
		}
		if got != c[1] {
			t.Errorf("%.80s: got %.80s, want %s", c[0], got, c[1])
		}
	}
}

// TestListsOfLargeValuesAreBounded: what is gathered from many calls is bounded while it is gathered.
func TestListsOfLargeValuesAreBounded(t *testing.T) {
	s := openLight(t)
	for _, text := range []string{
		"RETURN (<array> 0..1000000).map(|$i| string::repeat('x', 10000)).len()",
		"RETURN (<set> (<array> 0..1000000)).map(|$i| string::repeat('x', 10000)).len()",
		"RETURN [" + strings.Repeat("string::repeat('x', 10000),", 200) + "].len()",
		"RETURN { " + strings.Repeat("a: string::repeat('x', 10000),", 200) + " }.len()",
		"RETURN array::concat(" + strings.Repeat("[string::repeat('x', 10000)],", 200) + "[]).len()",
		"RETURN array::windows(<array> 0..20000, 10000).len()",
		"RETURN (<array> 0..1000000).{ a: string::repeat('x', 10000) }",
		"RETURN (<array> 0..100000).map(|$i| { a: 1 }).{ a: string::repeat('x', 10000) }.len()",
		"CREATE u:1 SET x = string::repeat('x', 100000); LET $l = (<array> 0..10000).map(|$i| u:1); RETURN array::len($l.x)",
		"LET $l = (<array> 0..10000).map(|$i| u:1); RETURN array::len($l.*)",
		"LET $l = (<array> 0..10000).map(|$i| u:1); SELECT * FROM { l: $l } FETCH l",
	} {
		res := run(t, s, text, allowErrors)
		if last := res[len(res)-1]; last.Err == nil || last.Err.Msg != tooHeavy {
			got := value.None
			if last.Err == nil {
				got = last.Value
			}
			t.Errorf("%.100s: got %.100s, %v", text, got.Text(), last.Err)
		}
	}
}

// TestLongListsAreComparedInTime: were each element of one list tried against each of the other, this would take days.
func TestLongListsAreComparedInTime(t *testing.T) {
	s := owner(t, openQuiet(t))
	run(t, s, "UPSERT t:1 SET a = <array> 0..1000000")
	for text, want := range map[string]string{
		"RETURN (<array> 0..1000000) CONTAINSALL (<array> 0..1000000)":                                   "true",
		"RETURN (<array> 0..1000000) CONTAINSANY (<array> 1000000..2000000)":                             "false",
		"RETURN (<array> 0..1000000) CONTAINSNONE (<array> 1000000..2000000)":                            "true",
		"RETURN (<array> 0..1000000) ALLINSIDE (<array> 0..1000001)":                                     "true",
		"RETURN (<array> 0..1000000) NONEINSIDE (<array> 1000000..2000000)":                              "true",
		"RETURN (UPDATE ONLY t:1 SET b = a, b -= (<array> 500000..1500000) RETURN VALUE array::len(b))":  "500000",
		"RETURN (UPDATE ONLY t:1 SET b = a, b +?= (<array> 500000..1500000) RETURN VALUE array::len(b))": "1500000",
	} {
		if got := run(t, s, text)[0].Value.Text(); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
