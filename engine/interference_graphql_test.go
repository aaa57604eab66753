package engine_test

import (
	"context"
	"strings"
	"testing"
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
{ ps(filter: {links: {contains: "p:1"}}) { id } }
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

// TestHiddenRowsAndFieldsDoNotInterfereInGraphQL asks each operation with and without what is hidden.
func TestHiddenRowsAndFieldsDoNotInterfereInGraphQL(t *testing.T) {
	n := 0
	for _, query := range strings.Split(strings.TrimSpace(interferenceOperations), "\n") {
		n++
		want := graphQLInterference(t, "", query)
		for _, hidden := range []string{hiddenRows, hiddenFields, hiddenRows + hiddenFields} {
			if got := graphQLInterference(t, hidden, query); got != want {
				t.Errorf("%s\nwith    %s\nwithout %s", query, got, want)
			}
		}
	}
	if n < 25 {
		t.Errorf("only %d operations", n)
	}
}

// graphQLInterference is what user:1 is answered.
func graphQLInterference(t *testing.T, hidden, query string) string {
	t.Helper()
	e := openQuiet(t)
	defer e.Close(context.Background())
	for _, r := range mustExecute(t, owner(t, e), interferenceSchema+interferenceGraphQL+hidden) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	user, err := signIn(e, "record:acc:user:1")
	if err != nil {
		t.Fatal(err)
	}
	return string(askGraphQL(t, user, query, "").AppendJSON(nil))
}
