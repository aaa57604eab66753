package engine_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
)

// interferenceGraphQL makes the GraphQL schema of the world.
const interferenceGraphQL = `DEFINE CONFIG GRAPHQL AUTO; DEFINE FIELD n ON p TYPE any; DEFINE FIELD m ON p TYPE option<int>;
	DEFINE FIELD OVERWRITE secret ON p TYPE option<int> PERMISSIONS FOR select NONE;
	DEFINE FIELD OVERWRITE note ON p TYPE option<string> PERMISSIONS FOR select NONE;
	DEFINE FIELD OVERWRITE place ON p TYPE option<array<float>> PERMISSIONS FOR select NONE;
	DEFINE FIELD text ON p TYPE option<string>; DEFINE FIELD v ON p TYPE option<array<float>>;
	DEFINE FIELD links ON p TYPE option<array<record<p>>>; DEFINE FIELD n ON e TYPE option<int>;
	DEFINE TABLE OVERWRITE e TYPE RELATION FROM p TO p PERMISSIONS FOR select, update, delete WHERE open, FOR create FULL;`

// interferenceOperations are the operations, one a line.
const interferenceOperations = `
{ ps { id n m text secret note place link { id n } links { id } boss { id } e { id out { id n } } e_in { id in { id } } } }
{ p(id: 1) { id } x: p(id: 2) { id secret } _get(id: "p:1") { id } }
{ ps(order: {asc: secret}) { id } x: ps(order: {desc: secret}, limit: 1) { id } y: ps(order: {desc: note}, start: 1) { id } }
{ ps(filter: {secret: {eq: 5}}) { id } x: ps(filter: {secret: {gt: 1}}) { id } y: ps(filter: {secret: {in: [3, 9]}}) { id } }
{ ps(filter: {secret: {eq: null}}) { id } x: ps(filter: {not: {secret: {lt: 6}}}) { id } y: ps(filter: {secret: {ne: 5}}) { id } }
{ ps(filter: {note: {matches: {query: "fish"}}}) { id } }
{ ps(filter: {note: {startsWith: "r"}}) { id } x: ps(filter: {note: {regex: "f.sh"}}) { id } }
{ ps(filter: {place: {nearest: {to: [2, 2], k: 1, distance: EUCLIDEAN}}}) { id } }
{ ps(filter: {place: {similarity: {to: [0, 1], distance: COSINE, op: gt, value: 0.5}}}) { id } }
{ ps(filter: {secret: {call: {fn: "type::of", op: eq, value: "int"}}}) { id } }
{ ps(filter: {link: {secret: {eq: 5}}}) { id } x: ps(filter: {link: {n: {eq: 4}}}) { id } y: ps(filter: {link: {id: {eq: "p:3"}}}) { id } }
{ ps(filter: {boss: {eq: "p:4"}}) { id } x: ps(filter: {boss: {id: {eq: "p:4"}}}) { id } y: ps(filter: {boss: {text: {contains: "fish"}}}) { id } }
{ ps(filter: {links: {contains: "p:1"}}) { id } x: ps(filter: {links: {contains: "p:2"}}) { id } }
{ ps(filter: {id: {in: ["p:1", "p:2", "p:3"]}}) { id } x: ps(filter: {id: {range: {from: "p:1", to: "p:5"}}}) { id } }
{ ps(filter: {e: {count: {gte: 1}}}) { id } x: ps(filter: {e_in: {count: {eq: 0}}}) { id } }
{ ps(filter: {text: {matches: {query: "fish"}}}) { id } x: ps(filter: {v: {nearest: {to: [0, 0], k: 2, distance: EUCLIDEAN}}}) { id } }
{ ps_aggregate { count secret_sum secret_min secret_max secret_avg m_sum } }
{ ps_aggregate(groupBy: [note]) { note count } x: ps_aggregate(groupBy: [boss]) { boss { id } count } }
{ ps_aggregate(filter: {secret: {gt: 1}}) { count } x: ps_aggregate(filter: {n: {eq: 4}}) { count m_sum } }
{ psConnection(first: 2) { totalCount edges { cursor node { id secret } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }
{ psConnection(first: 1, after: "cDox") { edges { cursor } pageInfo { hasNextPage hasPreviousPage } totalCount } }
{ psConnection(last: 1, before: "cDo0") { edges { cursor } pageInfo { hasNextPage hasPreviousPage } totalCount } }
{ psConnection(after: "cDo2") { edges { cursor } pageInfo { hasNextPage hasPreviousPage } } }
{ psConnection(filter: {secret: {eq: 5}}) { totalCount } }
{ es { id n in { id } out { id text } } users { id } visibles { id } logs { id } }
mutation { updatePs(where: {secret: {gt: 1}}, data: {m: 5}) { id secret } }
mutation { updatePs(where: {n: {eq: 4}}, data: {m: 5}) { id m } }
mutation { updateP(id: "1", data: {m: 5}) { id } x: updateP(id: "2", data: {m: 6}) { id m secret boss { id } } }
mutation { deletePs(where: {secret: {ne: null}}) x: deleteP(id: "1") }
mutation { deleteEs(where: {n: {gte: 0}}) }
`

// TestHiddenRowsAndFieldsDoNotInterfereInGraphQL asks each operation with and without what is hidden. An operation that
// is answered alike to an owner, who sees all, would tell nothing.
func TestHiddenRowsAndFieldsDoNotInterfereInGraphQL(t *testing.T) {
	operations := strings.Split(strings.TrimSpace(interferenceOperations), "\n")
	if len(operations) < 30 {
		t.Errorf("only %d operations", len(operations))
	}
	const all = hiddenRows + hiddenFields
	for _, query := range operations {
		want := ask(graphQLWorld(t, "", false), t, query)
		for _, hidden := range []string{hiddenRows, hiddenFields, all} {
			if got := ask(graphQLWorld(t, hidden, false), t, query); got != want {
				t.Errorf("%s\nwith    %s\nwithout %s", query, got, want)
			}
		}
		if open := ask(graphQLWorld(t, "", true), t, query); open == ask(graphQLWorld(t, all, true), t, query) {
			t.Errorf("%s\nan owner is answered alike: %s", query, open)
		}
	}
}

// graphQLWorld is a session of user:1, or of an owner, in a world with something hidden.
func graphQLWorld(t *testing.T, hidden string, asOwner bool) *engine.Session {
	t.Helper()
	e := openQuiet(t)
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	root := owner(t, e)
	// The last statements write all records by the definitions that came behind them.
	for _, r := range mustExecute(t, root, interferenceSchema+interferenceGraphQL+hidden+"; UPDATE p; DELETE log") {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if asOwner {
		return root
	}
	user, err := signIn(e, "record:acc:user:1")
	if err != nil {
		t.Fatal(err)
	}
	return user
}

func ask(s *engine.Session, t *testing.T, query string) string {
	t.Helper()
	return string(askGraphQL(t, s, query, "").AppendJSON(nil))
}

// graphQLRules compose operations over the world of interferenceGraphQL.
var graphQLRules = map[string][]string{
	"num":    {"n", "m", "secret"},
	"text":   {"text", "note"},
	"scalar": {"n", "m", "secret", "text", "note", "id", "boss"},
	"pick": {"id", "id n", "secret", "note", "place", "link { ⟨pick⟩ }", "links { ⟨pick⟩ }", "boss { ⟨pick⟩ }", "e { id out { ⟨pick⟩ } }", "e_in { in { ⟨pick⟩ } }",
		"id text secret link { id secret }", "e { n }"},
	"int": {"0", "1", "2", "3", "4", "5", "9"},
	"str": {"\"fish\"", "\"r\"", "\"\"", "\"x\""},
	"id":  {"\"p:1\"", "\"p:2\"", "\"p:3\"", "\"p:4\"", "\"p:9\""},
	"cmp": {"eq", "ne", "gt", "gte", "lt", "lte"},
	"cond": {"⟨num⟩: {⟨cmp⟩: ⟨int⟩}", "⟨num⟩: {in: [⟨int⟩, ⟨int⟩]}", "⟨num⟩: {eq: null}", "⟨text⟩: {eq: ⟨str⟩}", "⟨text⟩: {contains: ⟨str⟩}", "⟨text⟩: {startsWith: ⟨str⟩}",
		"⟨text⟩: {regex: ⟨str⟩}", "not: {⟨cond⟩}", "and: [{⟨cond⟩}, {⟨cond⟩}]", "or: [{⟨cond⟩}, {⟨cond⟩}]", "link: {⟨cond⟩}", "boss: {⟨cond⟩}", "boss: {id: {eq: ⟨id⟩}}", "id: {in: [⟨id⟩, ⟨id⟩]}",
		"links: {contains: ⟨id⟩}", "e: {count: {⟨cmp⟩: ⟨int⟩}}", "e_in: {count: {⟨cmp⟩: ⟨int⟩}}", "⟨num⟩: {call: {fn: \"type::of\", op: eq, value: \"int\"}}", "place: {nearest: {to: [2, 2], k: ⟨int⟩, distance: EUCLIDEAN}}"},
	"args": {"", "", "(filter: {⟨cond⟩})", "(filter: {⟨cond⟩})", "(filter: {⟨cond⟩}, order: {⟨dir⟩: ⟨scalar⟩})", "(order: {⟨dir⟩: ⟨scalar⟩}, limit: ⟨int⟩)", "(order: {⟨dir⟩: ⟨scalar⟩}, start: ⟨int⟩)", "(limit: ⟨int⟩, start: ⟨int⟩)"},
	"dir":  {"asc", "desc"},
	"page": {"", "(first: ⟨int⟩)", "(last: ⟨int⟩)", "(first: ⟨int⟩, after: \"cDox\")", "(last: ⟨int⟩, before: \"cDo0\")", "(filter: {⟨cond⟩})", "(first: ⟨int⟩, filter: {⟨cond⟩})"},
	"agg":  {"count", "count secret_sum", "secret_min secret_max", "secret_avg m_sum", "count n_sum n_max"},
	"root": {"ps⟨args⟩ { ⟨pick⟩ }", "ps⟨args⟩ { ⟨pick⟩ }", "p(id: \"⟨int⟩\") { ⟨pick⟩ }", "_get(id: ⟨id⟩) { id ... on p { ⟨pick⟩ } }", "ps_aggregate { ⟨agg⟩ }", "ps_aggregate(filter: {⟨cond⟩}) { ⟨agg⟩ }",
		"ps_aggregate(groupBy: [⟨scalar⟩]) { count }", "psConnection⟨page⟩ { totalCount edges { cursor node { ⟨pick⟩ } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }",
		"es { id n in { ⟨pick⟩ } }", "es(filter: {n: {⟨cmp⟩: ⟨int⟩}}) { id }", "users { id }", "logs { id }"},
	"change":    {"updatePs(where: {⟨cond⟩}, data: {m: ⟨int⟩}) { ⟨pick⟩ }", "updateP(id: \"⟨int⟩\", data: {n: ⟨int⟩}) { ⟨pick⟩ }", "deletePs(where: {⟨cond⟩})", "deleteP(id: \"⟨int⟩\")", "deleteEs(where: {n: {⟨cmp⟩: ⟨int⟩}})"},
	"operation": {"{ ⟨root⟩ }", "{ ⟨root⟩ }", "{ ⟨root⟩ }", "{ x: ⟨root⟩ y: ⟨root⟩ }", "{ x: ⟨root⟩ y: ⟨root⟩ }", "mutation { ⟨change⟩ }"},
}

// TestComposedOperationsTellNothingHidden asks operations that grammar rules compose, in worlds that differ in what
// user:1 may not see: the answers are the same. Mutations stay, so what follows sees what they did.
func TestComposedOperationsTellNothingHidden(t *testing.T) {
	n, seed := composeCount(t)
	var worlds [4]*engine.Session
	different, failed := 0, 0
	for i := range n {
		if i%100 == 0 {
			for j, hidden := range []string{"", hiddenRows, hiddenFields, hiddenRows + hiddenFields} {
				worlds[j] = graphQLWorld(t, hidden, false)
			}
		}
		c := &composer{rand.New(rand.NewPCG(uint64(seed+i), 9))}
		query := c.fillFrom(graphQLRules, "⟨operation⟩")
		want := ask(worlds[0], t, query)
		if strings.Contains(want, `"errors"`) {
			failed++
		}
		if i%20 == 0 && ask(graphQLWorld(t, "", true), t, query) != ask(graphQLWorld(t, hiddenRows+hiddenFields, true), t, query) {
			different++
		}
		for _, s := range worlds[1:] {
			if got := ask(s, t, query); got != want {
				t.Fatalf("seed %d: %s\n%s", seed+i, query, differing(want, got))
			}
		}
	}
	if different < n/20/4 || failed > n/2 {
		t.Errorf("of %d operations %d failed, and of each 20th %d told an owner of what is hidden", n, failed, different)
	}
}
