package diff

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/parse"
)

// Mutate makes the case of a seed from one of the applications: some of its statements are changed, so that they
// still
// parse, taken out, doubled, or stand elsewhere. Then everything is looked at.
func Mutate(seed uint64) (*Case, error) {
	apps, err := applications()
	if err != nil {
		return nil, err
	}
	g := &generator{r: rand.New(rand.NewPCG(seed, 0x6170706c6963))}
	m := &mutator{generator: g, app: apps[g.r.IntN(len(apps))]}
	m.collect()
	g.record = g.chance(45)
	setup, body := slices.Concat(m.app.schema, m.app.data), slices.Clone(m.app.owner)
	if g.record {
		body = slices.Clone(m.app.user)
		if g.chance(30) {
			setup = append(setup, m.app.owner...)
		}
	}
	for range 1 + g.r.IntN(4) {
		setup = m.change(setup)
	}
	for range 2 + g.r.IntN(6) {
		body = m.change(body)
	}
	for _, tb := range m.app.tables {
		body = append(body, "SELECT * FROM "+tb)
		if !g.record {
			body = append(body, "INFO FOR TABLE "+tb)
		}
	}
	return &Case{Seed: seed, Record: g.record, Setup: setup, Body: body}, nil
}

// mutator changes the statements of one application with what stands elsewhere in it.
type mutator struct {
	*generator
	app             application
	names, literals []string
	clauses         []string
}

var (
	token = regexp.MustCompile(`'(?:[^'\\]|\\.)*'|[a-z]'[^']*'|[A-Za-z_][\w]*(?:::\w+)*|\$\w+|\d+(?:\.\d+)?(?:dec|f|[a-z]+)?|[-+*/]=|<=|>=|!=|->|<-|<~|\.\.=?|\S`)
	part  = regexp.MustCompile(` (?:WHERE|ORDER BY|GROUP BY|GROUP ALL|LIMIT|RETURN|SET|MERGE|CONTENT|DEFAULT|VALUE|ASSERT|TYPE|PERMISSIONS|READONLY|REFERENCE|FETCH|SPLIT|UNIQUE|FLEXIBLE|COMPUTED|MIDDLEWARE|WHEN)\b`)
	small = regexp.MustCompile(`^[a-z]\w*$`)
	lit   = regexp.MustCompile(`^('|[a-z]'|\d|true$|false$|NONE$|NULL$)`)
)

// families are words that stand for one another.
var families = [][]string{
	{"CREATE", "UPSERT", "UPDATE"}, {"UPDATE", "UPSERT", "DELETE"}, {"CONTENT", "MERGE", "REPLACE"}, {"ASC",
		"DESC"},
	{"AND", "OR"}, {"FULL", "NONE"}, {"SCHEMAFULL", "SCHEMALESS"}, {"BEFORE", "AFTER", "DIFF", "NONE"},
	{"CASCADE", "REJECT", "UNSET", "IGNORE"}, {"select", "create", "update", "delete"},
	{"VALUE", "DEFAULT", "ASSERT", "COMPUTED"}, {"=", "!=", "<", ">", "CONTAINS", "IN", ">="}, {"+", "-", "*", "/"},
	{"+=", "-=", "="}, {"int", "string", "bool", "float", "decimal", "number", "datetime", "any", "object", "array",
		"set"},
	{"option", "array", "set"}, {"math::sum", "math::max", "math::mean", "count", "array::group",
		"array::distinct"},
	{"->", "<-"}, {"true", "false", "NONE", "NULL"}, {"before", "after", "event", "value", "input", "auth", "this"},
	{"OVERWRITE", "IF NOT EXISTS"}, {"READONLY", "FLEXIBLE"}, {"map", "filter"}, {"EVENT", "FIELD"},
}

// collect gathers the words of the application.
func (m *mutator) collect() {
	for _, s := range slices.Concat(m.app.schema, m.app.data, m.app.owner, m.app.user) {
		for _, t := range token.FindAllString(s, -1) {
			switch {
			case lit.MatchString(t):
				m.literals = append(m.literals, t)
			case small.MatchString(t):
				m.names = append(m.names, t)
			}
		}
		for _, at := range part.FindAllStringIndex(s, -1) {
			m.clauses = append(m.clauses, s[at[0]:clauseEnd(s, at[1])])
		}
	}
}

// clauseEnd is where the clause that begins before from ends.
func clauseEnd(s string, from int) int {
	if next := part.FindStringIndex(s[from:]); next != nil {
		return from + next[0]
	}
	return len(s)
}

// change changes one of the statements, or their order.
func (m *mutator) change(in []string) []string {
	i := m.r.IntN(len(in))
	out := slices.Clone(in)
	switch n := m.r.IntN(100); {
	case n < 6 && len(in) > 1 && !strings.HasPrefix(in[i], "DEFINE TABLE") && !strings.HasPrefix(in[i],
		"DEFINE ACCESS") &&
		!strings.HasPrefix(in[i], "CREATE user:1"):
		return slices.Delete(out, i, i+1)
	case n < 12:
		return slices.Insert(out, m.r.IntN(len(out)+1), out[i])
	case n < 30:
		if s := m.fresh(); parses(s) {
			return slices.Insert(out, m.r.IntN(len(out)+1), s)
		}
	}
	for range 20 { // until it parses
		s := m.changed(in[i])
		if s == in[i] || strings.HasPrefix(in[i], "DEFINE ACCESS") || strings.HasPrefix(in[i], "CREATE user:1") {
			i = m.r.IntN(len(in))
			continue
		}
		if parses(s) {
			out[i] = s
			return out
		}
	}
	return out
}

func parses(s string) bool {
	_, err := parse.Query(s, parse.Options{})
	return err == nil
}

// changed is s with one thing in it changed.
func (m *mutator) changed(s string) string {
	if m.chance(25) {
		return m.otherClause(s)
	}
	at := token.FindAllStringIndex(s, -1)
	for range 10 {
		t := at[m.r.IntN(len(at))]
		word := s[t[0]:t[1]]
		var other string
		switch {
		case m.chance(50):
			other = m.related(word)
		case lit.MatchString(word):
			other = m.draw(func() string { return m.pick(m.literals...) }, m.literal, m.elementValue)
		case small.MatchString(word):
			other = m.pick(m.names...)
		}
		if other != "" && other != word {
			return s[:t[0]] + other + s[t[1]:]
		}
	}
	return s
}

// related is a word of the family of one, or "".
func (m *mutator) related(word string) string {
	var of [][]string
	for _, f := range families {
		if slices.Contains(f, word) {
			of = append(of, f)
		}
	}
	if len(of) == 0 {
		return ""
	}
	return m.pick(of[m.r.IntN(len(of))]...)
}

// otherClause takes a clause out of s, or gives it one that stands elsewhere.
func (m *mutator) otherClause(s string) string {
	if at := part.FindAllStringIndex(s, -1); len(at) > 0 && m.chance(60) {
		c := at[m.r.IntN(len(at))]
		with := ""
		if m.chance(60) {
			with = m.pick(m.clauses...)
		}
		return s[:c[0]] + with + s[clauseEnd(s, c[1]):]
	}
	return s + m.pick(m.clauses...)
}

// fresh is a statement about the tables of the application that it does not have.
func (m *mutator) fresh() string {
	tb, f := m.pick(m.app.tables...), m.pick(m.names...)
	lit := func() string { return m.draw(func() string { return m.pick(m.literals...) }, m.literal) }
	return m.draw(
		func() string { return "SELECT * FROM " + tb },
		func() string { return m.f("SELECT %s, count() AS n FROM %s GROUP BY %s", f, tb, f) },
		func() string { return m.f("SELECT id, %s FROM %s WHERE %s = %s", f, tb, m.pick(m.names...), lit()) },
		func() string { return m.f("SELECT id, %s FROM %s ORDER BY %s, id", f, tb, f) },
		func() string { return m.f("UPDATE %s SET %s = %s", tb, f, lit()) },
		func() string {
			return m.f("UPDATE %s:%d SET %s %s %s", tb, 1+m.r.IntN(3), f, m.pick("=", "+=", "-="), lit())
		},
		func() string { return m.f("UPDATE %s:%d MERGE { %s: %s }", tb, 1+m.r.IntN(3), f, lit()) },
		func() string { return m.f("UPDATE %s UNSET %s", tb, f) },
		func() string { return m.f("CREATE %s:%d SET %s = %s", tb, 1+m.r.IntN(12), f, lit()) },
		func() string { return m.f("DELETE %s:%d RETURN BEFORE", tb, 1+m.r.IntN(3)) },
		func() string { return m.f("DELETE %s WHERE %s = %s", tb, f, lit()) },
		func() string { return m.f("DEFINE FIELD OVERWRITE %s ON %s TYPE %s", f, tb, m.elementType()) },
		func() string { return m.f("DEFINE FIELD OVERWRITE %s ON %s DEFAULT %s", f, tb, lit()) },
		func() string { return m.f("REMOVE FIELD IF EXISTS %s ON %s", f, tb) },
		func() string {
			return m.f("ALTER TABLE %s %s", tb, m.pick("SCHEMAFULL", "SCHEMALESS", "PERMISSIONS FULL",
				"PERMISSIONS NONE"))
		},
		func() string {
			return m.f("DEFINE INDEX OVERWRITE %s ON %s FIELDS %s%s", f, tb, m.pick(m.names...), m.pick("",
				" UNIQUE"))
		},
		func() string { return m.f("REMOVE INDEX IF EXISTS %s ON %s", f, tb) },
		func() string { return m.f("REMOVE TABLE %s", tb) },
		func() string {
			return m.f("DEFINE EVENT OVERWRITE ev ON %s THEN (UPSERT log:1 SET n += 1, %s = $after.%s)", tb, f, f)
		},
	)
}
