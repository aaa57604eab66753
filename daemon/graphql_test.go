package daemon_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon/config"
)

const graphQLSetup = `DEFINE CONFIG GRAPHQL AUTO; DEFINE TABLE note SCHEMAFULL PERMISSIONS FULL; DEFINE FIELD text ON note TYPE string;
	DEFINE FUNCTION fn::slow() -> int { SLEEP 10s; RETURN 1 }; CREATE note:1 SET text = 'a'; CREATE note:2 SET text = 'b'`

// Every answer of the route that is not that of an operation.
func TestGraphQLOverHTTP(t *testing.T) {
	s := start(t)
	const ask = `{"query":"{ notes { text } }"}`
	post := func(body string, headers ...string) reply { return s.do("POST", "/graphql", body, headers...) }
	root := "Authorization: Basic cm9vdDpyb290"
	inTest := []string{root, "Service-NS: test", "Service-DB: test"}
	check := func(name string, r reply, status int, body string) {
		t.Helper()
		if r.StatusCode != status || r.body != body || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got %d %s\nwant %d %s", name, r.StatusCode, r.body, status, body)
		}
	}
	failed := func(message string) string { return `{"data":null,"errors":[{"message":"` + message + `"}]}` }
	check("no namespace", post(ask, root), 400, failed("No namespace specified. Set the `surreal-ns` header on the request."))
	check("no database", post(ask, root, "Surreal-NS: test"), 400, failed("No database specified. Set the `surreal-db` header on the request."))
	check("unknown database", post(ask, root, "Service-NS: test", "Service-DB: nowhere"), 400, failed("GraphQL has not been configured for this database"))
	check("not configured", post("", inTest...), 400, failed("GraphQL has not been configured for this database"))
	setup(t, s, "DEFINE CONFIG GRAPHQL NONE")
	check("nothing exposed", post(ask, inTest...), 400,
		failed("Error generating schema: no items found in database: GraphQL requires at least one table or function"))
	setup(t, s, "REMOVE CONFIG GRAPHQL;"+graphQLSetup)
	check("a query", post(ask, inTest...), 200, `{"data":{"notes":[{"text":"a"},{"text":"b"}]}}`)
	check("of another media", post(ask, append(inTest, "Accept: multipart/mixed")...), 200, `{"data":{"notes":[{"text":"a"},{"text":"b"}]}}`)
	check("no JSON", post("{", inTest...), 400, failed("The body is not a GraphQL request in JSON"))
	check("no request", post(`{"a":1}`, inTest...), 400, failed("A GraphQL request is an object with the text `query`"))
	check("bad variables", post(`{"query":"{ a }","variables":[1]}`, inTest...), 400, failed("`variables` of a GraphQL request must be an object"))
	check("a subscription", post(`{"query":"subscription { note { id } }"}`, inTest...), 200,
		failed("Subscriptions require WebSocket transport on GET /graphql"))
	check("a batch", post(`[`+ask+`,{"query":"{ nope }"},{}]`, inTest...), 200, `[{"data":{"notes":[{"text":"a"},{"text":"b"}]}},`+
		`{"data":null,"errors":[{"message":"Unknown field \"nope\" on type \"Query\". Did you mean \"note\" or \"notes\"?","locations":[{"line":1,"column":3}]}]},`+
		failed("A GraphQL request is an object with the text `query`")+`]`)
	check("a large batch", post("["+strings.Repeat(ask+",", 32)+ask+"]", inTest...), 400, failed("A batch has at most 32 GraphQL requests"))
	check("nobody", post(ask, "Service-NS: test", "Service-DB: test"), 200,
		failed("Internal Error: Failed to execute query plan: Anonymous access not allowed: Not enough permissions to perform this action"))
	if r := post(ask, "Authorization: Basic eDp5", "Service-NS: test", "Service-DB: test"); r.StatusCode != 401 ||
		!strings.Contains(r.body, "There was a problem with authentication") {
		t.Errorf("bad credentials: %d %s", r.StatusCode, r.body)
	}
	if r := post(`{"query":"`+strings.Repeat("#", 1<<20)+`"}`, inTest...); r.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %d", r.StatusCode)
	}
	if r := post(`{"query":"`+strings.Repeat("#", 32<<10)+`"}`, "Service-NS: test", "Service-DB: test"); r.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body of nobody: %d", r.StatusCode)
	}
}

func TestGraphQLDeniedAndTimed(t *testing.T) {
	s := start(t, func(c *config.Config) {
		c.DenyRPC = names("graphql")
		c.QueryTimeout = 300 * time.Millisecond
	})
	setup(t, s, graphQLSetup)
	r := s.do("POST", "/graphql", `{"query":"{ fn_slow }"}`, at()...)
	if want := `{"data":null,"errors":[{"message":"The GraphQL request was not executed because it exceeded the timeout: 300ms"}]}`; r.StatusCode != 200 || r.body != want {
		t.Errorf("got %d %s", r.StatusCode, r.body)
	}
	r = s.do("POST", "/rpc", `{"method":"graphql","params":["{ notes { id } }"]}`, append(at(), "Content-Type: application/json")...)
	if !strings.Contains(r.body, "Method not allowed") {
		t.Errorf("got %s", r.body)
	}
}

// The RPC method takes its parameters one by one and as an object.
func TestGraphQLOverRPC(t *testing.T) {
	s := start(t)
	call := func(params string) string {
		return s.do("POST", "/rpc", `{"method":"graphql","params":`+params+`}`, append(at(), "Content-Type: application/json")...).body
	}
	if got := call(`["{ notes { id } }"]`); !strings.Contains(got, "GraphQL has not been configured for this database") || !strings.Contains(got, "-32606") {
		t.Errorf("got %s", got)
	}
	setup(t, s, graphQLSetup)
	const want = `{"result":{"data":{"note":{"text":"b"}}}}`
	for _, params := range []string{`["query($id: ID!) { note(id: $id) { text } }", {"id": 2}]`,
		`[{"query": "query a($id: ID!) { note(id: $id) { text } } query b { __typename }", "variables": {"id": "2"}, "operationName": "a"}, {"pretty": true}]`} {
		if got := call(params); got != want {
			t.Errorf("%s: got %s", params, got)
		}
	}
	if got := call(`["{ nope }"]`); !strings.Contains(got, `"errors":[{"locations":[{"column":3,"line":1}],"message":"Unknown field`) {
		t.Errorf("got %s", got)
	}
	if got := call(`[1]`); !strings.Contains(got, "InvalidParams") {
		t.Errorf("got %s", got)
	}
}
