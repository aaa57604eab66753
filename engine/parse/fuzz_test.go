package parse

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/internal/footprint"
	"github.com/nacredb/nacre/internal/vectors"
)

// seedTexts are statements of every kind, for the fuzzers to start from.
func seedTexts() []string {
	return strings.Split(strings.TrimSpace(`
SELECT *, a.b AS c, ->knows->person.name FROM person:1..5, [1, 2] WITH NOINDEX WHERE a > 1 AND b IN [1] SPLIT a ORDER BY a DESC LIMIT 1 START 2 FETCH x TIMEOUT 1s
CREATE ONLY a:1 SET b = 1, c.d += 2, e[WHERE f = 1].g -= 3 RETURN BEFORE
INSERT INTO a (b, c) VALUES (1, 'x'), (2, "y") ON DUPLICATE KEY UPDATE b = $input.b
UPSERT a:[1, 'b', {c: d'2024-01-01T00:00:00Z'}] MERGE {a: [1, 2.5, 1e3, 1.5dec, 1h30m, NONE, NULL, true]} WHERE x
RELATE a:1->b:u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab'->$c CONTENT {a: 1}
DELETE a WHERE b CONTAINSANY [1] RETURN NONE
DEFINE TABLE t TYPE RELATION IN a | b OUT c ENFORCED SCHEMAFULL PERMISSIONS FOR select WHERE a FOR update NONE
DEFINE FIELD a.*.b ON t TYPE option<array<record<x | y>, 5>> DEFAULT ALWAYS [] ASSERT $value != NONE
DEFINE FUNCTION fn::a::b($x: int, $y: { a: 'x' | 5 }) -> string { LET $z = |$q: <int | string>| $q + 1; IF $x { 1; 2 } ELSE IF $y { 3 } ELSE { 4 } }
DEFINE INDEX i ON t FIELDS v HNSW DIMENSION 3 DIST MINKOWSKI 3 TYPE I16 EFC 1 M 2
DEFINE ACCESS a ON DATABASE TYPE RECORD SIGNUP (CREATE u) WITH JWT ALGORITHM HS512 KEY 'k' DURATION FOR TOKEN 1h, FOR SESSION NONE
DEFINE EVENT e ON t ASYNC RETRY 2 WHEN $event = 'CREATE' THEN (CREATE log), { 1 }
DEFINE ANALYZER a TOKENIZERS blank,class FILTERS edgengram(1, 3), snowball(english)
ALTER TABLE t DROP COMMENT SCHEMAFULL; ALTER USER u ON ROOT ROLES OWNER; REMOVE INDEX i ON t; REBUILD INDEX i ON t
FOR $i IN 1..=3 { CONTINUE }; THROW 'x'; RETURN { a: 1, 'b c': {,}, d: {1, 2}, e: |a:3|, f: /a\/b/ }
RETURN a.{b, c: d, e.*, f.{g}}.{1..3+collect}(->x)[$][?a]…?.b(1)(2) ?? <int> -$x ** 2 @1,OR@ 'q'
RETURN function(1) { return "}" }; RETURN 'a\n\u{1F600}\'' + b"0aFF" + f"b:/k"
EXPLAIN ANALYZE FORMAT JSON SELECT v FROM t WHERE v <|2,40|> [0, 0]; SHOW CHANGES FOR TABLE t SINCE 0 LIMIT 1; KILL $x; LIVE SELECT DIFF FROM t
`), "\n")
}

// FuzzQuery holds that no text makes the parser panic, hang or take more than 64 MiB beyond the text, that what parses
// prints to a text that parses to the same, and that errors render.
func FuzzQuery(f *testing.F) {
	for _, s := range seedTexts() {
		f.Add(s)
	}
	for i, v := range vectors.All(f) {
		if i%5 == 0 && strings.HasPrefix(v.File, "statements/") {
			f.Add(v.SQL)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		footprint.Within(20*time.Second, text, func() {
			over := footprint.Over(64<<20+uint64(len(text)), func() { _, _ = Query(text, Options{}) })
			if over > 0 {
				t.Fatalf("a text of %d bytes takes %d MiB", len(text), over>>20)
			}
			checkQuery(t, text)
		})
	})
}

// scaledDecimal is a decimal with an exponent: its text has a scale (0.10dec), which reading takes away, here as
// upstream.
var scaledDecimal = regexp.MustCompile(`(?i)\b[\d_]*\.?[\d_]*e[-+]?[\d_]+dec`)

func checkQuery(t *testing.T, text string) {
	q, err := Query(text, Options{})
	if err != nil {
		if err.Error() == "" {
			t.Fatal("an error without text")
		}
		return
	}
	if !scaledDecimal.MatchString(text) {
		checkFixedPoint(t, "fuzz", text)
	}
	if _, err := collect(strings.NewReader(text), StreamOptions{}); err != nil {
		t.Errorf("%q parses whole (%d statements), but not as a stream: %v", text, len(q.Stmts), err)
	}
}

// TestFoundByFuzzing holds what FuzzQuery found once.
func TestFoundByFuzzing(t *testing.T) {
	for _, text := range []string{
		"``::A",                                 // a path that begins with an empty name
		"DEFINE TABLE v AS SELECT\x00 a FROM t", // a view whose projections are none
		"SELECT\x00 a FROM t GROUP BY a",
		"DEFINE MODEL ml::A<>", "RETURN ml::a<>(1)", // a version of no digits
		`([f":/ "])`, `f"b:/a\ b"`, `f"b\ c\:d:/a\é\:c"`, // characters that a file has only with a backslash
		"`\x00`(0)", "`a\\`b`::C (1)", "⟨a b⟩::c", // names of functions that need quotes
		// blocks that begin with a record id
		"SELECT{;A:0}FROM 0", "RETURN {; a:1.b; 2 }", "RETURN {; (`a b`:[1] + 1) = 2 }", "RETURN {; a:1->b->c }",
		"RETURN {; a:1..2 }",
		"IF true {; a:1 } ELSE { a:2 }", "IF true { a:1; 2 }", "RETURN |$x| {; a:1 }",
		"DEFINE FIELD f ON t VALUE {; {; a:1 } }", "{; a:1 }", "FOR $i IN [1] { a:1 }", "RETURN {; <string> a:1 }",
		"RETURN {; a:1[0] }", "RETURN {; a:1 ?? b:1 }",
		// no assignment
		"($a=0)", "{ ($a IS 0) }", "DEFINE FIELD f ON t VALUE { ($a = 1) AND $b OR $c }", "IF true { ($a = 1) }",
		"RETURN |$x| { 1; ($x = 1) }",
		"DEFINE INDEX i ON t FIELDS v HNSW DIMENSION 4 M 0", "DEFINE INDEX i ON t FIELDS v HNSW DIMENSION 4 M 127",
		"DEFINE INDEX i ON t FIELDS v HNSW DIMENSION 4 M 128", "DEFINE INDEX i ON t FIELDS v HNSW DIMENSION 4 EFC 0 M0 0",
		"- ->a", "-(->a.b..)", // a minus before an arrow: -- is a comment
	} {
		checkQuery(t, text)
	}
}

// FuzzValue holds that the text of a value is read back as the same value.
func FuzzValue(f *testing.F) {
	for _, s := range []string{"1", "-1.5", "'a'", "[1, {a: NONE}]", "{1, 2}", "a:1", "a:[1, 'x']", "1..=3",
		"d'2024-01-01T00:00:00Z'", "{ type: 'Point', coordinates: [1, 2] }", "(1, 2)", "1h", "b\"00\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Value(text)
		if err != nil {
			return
		}
		again, err := Value(v.Text())
		if err != nil {
			t.Fatalf("%q gives %s, which does not read: %v", text, v.Text(), err)
		}
		if again.Text() != v.Text() {
			t.Fatalf("%q gives %s, then %s", text, v.Text(), again.Text())
		}
	})
}

func FuzzRecordID(f *testing.F) {
	for _, s := range []string{"a:1", "a:b", "⟨a b⟩:⟨c⟩", "a:[1, {b: c:1}]",
		"a:u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab'", "a:-5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := RecordID(text)
		if err != nil {
			return
		}
		again, err := RecordID(v.Text())
		if err != nil || again.Text() != v.Text() {
			t.Fatalf("%q gives %s, then %s (%v)", text, v.Text(), again.Text(), err)
		}
	})
}

func FuzzType(f *testing.F) {
	for _, s := range []string{"int", "option<array<int, 3>>", "'a' | 5 | true", "{ a: int, 'b c': [string, none] }",
		"record<a | b>", "geometry<point | line>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		typ, err := Type(text)
		if err != nil {
			return
		}
		again, err := Type(typ.String())
		if err != nil || again.String() != typ.String() {
			t.Fatalf("%q gives %s, then %v (%v)", text, typ, again, err)
		}
	})
}
