package engine_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
)

// gqlRules compose programs in ISO GQL over the tables of a drawn schema. a and b are bound in each, c and the edges
// sometimes.
var gqlRules = map[string][]string{
	"gtable": {"p", "p", "p", "hid", "ten", "err", "blind", "user", "acl", "log"},
	"gedges": {"e", "e", "half", "!half", "e|half", "%"},
	"gprop":  {"n", "secret", "kept", "obj", "items", "some", "link", "links", "boss", "refs", "twice", "odd", "text", "id", "s", "open", "owner", "level", "tags", "word", "lock", "in", "out", "m"},
	"gval":   {"5", "7", "1", "2", "'hush'", "true", "false", "NULL", "'x'", "9"},
	"gnode":  {"", "", ":⟨gtable⟩", ":⟨gtable⟩", ":⟨gtable⟩|⟨gtable⟩", ":!⟨gtable⟩", ":⟨gtable⟩ {⟨gprop⟩: ⟨gval⟩}", " {⟨gprop⟩: ⟨gval⟩}"},
	"gedge":  {"-[e:⟨gedges⟩]->", "<-[e:⟨gedges⟩]-", "-[e:⟨gedges⟩]-", "-[e]->", "-[e]-", "->", "<-", "-", "-[e:⟨gedges⟩ {⟨gprop⟩: ⟨gval⟩}]->", "-[e:⟨gedges⟩ WHERE e.⟨gprop⟩ = ⟨gval⟩]->", "-[e WHERE e.⟨gprop⟩ IS NULL]-"},
	"gmany":  {"-[e:⟨gedges⟩]->{1,3}", "-[e]-{0,2}", "-[e:⟨gedges⟩]->+", "<-[e]-*", "-[e:⟨gedges⟩]->?", "((x)-[e:⟨gedges⟩]->(y) WHERE x.⟨gprop⟩ IS NULL){1,2}", "((x)-[e]-(y) WHERE y.⟨gprop⟩ = ⟨gval⟩)+", "-[e:e WHERE e.n > 0]->{1,4}"},
	"gmode":  {"", "TRAIL ", "ACYCLIC ", "SIMPLE ", "ANY ", "ANY SHORTEST ", "ALL SHORTEST ", "SHORTEST 2 ", "SHORTEST 2 GROUPS "},
	"gvar":   {"a", "b"},
	"gexpr": {"⟨gvar⟩.⟨gprop⟩", "⟨gvar⟩.⟨gprop⟩", "⟨gvar⟩.⟨gprop⟩.⟨gprop⟩", "⟨gvar⟩", "⟨gvar⟩.⟨gprop⟩ + 1", "1 / ⟨gvar⟩.⟨gprop⟩", "COALESCE(⟨gvar⟩.⟨gprop⟩, 'none')", "PROPERTY_EXISTS(⟨gvar⟩, ⟨gprop⟩)", "ELEMENT_ID(⟨gvar⟩)", "CAST(⟨gvar⟩.⟨gprop⟩ AS INT)",
		"CAST(⟨gvar⟩.⟨gprop⟩ AS STRING)", "⟨gvar⟩.⟨gprop⟩ || 'x'", "UPPER(⟨gvar⟩.⟨gprop⟩)", "SIZE(⟨gvar⟩.⟨gprop⟩)", "ABS(⟨gvar⟩.⟨gprop⟩)", "⟨gcond⟩", "CASE WHEN ⟨gcond⟩ THEN 1 ELSE 1 / 0 END", "[⟨gvar⟩.⟨gprop⟩, ⟨gvar⟩.⟨gprop⟩]", "⟨gvar⟩.⟨gprop⟩ = ⟨gvar⟩.⟨gprop⟩",
		"EXISTS { (a)-[f]->(z) }", "EXISTS { MATCH (z:⟨gtable⟩) WHERE z.⟨gprop⟩ = a.⟨gprop⟩ }", "VALUE { MATCH (z:⟨gtable⟩) RETURN count(*) AS c }", "VALUE { MATCH (a)-[f]-(z) RETURN collect_list(z.⟨gprop⟩) AS c }"},
	"gcond": {"⟨gvar⟩.⟨gprop⟩ = ⟨gval⟩", "⟨gvar⟩.⟨gprop⟩ > ⟨gval⟩", "⟨gvar⟩.⟨gprop⟩ IS NULL", "⟨gvar⟩.⟨gprop⟩ IS NOT NULL", "NOT ⟨gvar⟩.⟨gprop⟩ = ⟨gval⟩", "⟨gvar⟩.⟨gprop⟩ IN [1, 5, 'hush']", "EXISTS { (a)-[:⟨gedges⟩]->(:⟨gtable⟩) }", "⟨gvar⟩.⟨gprop⟩ <> ⟨gvar⟩.⟨gprop⟩", "⟨gvar⟩ IS LABELED ⟨gtable⟩",
		"⟨gvar⟩.⟨gprop⟩ IS TYPED INT", "1 / ⟨gvar⟩.⟨gprop⟩ > 0", "EXISTS { MATCH (z:⟨gtable⟩ {⟨gprop⟩: ⟨gval⟩}) }"},
	"gwhere": {"", "", "WHERE ⟨gcond⟩", "WHERE ⟨gcond⟩ AND ⟨gcond⟩", "WHERE ⟨gcond⟩ OR ⟨gcond⟩"},
	"gtail":  {"", "", "ORDER BY x", "ORDER BY x DESC LIMIT 1", "LIMIT 2", "ORDER BY x NULLS FIRST OFFSET 1"},
	"gagg":   {"count(*)", "count(⟨gexpr⟩)", "sum(⟨gvar⟩.⟨gprop⟩)", "avg(⟨gvar⟩.⟨gprop⟩)", "min(⟨gvar⟩.⟨gprop⟩)", "max(⟨gvar⟩.⟨gprop⟩)", "collect_list(⟨gexpr⟩)", "count(DISTINCT ⟨gvar⟩.⟨gprop⟩)"},
	"gret": {"RETURN ⟨gexpr⟩ AS x ⟨gtail⟩", "RETURN a, b, ⟨gexpr⟩ AS x ⟨gtail⟩", "RETURN ⟨gagg⟩ AS x", "RETURN ⟨gexpr⟩ AS x, ⟨gagg⟩ AS y GROUP BY x ORDER BY x", "RETURN DISTINCT ⟨gexpr⟩ AS x ⟨gtail⟩", "RETURN * LIMIT 3",
		"RETURN a.n AS n NEXT MATCH (a:p) WHERE a.⟨gprop⟩ = n RETURN n, a.⟨gprop⟩ AS x", "LET l = ⟨gexpr⟩ RETURN l AS x", "FILTER ⟨gcond⟩ RETURN ⟨gexpr⟩ AS x"},
	"gmatch": {"MATCH (a⟨gnode⟩), (b⟨gnode⟩) ⟨gwhere⟩", "MATCH (a⟨gnode⟩)⟨gedge⟩(b⟨gnode⟩) ⟨gwhere⟩", "MATCH (a⟨gnode⟩)⟨gedge⟩(b⟨gnode⟩) ⟨gwhere⟩", "MATCH (a⟨gnode⟩)⟨gmany⟩(b⟨gnode⟩) ⟨gwhere⟩", "MATCH path = ⟨gmode⟩(a⟨gnode⟩)⟨gmany⟩(b⟨gnode⟩) ⟨gwhere⟩",
		"MATCH (a⟨gnode⟩) OPTIONAL MATCH (a)⟨gedge⟩(b⟨gnode⟩) ⟨gwhere⟩", "MATCH (a⟨gnode⟩)⟨gedge⟩(c⟨gnode⟩)-[g:⟨gedges⟩]-(b⟨gnode⟩) ⟨gwhere⟩", "MATCH (a:p) MATCH (b:⟨gtable⟩) WHERE a.⟨gprop⟩ = b.⟨gprop⟩", "MATCH REPEATABLE ELEMENTS (a⟨gnode⟩)-[e]-{1,2}(b⟨gnode⟩)"},
	"gchange": {"SET ⟨gvar⟩.⟨gprop⟩ = ⟨gexpr⟩", "SET ⟨gvar⟩.m = ⟨gexpr⟩", "SET a.⟨gprop⟩ = ⟨gval⟩, b.m = ⟨gexpr⟩", "SET ⟨gvar⟩ = {n: 2, open: true}", "REMOVE ⟨gvar⟩.⟨gprop⟩", "DELETE ⟨gvar⟩", "DETACH DELETE ⟨gvar⟩", "NODETACH DELETE ⟨gvar⟩",
		"INSERT (a)-[:e {m: ⟨gexpr⟩}]->(b)", "INSERT (a)-[:half]->(b)", "INSERT (:log {m: ⟨gexpr⟩})", "INSERT (z:p {n: 1, open: true, m: ⟨gexpr⟩, secret: ⟨gval⟩})", "INSERT (:hid {m: ⟨gexpr⟩})"},
	"gprogram": {"⟨gmatch⟩ ⟨gret⟩", "⟨gmatch⟩ ⟨gret⟩", "⟨gmatch⟩ ⟨gret⟩", "EXPLAIN ⟨gmatch⟩ ⟨gret⟩", "⟨gmatch⟩ ⟨gchange⟩ ⟨gret⟩", "⟨gmatch⟩ ⟨gchange⟩ FINISH", "⟨gmatch⟩ ⟨gret⟩ UNION ⟨gmatch⟩ ⟨gret⟩"},
}

// program composes one.
func (c *composer) program() string { return c.fillFrom(gqlRules, "⟨gprogram⟩") }

// fillFrom replaces each ⟨rule⟩ of a text by one of its alternatives, of rules that come to an end.
func (c *composer) fillFrom(rules map[string][]string, text string) string {
	for range 80 {
		open := strings.Index(text, "⟨")
		if open < 0 {
			break
		}
		end := strings.Index(text, "⟩")
		text = text[:open] + c.one(rules[text[open+len("⟨"):end]]...) + text[end+len("⟩"):]
	}
	return text
}

// gqlAnswer is what a program answers in a transaction, and what is there afterwards; false where it does not parse.
func gqlAnswer(t *testing.T, s *engine.Session, text, after string) (string, bool) {
	t.Helper()
	ctx := context.Background()
	tx, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Cancel(ctx) }()
	res, err := tx.GQL(ctx, text, nil)
	if err != nil {
		return err.Error(), false
	}
	seen, err := tx.Execute(ctx, after, nil)
	if err != nil {
		return "", false
	}
	return generated.ReplaceAllString(elapsed.ReplaceAllString(texts(append(res, seen...)), "…"), "new:…"), true
}

// TestDrawnSchemasTellNothingHiddenToPatterns asks composed programs in ISO GQL of worlds by chance, and looks at the rest by
// statements: the answers and errors are the same in all variants, and what is hidden is in none.
func TestDrawnSchemasTellNothingHiddenToPatterns(t *testing.T) {
	n, seed := composeCount(t)
	const each = 50 // programs of a world
	failed, parsed, worlds := 0, 0, max(1, n/each)
	var said string // why the last program did not parse
	for w := range worlds {
		m := &schemaMaker{composer: &composer{rand.New(rand.NewPCG(uint64(seed+w), 78))}}
		m.guest = m.rand.IntN(5) == 0
		m.make()
		var users []*engine.Session
		for i := range m.variants {
			users = append(users, m.open(t, i))
		}
		for range each {
			text, after := m.program(), m.fill(m.one("SELECT * FROM p, e, half, ten, err", "⟨after⟩", "⟨select⟩"), 6)
			if strings.Contains(text, "INSERT") { // the ids that it makes decide the order of rows
				after = "SELECT count() FROM p GROUP ALL; SELECT count() FROM e GROUP ALL; SELECT count() FROM half GROUP ALL; SELECT count() FROM log GROUP ALL"
			}
			want, ok := gqlAnswer(t, users[0], text, after)
			if !ok {
				said = text + ": " + want
				continue
			}
			parsed++
			for v, u := range users[1:] {
				got, _ := gqlAnswer(t, u, text, after)
				if got == want && (strings.Contains(text, hush) || !strings.Contains(got, hush)) { // EXPLAIN repeats what it was asked
					continue
				}
				if failed++; failed <= 5 {
					t.Errorf("world %d (guest %v), variant %d: %s; %s\n%s\n%s", seed+w, m.guest, v+1, text, after, differing(want, got), m.schema.String())
				}
				break
			}
		}
	}
	t.Logf("%d worlds, %d programs parse, %d tell something", worlds, parsed, failed)
	if parsed < worlds*each/2 {
		t.Errorf("only %d of %d programs parse, the last failed by %s", parsed, worlds*each, said)
	}
}
