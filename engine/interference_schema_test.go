package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/kv/fault"
	"github.com/nacredb/nacre/engine/kv/mem"
)

// A schema by chance has the tables and fields that the composed statements name, but who may see what of them, how
// fields are defined and what is indexed is drawn. A world has three variants that differ in what the client may not see,
// and in nothing else: the drawing knows what that is, because each condition comes with what makes it true and false.

// hush stands in hidden places and in no statement: an answer that holds it is a leak.
const hush = "hush"

// rowRule is a condition of PERMISSIONS with the fields that make a row of a table visible, or hidden.
type rowRule struct {
	cond, shown, hidden string
	guest               bool // it means the same without an identity
}

var rowRules = []rowRule{
	{"FULL", "", "", true},
	{"WHERE open", "open = true", "open = false", true},
	{"WHERE open = true AND n != 99", "open = true", "open = false", true},
	{"WHERE owner = $auth", "owner = user:{ tenant: 'mine', uid: 1 }", "owner = user:9", false},
	{"WHERE $auth IN owners", "owners = [user:{ tenant: 'mine', uid: 1 }, user:9]", "owners = [user:9]", false},
	{"WHERE $auth.tenant != level", "level = 1", "level = 'mine'", false},
	{"WHERE level < 5", "level = 1", "level = 9", true},
	{"WHERE level + 1 < 5", "level = 1", "level = 'no number'", true},
	{"WHERE tags CONTAINS 'pub'", "tags = ['pub']", "tags = ['priv']", true},
	{"WHERE tags ANYINSIDE ['pub', 'seen']", "tags = ['seen', 'x']", "tags = []", true},
	{"WHERE meta.open", "meta = { open: true }", "meta = { open: false }", true},
	{"WHERE fn::may(open)", "open = true", "open = false", true},
	{"WHERE { IF open { true } ELSE { false } }", "open = true", "open = false", true},
	{"WHERE string::len(word) > 3", "word = 'long one'", "word = 'no'", true},
	{"WHERE string::contains(word, 'long')", "word = 'long one'", "word = 'no'", true},
	{"WHERE level IN (SELECT VALUE level FROM acl)", "level = 1", "level = 2", true},
	{"WHERE !closed", "closed = false", "closed = true", true},
}

// fieldRule hides a field of the rows that are seen.
var fieldRules = []string{
	"PERMISSIONS FOR select NONE", "PERMISSIONS NONE", "PERMISSIONS FOR select, update NONE",
	"PERMISSIONS FOR select WHERE false", "PERMISSIONS FOR select WHERE lock = 'no' FOR update FULL",
	"PERMISSIONS FOR select WHERE $auth = user:9 FOR create, update NONE", "PERMISSIONS FOR select WHERE 1 + lock > 0",
	"PERMISSIONS FOR select WHERE acl:9.open",
}

// closedRules hide a field that has a type. What does not fit a type is refused, so who may change such a field without
// seeing it learns what fits: see docs/permissions.md.
var closedRules = []string{
	"PERMISSIONS NONE", "PERMISSIONS FOR select, update NONE", "PERMISSIONS FOR select WHERE $auth = user:9 FOR create, update NONE",
}

// schemaMaker draws a world.
type schemaMaker struct {
	*composer
	guest    bool
	schema   strings.Builder
	variants [3]strings.Builder
}

func (m *schemaMaker) define(format string, args ...any) {
	fmt.Fprintf(&m.schema, format+";\n", args...)
}

// maybe is text once in of times, else "".
func (m *schemaMaker) maybe(of int, text string) string {
	if m.rand.IntN(of) == 0 {
		return text
	}
	return ""
}

// rule draws a rule of rows.
func (m *schemaMaker) rule() rowRule {
	for {
		if r := rowRules[m.rand.IntN(len(rowRules))]; r.guest || !m.guest {
			return r
		}
	}
}

// table defines a table whose rows the rule shows. What may be changed is never more than what is seen.
func (m *schemaMaker) table(name, kind string, r rowRule) {
	m.define("DEFINE TABLE %s %s %s PERMISSIONS FOR select %s, FOR update %s, FOR delete %s, FOR create %s", name, kind,
		m.maybe(4, "CHANGEFEED 1h INCLUDE ORIGINAL"), r.cond, m.one("NONE", r.cond, r.cond, r.cond),
		m.one("NONE", r.cond, r.cond), m.one("NONE", "FULL", "FULL", r.cond))
}

// hide draws how a field is hidden, if it is.
func (m *schemaMaker) hide(table, field, clauses string) bool {
	if m.rand.IntN(4) == 0 {
		m.define("DEFINE FIELD %s ON %s %s", field, table, clauses)
		return false
	}
	rules := fieldRules
	if clauses != "" {
		rules = closedRules
	}
	m.define("DEFINE FIELD %s ON %s %s %s", field, table, clauses, m.one(rules...))
	return true
}

// secret adds to each variant what it has at a hidden place; to all the same where the place is not hidden. VAL and OTHER
// are a value and a record.
func (m *schemaMaker) secret(hidden bool, statement string) {
	for i := range m.variants {
		v, other := "NONE", "p:9"
		switch {
		case hidden && i == 1:
			v, other = "'"+hush+"'", "p:4"
		case hidden && i == 2:
			v, other = "7", "p:2"
		case !hidden:
			v = "5"
		}
		m.variants[i].WriteString(strings.NewReplacer("VAL", v, "OTHER", other).Replace(statement) + ";\n")
	}
}

// row adds a row: a hidden one is missing in the first variant, and has other contents in each.
func (m *schemaMaker) row(r rowRule, hidden bool, create, set string) {
	attributes := r.shown
	if hidden {
		attributes = r.hidden
	}
	if attributes != "" {
		set = attributes + ", " + set
	}
	text := create + " SET " + set + " RETURN NONE;\n"
	for i := range m.variants {
		if !hidden {
			m.variants[i].WriteString(strings.NewReplacer("VAL", "5", "OTHER", "p:9").Replace(text))
		} else if i > 0 {
			m.variants[i].WriteString(strings.NewReplacer("VAL", []string{"", "'" + hush + "'", "7"}[i], "OTHER",
				[]string{"", "p:4", "p:2"}[i]).Replace(text))
		}
	}
}

// make draws everything.
func (m *schemaMaker) make() {
	m.define("DEFINE TABLE user PERMISSIONS FOR select WHERE id = $auth; CREATE user:{ tenant: 'mine', uid: 1 } SET tenant = 'other'")
	m.define("DEFINE TABLE acl PERMISSIONS NONE; CREATE acl:1 SET level = 1; CREATE acl:9 SET open = false")
	m.define("DEFINE TABLE log PERMISSIONS FULL; DEFINE TABLE hid PERMISSIONS NONE")
	m.define("DEFINE FUNCTION fn::may($x: any) { RETURN $x = true }; DEFINE FUNCTION fn::secrets() { SELECT secret, items FROM p }")
	m.define("DEFINE PARAM $par VALUE '" + hush + "' PERMISSIONS NONE; DEFINE FUNCTION fn::denied() { RETURN '" + hush + "' } PERMISSIONS NONE")
	p, e, half := m.rule(), m.rule(), m.rule()
	m.table("p", m.one("", "TYPE NORMAL", "SCHEMALESS"), p)
	m.table("e", "TYPE RELATION "+m.one("", "IN p OUT p"), e)
	m.table("half", "TYPE RELATION", half)
	m.fields()
	m.rows(p, e, half)
	m.others()
}

// fields defines the fields of p and what follows from them, and fills the hidden ones after rows has made the rows.
func (m *schemaMaker) fields() {
	m.define("DEFINE FIELD lock ON p PERMISSIONS FOR create, update NONE")
	m.define("DEFINE FIELD link ON p TYPE option<record<p>> %s", m.one("", "REFERENCE", "REFERENCE ON DELETE UNSET", "REFERENCE ON DELETE IGNORE"))
	m.define("DEFINE FIELD refs ON p COMPUTED <~p %s", m.maybe(4, "PERMISSIONS NONE"))
	m.define("DEFINE FIELD twice ON p COMPUTED n * 2")
	m.define("%s", m.one("", "DEFINE FIELD m ON p DEFAULT 1", "DEFINE FIELD m ON p VALUE $value ?? 0", "DEFINE FIELD n ON p TYPE any READONLY", "DEFINE FIELD x ON p TYPE option<int>"))
	m.define("DEFINE EVENT noted ON p %s THEN { CREATE hid SET of = $before.id, was = $after.secret }", m.one("", "WHEN $event = 'UPDATE'", "ASYNC"))
	indexes := []string{"pn ON p FIELDS n", "ps ON p FIELDS secret", "pi ON p FIELDS items.*.secret", "pb ON p FIELDS boss", "pc ON p COUNT",
		"po ON p FIELDS open, secret", "pk ON p FIELDS kept, n", "pt ON p FIELDS text", "pe ON e FIELDS n", "pr ON p FIELDS link"}
	for _, ix := range indexes {
		if m.rand.IntN(2) == 0 {
			m.define("DEFINE INDEX %s", ix)
		}
	}
}

func (m *schemaMaker) rows(p, e, half rowRule) {
	seen := p.cond
	m.row(p, false, "CREATE p:2", "n = 2, obj = { a: 1 }, items = [{ a: 1 }, { a: 2 }], some = [{ open: true, n: 1 }, { n: 0 }], deep = [{ l: [{ a: 1 }] }], link = p:3, links = [p:1, p:4], lock = 'yes'")
	m.row(p, false, "CREATE p:4", "n = 4, obj = [{ a: 1 }, { a: 2 }], items = [], link = p:2, links = [p:2, p:3], set = <set>[1, 2], text = 'fish', lock = 'yes'")
	m.row(p, false, "CREATE p:{ k: 6, n: 7 }", "n = 6, k = 'body', link = p:2, lock = 'yes'")
	m.row(p, seen != "FULL", "CREATE p:1", "n = 1, link = p:2, secret = VAL, links = [p:2], kept = VAL, text = 'fish'")
	m.row(p, seen != "FULL", "CREATE p:3", "n = VAL, link = p:4, boss = OTHER, items = [{ secret: VAL }]")
	for _, f := range []struct{ name, clauses, fill string }{
		{"secret", m.one("", "TYPE any", "TYPE option<int | string>"), "UPDATE p:2 SET secret = VAL; UPDATE p:4 SET secret = VAL"},
		{"kept", "", "UPDATE p:2 SET kept = VAL; UPDATE p:{ k: 6, n: 7 } SET kept = [VAL, 1]"},
		{"obj.secret", "", "UPDATE p:2 SET obj.secret = VAL; UPDATE p:4 SET obj[1].secret = VAL"},
		{"items.secret", "", "UPDATE p:2 SET items[0].secret = VAL"},
		{"deep.*.l.secret", "", "UPDATE p:2 SET deep[0].l[0].secret = VAL"},
		{"boss", "TYPE option<record<p>>" + m.one("", " REFERENCE"), "UPDATE p:2 SET boss = OTHER; UPDATE p:4 SET boss = OTHER"},
		{"odd", "", "UPDATE p:2 SET odd = VAL"},
	} {
		if parent, _, nested := strings.Cut(f.name, "."); nested {
			m.define("DEFINE FIELD %s ON p TYPE option<%s>", parent, map[string]string{"obj": "object | array", "items": "array", "deep": "array"}[parent])
		}
		m.secret(m.hide("p", f.name, f.clauses), f.fill)
	}
	m.define("DEFINE FIELD some ON p TYPE option<array>; DEFINE FIELD OVERWRITE some.* ON p PERMISSIONS FOR select WHERE $value.open")
	m.secret(true, "UPDATE p:2 SET some[1].n = VAL")
	m.row(e, false, "RELATE p:2->e:2->p:4", "n = 1")
	m.row(e, false, "RELATE p:4->e:4->p:2", "n = 2")
	m.row(e, false, "RELATE p:2->e:5->p:{ k: 6, n: 7 }", "n = 3")
	m.row(e, e.cond != "FULL", "RELATE p:2->e:1->p:4", "n = VAL")
	m.row(e, e.cond != "FULL", "RELATE p:4->e:3->p:2", "s = VAL")
	if e.cond != "FULL" && !strings.Contains(m.schema.String(), "TYPE RELATION IN p") {
		m.row(e, true, "RELATE OTHER->e:7->p:2", "n = 1")
	}
	out := m.one(fieldRules[:4]...)
	m.define("DEFINE FIELD OVERWRITE out ON half TYPE record %s", out)
	ends := []string{"p:9", "p:1", "hid:1"}
	if seen == "FULL" { // an edge goes with the node that it ends at: see docs/permissions.md
		ends = []string{"hid:2", "hid:3", "hid:1"}
	}
	for i, end := range ends {
		for n, from := range []string{"p:2", "p:4"} {
			set := ""
			if half.shown != "" {
				set = " SET " + half.shown
			}
			fmt.Fprintf(&m.variants[i], "RELATE %s->half:%d->%s%s RETURN NONE;\n", from, n+1, end, set)
		}
	}
}

// others fills the tables beside p.
func (m *schemaMaker) others() {
	who := "id.tenant = $auth.id.tenant"
	if m.guest {
		who = "id.tenant = 'mine'"
	}
	m.table("ten", "", rowRule{cond: "WHERE " + who})
	m.define("%s", m.maybe(2, "DEFINE INDEX ti ON ten FIELDS id.tenant"))
	m.table("err", "", rowRule{cond: "WHERE n + 1 > 3"})
	m.define("DEFINE TABLE blind PERMISSIONS FOR select NONE, FOR update, delete FULL")
	m.secret(false, "CREATE ten:{ tenant: 'mine', n: 1 } SET n = 1, tenant = 'x'; CREATE err:2 SET n = 5")
	for i, v := range []string{"", "'" + hush + "'", "7"} {
		if i > 0 {
			fmt.Fprintf(&m.variants[i], `CREATE ten:{ tenant: 'other', n: 2 } SET n = %[1]s, tenant = 'mine'; CREATE ten:{ tenant: %[1]s, n: 3 } SET tenant = 'mine';
				CREATE err:1 SET n = 'no number', x = %[1]s; CREATE err:3 SET n = 1; CREATE hid:1 SET v = %[1]s; CREATE hid:2 SET v = p:2;`, v)
		}
		if v == "" {
			v = "NONE"
		}
		fmt.Fprintf(&m.variants[i], "CREATE blind:1 SET s = %s, n = 1, l = [%[1]s]; DELETE log;", v)
	}
}

// schemaStatements are the rules of the composed statements, with what a drawn schema has besides.
func schemaStatements() []string {
	return append(slices.Clone(composeRules["text"]), "⟨select⟩", "⟨select⟩", "RETURN [$par, ⟨expr⟩]", "RETURN fn::denied()", "SELECT $par AS x, ⟨expr⟩ AS y FROM ⟨from⟩",
		"SHOW CHANGES FOR TABLE p SINCE 0", "INFO FOR TABLE p", "INFO FOR DB", "SELECT * FROM acl", "RETURN acl:1.level")
}

// TestDrawnSchemasTellNothingHidden asks composed statements of worlds by chance: the answers and errors are the same in
// all variants, and what is hidden is in none.
func TestDrawnSchemasTellNothingHidden(t *testing.T) {
	n, seed := composeCount(t)
	const each = 50 // statements of a world
	failed, parsed, worlds := 0, 0, max(1, n/each)
	for w := range worlds {
		m := &schemaMaker{composer: &composer{rand.New(rand.NewPCG(uint64(seed+w), 77))}}
		m.guest = m.rand.IntN(5) == 0
		m.make()
		var users []*engine.Session
		for i := range m.variants {
			users = append(users, m.open(t, i))
		}
		for range each {
			text := m.fill(m.one(schemaStatements()...), 12)
			want, ok := composedAnswer(t, users[0], text)
			if !ok {
				continue
			}
			parsed++
			for v, u := range users[1:] {
				got, _ := composedAnswer(t, u, text)
				if got == want && !strings.Contains(got, hush) {
					continue
				}
				if failed++; failed <= 5 {
					t.Errorf("world %d (guest %v), variant %d: %s\n%s\n%s", seed+w, m.guest, v+1, text, differing(want, got), m.schema.String())
				}
				break
			}
		}
	}
	t.Logf("%d worlds, %d statements parse, %d tell something", worlds, parsed, failed)
	if parsed < worlds*each/2 {
		t.Errorf("only %d of %d statements parse", parsed, worlds*each)
	}
}

// open makes a variant and gives the session of its client.
func (m *schemaMaker) open(t *testing.T, variant int) *engine.Session {
	t.Helper()
	setup := m.schema.String() + m.variants[variant].String()
	if !m.guest {
		_, user := hiddenWorld(t, "record:acc:user:{ tenant: 'mine', uid: 1 }", setup)
		return user
	}
	caps := openCapabilities()
	caps.Guests = true
	e, err := engine.OpenOn(t.Context(), fault.NewSpoiling(mem.New()), engine.Options{
		NoDefaults: true, Capabilities: caps, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	run(t, owner(t, e), setup)
	return e.SessionAs(auth.Principal{Level: auth.Guest, NS: "test", DB: "test"}, "test", "test")
}
