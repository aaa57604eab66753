package diff

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator draws the statements of one case. Tables: t and u hold records 1 to 6, e and f are edges from t to u or t,
// v is a view, user holds the record users.
type generator struct {
	r      *rand.Rand
	record bool
	open   bool // inside BEGIN
	theme  *theme
	whole  bool // writes have no WHERE: the reference leaves computed fields out of their answers
}

// Generate makes the case of a seed.
func Generate(seed uint64) *Case {
	g := &generator{r: rand.New(rand.NewPCG(seed, 0x6e61637265))}
	if g.chance(6) {
		return g.lexical(seed)
	}
	g.record = g.chance(25)
	c := &Case{Seed: seed, Record: g.record, Setup: append(g.schema(), g.data()...)}
	if all := themes(); !g.record && g.chance(65) {
		g.theme = &all[g.r.IntN(len(all))]
		c.Setup = append(c.Setup, g.theme.setup(g)...)
	}
	for range 12 + g.r.IntN(10) {
		c.Body = append(c.Body, g.statement())
	}
	if g.open {
		c.Body = append(c.Body, g.pick("COMMIT", "COMMIT", "CANCEL"))
	}
	if g.theme != nil {
		c.Body = append(c.Body, g.theme.looks...)
	}
	for _, tb := range []string{"t", "u", "e", "f", "v"} {
		c.Body = append(c.Body, "SELECT * FROM "+tb)
	}
	if !c.Record {
		c.Body = append(c.Body, "INFO FOR TABLE t", "INFO FOR DB")
	}
	return c
}

func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

// pick draws one of several, each as likely.
func (g *generator) pick(of ...string) string { return of[g.r.IntN(len(of))] }

// draw calls one of several.
func (g *generator) draw(of ...func() string) string { return of[g.r.IntN(len(of))]() }

// maybe is s in so many percent of cases, else nothing.
func (g *generator) maybe(percent int, s func() string) string {
	if g.chance(percent) {
		return s()
	}
	return ""
}

// list joins so many draws.
func (g *generator) list(least, most int, sep string, one func() string) string {
	parts := make([]string, least+g.r.IntN(most-least+1))
	for i := range parts {
		parts[i] = one()
	}
	return strings.Join(parts, sep)
}

func (g *generator) f(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// table of records, mostly.
func (g *generator) table() string { return g.pick("t", "t", "t", "u", "e") }

func (g *generator) row() string { return g.f("%s:%d", g.pick("t", "t", "u"), 1+g.r.IntN(6)) }

// data fills the tables.
func (g *generator) data() []string {
	var out []string
	out = append(out, "CREATE user:1 SET name = 'ann', n = 2", "CREATE user:2 SET name = 'bob', n = 3")
	for _, tb := range []string{"t", "u"} {
		for i := range 2 + g.r.IntN(4) {
			out = append(out, g.f("CREATE %s:%d SET %s", tb, i+1, g.values()))
		}
	}
	for i := range g.r.IntN(5) {
		out = append(out, g.f("RELATE t:%d->%s:%d->%s SET n = %s", 1+g.r.IntN(3), g.pick("e", "e", "f"), i+1, g.row(),
			g.integer()))
	}
	return out
}

// values assigns what the fields usually hold.
func (g *generator) values() string {
	parts := []string{"n = " + g.integer()}
	if g.chance(80) {
		parts = append(parts, "s = "+g.str())
	}
	if g.chance(60) {
		parts = append(parts, "b = "+g.pick("true", "false"))
	}
	if g.chance(60) {
		parts = append(parts, g.f("a = [%s]", g.list(0, 3, ", ", g.integer)))
	}
	if g.chance(50) {
		parts = append(parts, g.f("o = { x: %s, y: %s }", g.integer(), g.str()))
	}
	if g.chance(50) {
		parts = append(parts, "l = "+g.row())
	}
	if g.chance(30) {
		parts = append(parts, g.f("ls = [%s]", g.list(0, 3, ", ", g.row)))
	}
	if g.chance(40) {
		parts = append(parts, "k = "+g.literal())
	}
	if g.chance(40) {
		parts = append(parts, "w = "+g.pick("user:1", "user:2"))
	}
	return strings.Join(parts, ", ")
}

func (g *generator) statement() string {
	if g.theme != nil && g.chance(65) {
		return g.theme.statement(g)
	}
	if !g.record && !g.open && g.chance(3) {
		g.open = true
		return "BEGIN"
	}
	if g.open && g.chance(25) {
		g.open = false
		return g.pick("COMMIT", "COMMIT", "CANCEL")
	}
	if !g.record && g.chance(12) {
		return g.draw(g.definition, g.further)
	}
	switch n := g.r.IntN(100); {
	case n < 42:
		return g.query()
	case n < 78 || g.open: // RETURN would end the transaction
		return g.write()
	case n < 90:
		return "RETURN " + g.free(2)
	default:
		return g.control()
	}
}

// control is LET, IF, FOR, blocks and THROW.
func (g *generator) control() string {
	return g.draw(
		func() string { return g.f("LET $p = %s", g.free(2)) },
		func() string { return g.f("LET $rows = (%s)", g.query()) },
		func() string { return g.f("IF %s { RETURN %s } ELSE { [%s] }", g.free(1), g.query(), g.free(1)) },
		func() string { return g.f("IF %s THEN [%s] ELSE IF %s THEN 2 END", g.free(1), g.free(1), g.free(1)) },
		func() string { return g.f("FOR $i IN [%s] { %s }", g.list(1, 3, ", ", g.integer), g.loopBody()) },
		func() string { return g.f("FOR $i IN 1..%d { %s }", 2+g.r.IntN(3), g.loopBody()) },
		func() string { return g.f("{ LET $z = %s; %s; RETURN $z }", g.free(1), g.write()) },
		func() string { return g.f("{ %s; THROW %s; %s }", g.write(), g.str(), g.write()) },
		func() string { return g.f("RETURN fn::f(%s)", g.free(1)) },
		func() string { return g.f("RETURN fn::w(%s)", g.integer()) },
	)
}

func (g *generator) loopBody() string {
	return g.draw(
		func() string { return g.f("UPDATE t:1 SET n += $i") },
		func() string { return g.f("IF $i > 1 { BREAK }; CREATE u SET n = $i, s = 'loop', id = $i + 20") },
		func() string { return g.f("IF $i = 1 { CONTINUE }; UPSERT u:[$i] SET n = $i") },
		func() string { return g.f("LET $q = $i * 2; UPDATE t SET n = $q WHERE n = $i") },
		g.write,
	)
}
