package engine_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

var (
	planSchemas = flag.Int("plan.schemas", 12, "random schemas of TestRulesDoNotChangeAnswers")
	planQueries = flag.Int("plan.queries", 40, "random queries for each of them")
	planSeed    = flag.Uint64("plan.seed", 1, "seed of the first of them; each has the next one")
)

// TestRulesDoNotChangeAnswers runs random queries over random data with random indexes: with all rules of the planner, with
// each of them switched off, with all of them switched off, WITH NOINDEX, and on the same data without indexes. All answers
// must be the same. A failure names the seed of its schema: -plan.seed N -plan.schemas 1 runs it again.
func TestRulesDoNotChangeAnswers(t *testing.T) {
	e := openQuiet(t)
	m := &meta{t: t, plain: e.RootSession()}
	m.base = way{hint: " WITH NOINDEX", s: m.plain}
	m.add(e, "all rules", "")
	m.add(e, "NOINDEX", " WITH NOINDEX")
	m.ways = append(m.ways, way{name: "packed", s: e.RootSession(), packed: true})
	for _, r := range plan.AllRules() {
		m.off(e, "without "+r.String(), r)
	}
	m.off(e, "without rules", plan.AllRules()...)
	shared, stop := e.SharedEarly()
	t.Cleanup(stop)
	m.add(shared, "all rules and processors", "")
	m.add(shared, "NOINDEX, all processors", " WITH NOINDEX")
	ran := 0
	for i := range uint64(*planSchemas) {
		if !m.schema(*planSeed + i) {
			return
		}
		ran += *planQueries
	}
	if m.unpacked == 0 {
		t.Error("no answer was packed")
	}
	t.Logf("%d queries, each in %d ways; %d of %d had rows, %d failed in every way", ran, len(m.ways)+1, m.rows, ran, m.failed)
}

// meta is a run of the test: the ways to answer a query, and one that all are held to.
type meta struct {
	t     *testing.T
	plain *engine.Session // its tables have no indexes but for full text, which say how texts are analyzed
	base  way             // of plain
	ways  []way
	rng   *rand.Rand
	setup string

	rows, failed, unpacked int
}

// way is one way to answer a query.
type way struct {
	name, hint string
	s          *engine.Session
	packed     bool // rows come in the wire form
}

func (m *meta) add(e *engine.Engine, name, hint string) {
	m.ways = append(m.ways, way{name: name, hint: hint, s: e.RootSession()})
}

func (m *meta) off(e *engine.Engine, name string, rules ...plan.Rule) {
	other, stop := e.WithRulesOff(rules...)
	m.t.Cleanup(stop)
	m.add(other, name, "")
}

// schema makes data and runs the queries over it; false after a difference.
func (m *meta) schema(seed uint64) bool {
	m.rng = rand.New(rand.NewPCG(seed, 0))
	data, indexes := m.data(), m.indexes()
	m.setup = indexes + data
	with, without := fmt.Sprintf("with%d", seed), fmt.Sprintf("without%d", seed)
	m.use(m.plain, without)
	prepare(m.t, m.plain, fixed+data)
	for i := range m.ways {
		m.use(m.ways[i].s, with)
	}
	first, then := indexes, data
	if m.chance(50) {
		first, then = data, indexes
	}
	prepare(m.t, m.ways[0].s, fixed+first+then)
	for range *planQueries {
		if !m.query() {
			m.t.Errorf("seed %d", seed)
			return false
		}
	}
	prepare(m.t, m.plain, "REMOVE DATABASE "+with+"; REMOVE DATABASE "+without)
	return true
}

func (m *meta) use(s *engine.Session, db string) {
	ns := "meta"
	if err := s.Use(context.Background(), &ns, &db); err != nil {
		m.t.Fatal(err)
	}
}

func prepare(t *testing.T, s *engine.Session, text string) {
	t.Helper()
	res, err := s.Execute(context.Background(), text, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for _, r := range res {
		if r.Err != nil {
			t.Fatalf("%s: %v", text, r.Err)
		}
	}
}

// pick is one of some texts.
func (m *meta) pick(xs ...string) string { return xs[m.rng.IntN(len(xs))] }

func (m *meta) chance(percent int) bool { return m.rng.IntN(100) < percent }

var words = []string{"red", "green", "blue", "small", "large", "fox", "dog", "of", "the"}

func (m *meta) scalar() string {
	return m.pick("1", "2", "3", "1f", "2dec", "1.5", "-1", "0", "'a'", "'b'", "'ab'", "''", "'1'", "NONE", "NULL", "true", "false", "1h", "5s",
		"t:1", "u:2", "d'2024-01-01T00:00:00Z'", "u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab'", "1.10dec", "9007199254740993", "9007199254740992f")
}

func (m *meta) anyValue() string {
	switch m.rng.IntN(12) {
	case 0:
		return m.list()
	case 1:
		return "{ x: " + m.scalar() + " }"
	case 2:
		return m.pick("(1, 2)", "{1, 2}", "1..3", "<regex> 'a.*'", "b\"00\"", "{}", "[]")
	}
	return m.scalar()
}

func (m *meta) list() string {
	out := make([]string, m.rng.IntN(4))
	for i := range out {
		out[i] = m.scalar()
		if m.chance(8) {
			out[i] = m.pick("[1]", "{ x: 1 }", "<regex> 'a'")
		}
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func (m *meta) object() string {
	switch m.rng.IntN(8) {
	case 0:
		return m.pick("u:0", "u:1", "u:2", "u:9")
	case 1:
		return "[{ x: " + m.scalar() + " }, { x: " + m.scalar() + " }, { y: 1 }]"
	case 2:
		return m.anyValue()
	case 3:
		return "[u:1, { x: " + m.scalar() + " }]"
	}
	return "{ x: " + m.anyValue() + ", y: " + m.scalar() + " }"
}

func (m *meta) text() string {
	out := make([]string, 1+m.rng.IntN(5))
	for i := range out {
		out[i] = words[m.rng.IntN(len(words))]
	}
	return "'" + strings.Join(out, " ") + "'"
}

// fixed are definitions that both databases have.
const fixed = "DEFINE ANALYZER an TOKENIZERS blank FILTERS lowercase; DEFINE TABLE t; DEFINE TABLE u;" +
	"DEFINE FIELD strict ON t TYPE option<array>; DEFINE FIELD twice ON t COMPUTED n * 2;" +
	"DEFINE TABLE v AS SELECT count() AS c, math::sum(uq) AS s, math::max(uq) AS hi, n FROM t WHERE n > 1 GROUP BY n;" +
	"DEFINE INDEX ft ON t FIELDS s FULLTEXT ANALYZER an BM25; DEFINE INDEX fu ON t FIELDS o.y FULLTEXT ANALYZER an BM25;"

func (m *meta) data() string {
	var b strings.Builder
	for i := range 3 {
		fmt.Fprintf(&b, "CREATE u:%d SET x = %s, y = %s, n = %d;", i, m.scalar(), m.scalar(), i)
	}
	rows := m.rng.IntN(30)
	unique := m.rng.Perm(100)
	for i := range rows {
		fmt.Fprintf(&b, "CREATE t:%d SET n = %d, uq = %d", i, m.rng.IntN(6), unique[i])
		for _, f := range []string{"a", "b"} {
			if m.chance(90) {
				fmt.Fprintf(&b, ", %s = %s", f, m.anyValue())
			}
		}
		if m.chance(80) {
			b.WriteString(", o = " + m.object())
		}
		if m.chance(80) {
			b.WriteString(", tags = " + m.pick(m.list(), m.list(), m.list(), m.anyValue()))
		}
		if m.chance(60) {
			b.WriteString(", strict = " + m.list())
		}
		if m.chance(70) {
			b.WriteString(", s = " + m.pick(m.text(), m.text(), "["+m.text()+", "+m.text()+"]", m.scalar()))
		}
		if m.chance(70) {
			b.WriteString(", l = " + m.pick("u:0", "u:1", "u:2", "u:9", "t:1"))
		}
		b.WriteString(" RETURN NONE;")
	}
	for range m.rng.IntN(4) {
		b.WriteString(m.pick("DELETE t:3 RETURN NONE;", "UPDATE t:2 SET a = 1, tags = ['a', 'b'] RETURN NONE;", "UPDATE t:1 SET b = NONE, o = { x: 2 } RETURN NONE;",
			"UPDATE u:1 SET x = 2 RETURN NONE;", "UPDATE t SET n += 1 WHERE n < 2 RETURN NONE;"))
	}
	return b.String()
}

func (m *meta) indexes() string {
	all := []string{"a", "b", "a, b", "b, a", "a, n", "n, a", "tags", "tags.*", "strict", "strict.*", "strict, n", "o.x", "o.x, n", "n, o.x", "o.y", "l", "s",
		"n", "a, n, b", "uq UNIQUE", "n, uq UNIQUE", "uq, l UNIQUE", "id", "l.x", "COUNT", "COUNT WHERE a = 1", "COUNT WHERE n > 2"}
	var b strings.Builder
	for i, x := range all {
		if !m.chance(30) {
			continue
		}
		fields := "FIELDS " + x
		if strings.HasPrefix(x, "COUNT") {
			fields = x
		}
		fmt.Fprintf(&b, "DEFINE INDEX i%d ON t %s;", i, fields)
	}
	return b.String()
}

func (m *meta) field() string {
	return m.pick("a", "a", "a", "b", "b", "n", "n", "uq", "o.x", "o.x", "o.y", "tags", "tags", "strict", "l", "s", "id", "twice", "l.x")
}

func (m *meta) operand() string {
	if m.chance(10) {
		return m.pick("$p", "$q", "-1", "<int> '1'", "1 + 1", "[1, 2][0]")
	}
	return m.anyValue()
}

// cond is a random condition.
func (m *meta) cond(depth int) string {
	if depth > 0 && m.chance(55) {
		l, r := m.cond(depth-1), m.cond(depth-1)
		return m.pick(l+" AND "+r, l+" AND "+r, "("+l+" OR "+r+")", "("+l+") AND ("+r+")", "!("+l+")", l+" OR "+r)
	}
	switch m.rng.IntN(14) {
	case 0, 1, 2, 3:
		l, r := m.field(), m.operand()
		if m.chance(20) {
			l, r = r, l
		}
		return l + " " + m.pick("=", "=", "=", "==", "!=", "<", "<=", ">", ">=") + " " + r
	case 4:
		f := m.pick("n", "uq", "a", "o.x")
		return f + m.pick(" > ", " >= ") + fmt.Sprint(m.rng.IntN(4)) + " AND " + f + m.pick(" < ", " <= ") + fmt.Sprint(m.rng.IntN(40))
	case 5:
		return m.field() + m.pick(" IN ", " IN ", " INSIDE ", " NOT IN ") + m.list()
	case 6:
		return m.pick("n", "uq", "a", "o.x", "b") + " IN " + m.pick("1..3", "1..=3", "1>..3", "..4", "2..", "'a'..'b'", "..")
	case 7:
		return m.pick("tags", "tags", "strict", "a", "s", "o.x") + m.pick(" CONTAINS ", " CONTAINSNOT ") + m.scalar()
	case 8:
		return m.pick("tags", "strict", "a", "o.x") + m.pick(" CONTAINSANY ", " CONTAINSALL ", " CONTAINSNONE ") + m.list()
	case 9:
		return m.list() + m.pick(" ALLINSIDE ", " ANYINSIDE ", " NONEINSIDE ") + m.pick("tags", "strict", "a")
	case 10:
		return "s @@ " + m.pick("'red'", "'fox dog'", "'the'", "'RED'", "''") + m.pick("", "", " AND o.y @@ 'red'")
	case 11:
		return "s @OR@ " + m.text()
	case 12:
		return m.pick("type::is_number(a)", "<string> a = '1'", "count(tags) > 1", "(a ?? 0) = 1", "a ?: b", "a", "!a", "l.n > 0", "l.x = 1", "tags ?= 1", "tags *= 1",
			"a IN (SELECT VALUE x FROM u)", "array::len(strict ?? []) = 2", "a = b", "n = l.n", "n * 2 + 1 > 5", "a + 1 = 2", "string::len(s) > 8", "<int> a >= 1", "s @@ (SELECT VALUE 'red' FROM ONLY u:1)", "a = (SELECT VALUE x FROM ONLY u:1)", "n > (SELECT VALUE n FROM ONLY u:1)",
			"id IN (SELECT VALUE id FROM t WHERE s @@ 'red')", "n IN (SELECT VALUE n FROM u WHERE id = $parent.l)", "id.id() > 3", "$this.a = 1", "a[0] = 1")
	}
	return m.pick("id = t:1", "id IN [t:1, t:2, u:1]", "id > t:3", "t:2 = id", "id = u:1", "id = $r", "id >= t:2 AND id < t:7")
}

// how answers are compared.
type comparison uint8

const (
	exactly  comparison = iota
	asBag               // in any order
	asPart              // as many, and some of those of the query without LIMIT
	asGroups            // in order, but numbers by value and lists as bags: rows came in another order
	asErrors            // the answer is the text of an error
)

// query runs one random query in all ways; false after a difference.
func (m *meta) query() bool {
	text, whole, how := m.statement()
	want, err := m.ask(&m.base, text)
	var all []string
	if how == asPart && err == "" {
		rows, failed := m.ask(&m.base, whole)
		if failed != "" {
			return true // a LIMIT ended the walk before the row that fails: which rows are all is not known
		}
		all = bag(rows, false)
	}
	if err != "" && how != asErrors {
		m.failed++
	}
	if want.Kind() == value.KindArray && want.Len() > 0 {
		m.rows++
	}
	for i := range m.ways {
		w := &m.ways[i]
		got, failed := m.ask(w, text)
		if failed != "" && how != asErrors && strings.Contains(text, " LIMIT ") {
			continue // the way of the rows says which come before the last that is wanted
		}
		if diff := m.differs(how, want, got, err, failed, all); diff != "" {
			m.t.Errorf("%s: %s\n%s\nwant %s %s\ngot  %s %s\nsetup: %s", w.name, diff, strings.ReplaceAll(text, "HINT", w.hint), want.Text(), err, got.Text(), failed, m.setup)
			return false
		}
	}
	return true
}

func (m *meta) ask(w *way, text string) (value.Value, string) {
	vars := value.NewObject(value.Field{Name: "p", Value: value.Int(1)}, value.Field{Name: "q", Value: value.Str("a")},
		value.Field{Name: "r", Value: value.RecordOf(&value.RecordID{Table: "t", Key: value.Int(4)})})
	run := w.s.Execute
	if w.packed {
		run = w.s.ExecutePacked
	}
	res, err := run(context.Background(), strings.ReplaceAll(text, "HINT", w.hint), vars)
	if err != nil {
		m.t.Fatalf("%s: %v", text, err)
	}
	last := res[len(res)-1]
	if last.Err != nil {
		return value.None, last.Err.Msg
	}
	if last.Rows != nil {
		return m.unpack(w, text, last.Rows)
	}
	return last.Value, ""
}

// unpack reads packed rows. What has no wire form, a regex, is asked for once more as values.
func (m *meta) unpack(w *way, text string, rows *value.Packed) (value.Value, string) {
	b, err := rows.AppendTo(nil)
	if err != nil {
		return m.ask(&way{hint: w.hint, s: w.s}, text)
	}
	v, err := value.DecodeCBORValue(b, value.DecodeLimits{})
	if err != nil {
		m.t.Fatalf("%s: %v", text, err)
	}
	m.unpacked++
	return v, ""
}

// differs says how an answer differs from the one that is wanted; "" where it does not. A row that an index leaves out can
// not fail: an error may go away, but none may come.
func (m *meta) differs(how comparison, want, got value.Value, wantErr, gotErr string, all []string) string {
	if how == asErrors {
		if !strings.HasPrefix(wantErr, thrown) && strings.HasPrefix(gotErr, thrown) {
			return ""
		}
		if wantErr != gotErr && (strings.HasPrefix(wantErr, thrown) || strings.HasPrefix(gotErr, thrown)) {
			return "another outcome"
		}
		return ""
	}
	switch {
	case wantErr != "":
		return ""
	case gotErr != "":
		return "an error"
	}
	switch how {
	case exactly:
		if want.Text() != got.Text() {
			return "another answer"
		}
	case asBag:
		if !slices.Equal(bag(want, false), bag(got, false)) {
			return "other rows"
		}
	case asGroups:
		if grouped(want) != grouped(got) {
			return "other groups"
		}
	case asPart:
		if want.Len() != got.Len() {
			return "another number of rows"
		}
		for _, row := range bag(got, false) {
			i, ok := slices.BinarySearch(all, row)
			if !ok {
				return "a row that is none: " + row
			}
			all = slices.Delete(slices.Clone(all), i, i+1)
		}
	}
	return ""
}

// bag is the texts of rows, sorted.
func bag(rows value.Value, loose bool) []string {
	out := make([]string, 0, rows.Len())
	for _, r := range rows.Elems() {
		text := r.Text()
		if loose {
			text = grouped(r)
		}
		out = append(out, text)
	}
	sort.Strings(out)
	return out
}

// grouped is a text that is the same for equal numbers and for lists in another order.
func grouped(v value.Value) string {
	switch v.Kind() {
	case value.KindInt, value.KindFloat, value.KindDecimal:
		text := strings.TrimSuffix(strings.TrimSuffix(v.Text(), "dec"), "f")
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		return text
	case value.KindArray:
		return "[" + strings.Join(bag(v, true), ", ") + "]"
	case value.KindObject:
		var b strings.Builder
		for _, f := range v.Object().Fields() {
			b.WriteString(f.Name + ": " + grouped(f.Value) + ", ")
		}
		return "{" + b.String() + "}"
	}
	return v.Text()
}

const thrown = "An error occurred: "

// statement is a random statement with HINT where WITH may stand, the same without LIMIT where that is asked for, and how
// its answers are compared.
func (m *meta) statement() (text, whole string, how comparison) {
	where := " WHERE " + m.cond(2)
	if m.chance(8) {
		where = ""
	}
	switch m.rng.IntN(12) {
	case 0:
		return "SELECT count() FROM tHINT" + m.pick(where, where, " WHERE a = 1", " WHERE n > 2") + " GROUP ALL", "", exactly
	case 1:
		by := m.pick("a", "n", "b", "a, n", "o.x")
		return "SELECT " + by + ", count() AS c, math::sum(n) AS s, math::min(n) AS lo, array::group(uq) AS g FROM tHINT" + where + " GROUP BY " + by, "", asGroups
	case 2:
		return "SELECT count() AS c, math::max(n) AS hi, count(a = 1) AS ones FROM tHINT" + where + " GROUP ALL", "", asGroups
	case 3:
		change := m.pick("UPDATE tHINT SET n += 1, a = 2, o = { x: 1 }", "DELETE tHINT", "UPDATE tHINT SET tags += 'z', uq = NONE", "UPSERT tHINT SET b = n")
		if strings.HasPrefix(change, "UPSERT") {
			where = m.pick(" WHERE n >= 0 AND ", " WHERE id != t:99 AND ") + "n < 9"
		}
		return "{ " + change + where + " RETURN NONE; THROW <string> (SELECT * OMIT s, o, a, b, tags FROM t ORDER BY id) + <string> (SELECT * FROM v) }", "", asErrors
	case 4:
		return "SELECT * FROM v", "", exactly
	}
	what := m.pick("*", "*", "*", "id, a, n", "VALUE id", "id, a, l.x AS lx", "*, n + 1 AS m", "id, a, n, (SELECT VALUE n FROM u) AS sub")
	tail := ""
	if what == "*" {
		tail = m.pick("", "", "", " SPLIT tags", " FETCH l")
	}
	if m.chance(45) {
		if strings.HasPrefix(tail, " SPLIT") {
			return "SELECT " + what + " FROM tHINT" + where + tail, "", asBag
		}
		order := m.order(what)
		return "SELECT " + what + " FROM tHINT" + where + " ORDER BY " + order + m.limit() + tail, "", exactly
	}
	q := "SELECT " + what + " FROM tHINT" + where
	if tail == "" && m.chance(25) {
		return q + m.limit(), q, asPart
	}
	return q + tail, "", asBag
}

func (m *meta) limit() string {
	return m.pick("", "", fmt.Sprintf(" LIMIT %d", m.rng.IntN(8)), fmt.Sprintf(" LIMIT %d START %d", 1+m.rng.IntN(5), m.rng.IntN(5)), fmt.Sprintf(" START %d", m.rng.IntN(4)))
}

func (m *meta) order(what string) string {
	if what == "VALUE id" {
		return "id" + m.pick("", " DESC")
	}
	fields := []string{"a", "n", "id"}
	if strings.HasSuffix(what, " lx") {
		fields = []string{"a", "lx", "id"}
	}
	if strings.HasPrefix(what, "*") {
		fields = append(fields, "b", "uq", "o.x", "tags", "l", "s", "l.x", "twice")
	}
	if strings.HasSuffix(what, " m") {
		fields = append(fields, "m")
	}
	n := 1 + m.rng.IntN(3)
	if m.chance(50) {
		n = 1
	}
	desc := m.pick("", " DESC")
	var out []string
	for range n {
		f := fields[m.rng.IntN(len(fields))]
		if slices.ContainsFunc(out, func(s string) bool { return strings.HasPrefix(s, f) }) {
			continue
		}
		if m.chance(15) {
			desc = m.pick("", " DESC", " COLLATE", " NUMERIC DESC")
		}
		out = append(out, f+desc)
	}
	return strings.Join(out, ", ")
}
