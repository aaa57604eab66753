package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

const graphQLLists = `DEFINE CONFIG GRAPHQL AUTO; DEFINE TABLE who SCHEMAFULL; DEFINE FIELD name ON who TYPE string;
	DEFINE TABLE item SCHEMAFULL; DEFINE FIELD n ON item TYPE int; DEFINE FIELD a ON item TYPE string;
	DEFINE FIELD b ON item TYPE string; DEFINE FIELD c ON item TYPE string; DEFINE FIELD by ON item TYPE record<who>;
	DEFINE FIELD more ON item TYPE array<record<who>>; DEFINE TABLE likes TYPE RELATION FROM who TO item SCHEMAFULL;
	FOR $i IN 0..10 { CREATE type::record('who', $i) SET name = <string> $i };
	FOR $i IN 0..100 { CREATE type::record('item', $i) SET n = $i, a = 'a', b = 'b', c = 'c', by = type::record('who', $i % 10),
		more = [who:1, who:2, type::record('who', $i % 10)];
	RELATE (type::record('who', $i % 10))->likes->(type::record('item', $i)) };`

// keysRead counts the keys that transactions read.
type keysRead struct {
	mu sync.Mutex
	n  uint64
}

func (k *keysRead) Count(w *txn.Work) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.n += w.KeysRead
}

// Links and edges of a list are fetched together: the number of statements does not depend on that of rows, and each record
// behind them is read once.
func TestGraphQLReadsListsTogether(t *testing.T) {
	meter := &keysRead{}
	e, s := graphQLDatabase(t, engine.Options{Meter: meter}, "")
	mustRun(t, s, graphQLLists)
	_ = e
	for _, tc := range []struct {
		query string
		plans int
		keys  uint64 // at most
	}{
		{`{ items { n } }`, 1, 120},
		{`{ items { n by { name } } }`, 2, 130},
		{`{ items { n by { name } more { name } } }`, 3, 140},
		{`{ items(limit: 7) { n by { name } } }`, 2, 40},
		{`{ whos { name likes { out { n by { name } } } } }`, 5, 400},
		{`{ items(filter: {id: {eq: "item:5"}}) { by { name } } }`, 2, 25},
		{`{ itemsConnection(first: 3) { edges { node { by { name } } } } }`, 2, 30},
	} {
		askGraphQL(t, s, tc.query, "") // the catalog is warm then
		before := meter.n
		resp := askGraphQL(t, s, tc.query, "")
		if read := meter.n - before; resp.Plans != tc.plans || read > tc.keys || len(resp.Errors) > 0 {
			t.Errorf("%s: %d statements, want %d; %d keys, want %d at most; %v", tc.query, resp.Plans, tc.plans, read, tc.keys, resp.Errors)
		}
	}
}

// All root fields of a query read one snapshot.
func TestGraphQLReadsOneSnapshot(t *testing.T) {
	e, s := graphQLDatabase(t, engine.Options{}, "")
	mustRun(t, s, `DEFINE CONFIG GRAPHQL AUTO; DEFINE TABLE a; DEFINE FIELD n ON a TYPE int; DEFINE TABLE b; DEFINE FIELD n ON b TYPE int;
		CREATE a:1 SET n = 0; CREATE b:1 SET n = 0`)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w := e.SessionAs(auth.RootOwner(), "main", "main")
		for range 200 {
			if _, err := w.Execute(context.Background(), "BEGIN; UPDATE a:1 SET n += 1; UPDATE b:1 SET n += 1; COMMIT", nil); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		got := string(askGraphQL(t, s, `{ a(id: 1) { n } b(id: 1) { n } }`, "").Data)
		var x, y int
		if n, err := fmt.Sscanf(got, `{"a":{"n":%d},"b":{"n":%d}}`, &x, &y); n != 2 || x != y {
			t.Fatalf("two states: %s %v", got, err)
		}
	}
}

// A field that fails leaves nothing behind, and does not undo the fields before it.
func TestGraphQLMutationsAreTransactions(t *testing.T) {
	_, s := graphQLDatabase(t, engine.Options{}, "")
	mustRun(t, s, `DEFINE CONFIG GRAPHQL AUTO; DEFINE TABLE a SCHEMAFULL; DEFINE FIELD n ON a TYPE int ASSERT $value < 10;
		DEFINE TABLE log; DEFINE EVENT e ON a THEN (CREATE log SET of = $after.id);
		DEFINE FUNCTION fn::writes($n: int) -> int { CREATE a SET n = $n; IF $n = 3 { THROW 'three' }; RETURN $n }`)
	count := func(want int64) {
		t.Helper()
		for _, table := range []string{"a", "log"} {
			res := mustRun(t, s, "RETURN count(SELECT * FROM "+table+")")
			if got := res[0].Value.Int(); got != want {
				t.Errorf("%d records of %s, want %d", got, table, want)
			}
		}
	}
	resp := askGraphQL(t, s, `mutation { x: createA(data: {n: 1}) { n } y: createA(data: {n: 11}) { n } z: createA(data: {n: 2}) { n } }`, "")
	if string(resp.Data) != `{"x":{"n":1},"y":null,"z":{"n":2}}` || len(resp.Errors) != 1 {
		t.Errorf("%s", resp.AppendJSON(nil))
	}
	count(2)
	resp = askGraphQL(t, s, `mutation { createManyAs: createAs(data: [{n: 3}, {n: 12}, {n: 4}]) { n } }`, "")
	if string(resp.Data) != "null" || len(resp.Errors) != 1 || fmt.Sprint(resp.Errors[0].Path) != "[createManyAs 1]" {
		t.Errorf("%s", resp.AppendJSON(nil))
	}
	count(3)
	if got := string(askGraphQL(t, s, `{ fn_writes(n: 7) }`, "").Data); got != `{"fn_writes":7}` {
		t.Errorf("a function that writes: %s", got)
	}
	count(4)
	if resp := askGraphQL(t, s, `{ fn_writes(n: 3) }`, ""); len(resp.Errors) != 1 {
		t.Errorf("a function that throws: %s", resp.AppendJSON(nil))
	}
	count(4)
}

// TestGraphQLSchemas builds schemas of odd names, and says what is wrong with those that cannot be.
func TestGraphQLSchemas(t *testing.T) {
	for _, tc := range []struct{ ddl, query, want string }{
		{"DEFINE TABLE store; DEFINE TABLE stores", "", "GraphQL naming collision on `stores` — table `stores` and table `store` produce the same query field. " +
			"Set an explicit `GRAPHQL_ALIAS` on the table."},
		{"DEFINE TABLE PageInfo", "", "GraphQL naming collision on type `PageInfo` — table `PageInfo` and built-in type `PageInfo`"},
		{"DEFINE TABLE a GRAPHQL_ALIAS 'X'; DEFINE TABLE b GRAPHQL_ALIAS 'X'", "", "naming collision on type `X`"},
		{"DEFINE TABLE person; CREATE person:1", "{ persons { id } people { id } person(id: 1) { id } people_aggregate { count } }",
			`{"persons":[{"id":"person:1"}],"people":[{"id":"person:1"}],"person":{"id":"person:1"},"people_aggregate":[{"count":1}]}`},
		{"DEFINE TABLE likes; CREATE likes:a", `{ likes { id } _get_likes(id: "a") { id } }`, `{"likes":[{"id":"likes:a"}],"_get_likes":{"id":"likes:a"}}`},
		{"DEFINE TABLE `user-profile`; DEFINE FIELD `a-b` ON `user-profile` TYPE int; CREATE `user-profile`:1 SET `a-b` = 1",
			"{ userProfiles { a_b __typename } }", `{"userProfiles":[{"a_b":1,"__typename":"user_profile"}]}`},
		{"DEFINE TABLE c GRAPHQL_ALIAS 'Customer'; DEFINE FIELD n ON c TYPE int GRAPHQL_ALIAS 'total'; CREATE c:1 SET n = 2",
			"{ customers(order: {asc: total}, filter: {total: {gt: 1}}) { ... on c { total } } Customer(id: 1) { id } }",
			`{"customers":[{"total":2}],"Customer":{"id":"c:1"}}`},
		{"DEFINE FUNCTION fn::a::b($x: int) -> array<int> { [$x] }", "{ fn_a_b(x: 3) }", `{"fn_a_b":[3]}`},
		{"DEFINE TABLE g; DEFINE FIELD p ON g TYPE geometry; CREATE g:1 SET p = (1, 2)",
			"{ gs { p { ... on GeometryPoint { type coordinates } } } }", `{"gs":[{"p":{"type":"Point","coordinates":[1.0,2.0]}}]}`},
		{"DEFINE TABLE x; DEFINE FIELD b ON x TYPE bytes; DEFINE FIELD d ON x TYPE datetime; DEFINE FIELD o ON x TYPE object; " +
			"CREATE x:1 SET b = <bytes> 'hi', d = d'2024-01-01T00:00:00Z', o = { l: x:1, n: 1.5dec }",
			"{ xes { b d o } }", `{"xes":[{"b":"aGk=","d":"2024-01-01T00:00:00+00:00","o":{"l":"x:1","n":"1.5"}}]}`},
	} {
		_, s := graphQLDatabase(t, engine.Options{}, "")
		mustRun(t, s, "DEFINE CONFIG GRAPHQL AUTO; "+tc.ddl)
		g, err := s.GraphQL(context.Background())
		if tc.query == "" {
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v", tc.ddl, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.ddl, err)
			continue
		}
		resp, err := g.Execute(context.Background(), &engine.GraphQLRequest{Query: tc.query})
		if err != nil || string(resp.Data) != tc.want || len(resp.Errors) > 0 {
			t.Errorf("%s: got %s %v", tc.query, resp.AppendJSON(nil), err)
		}
	}
}

// What is nested too deep, or names too much, is refused before it is looked at.
func TestGraphQLLimits(t *testing.T) {
	_, s := graphQLDatabase(t, engine.Options{}, "")
	mustRun(t, s, graphQLLists+`DEFINE CONFIG OVERWRITE GRAPHQL AUTO DEPTH 3 COMPLEXITY 20`)
	deep := func(n int, open, inner string) string {
		return strings.Repeat(open, n) + inner + strings.Repeat("}", n)
	}
	for _, tc := range []struct{ query, want string }{
		{`{ items { by { name } } }`, ""},
		{`{ whos { likes { out { n } } } }`, "Query is nested too deep."},
		{`{ whos { ...a } } fragment a on who { likes { ...b } } fragment b on likes { out { n } }`, "Query is nested too deep."},
		{`mutation { createWho(data: {name: "x"}) { likes { out { by { name } } } } }`, "Query is nested too deep."},
		{`{ items { ` + strings.Repeat("n ", 19) + `} }`, ""},
		{`{ items { ` + strings.Repeat("n ", 20) + `} }`, "Query is too complex."},
		{`{ __schema { types { fields { type { ofType { ofType { ofType { name } } } } } } } }`, ""}, // reads no records
		{deep(40, "{ whos ", "{ name }"), "Query is nested too deep."},
		{deep(5000, "{ whos ", "{ name }"), "nest"},
		{`{ items { ` + strings.Repeat("a: n ", 300) + `} }`, "Query is too complex."},
		{`query a { __typename } query b { ` + strings.Repeat("x: __typename ", 300) + `}`, "Query has too many aliases."},
		{`{ items(filter: ` + deep(60, "{ not: ", `{ n: { eq: 1 } }`) + `) { n } }`, ""},
		{`{ items(filter: ` + deep(3000, "{ not: ", `{ n: { eq: 1 } }`) + `) { n } }`, "nest"},
		{`{ items(filter: { id: { in: [` + strings.Repeat(`"item:1" `, 1001) + `] } }) { n } }`,
			"Error resolving request: `id.in` accepts at most 1000 IDs (got 1001)"},
		{`{ ` + strings.Repeat("#\n", 10) + strings.Repeat("items ", 30000) + `}`, "token"},
	} {
		g, err := s.GraphQL(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		resp, err := g.Execute(context.Background(), &engine.GraphQLRequest{Query: tc.query, Operation: map[bool]string{true: "a"}[strings.HasPrefix(tc.query, "query a")]})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(resp.Errors) > 0 {
			got = resp.Errors[0].Error()
		}
		if (tc.want == "") != (got == "") || !strings.Contains(strings.ToLower(got), strings.ToLower(tc.want)) {
			t.Errorf("%.80s: got %q, want %q", tc.query, got, tc.want)
		}
	}
}

// FuzzGraphQL runs requests of any text over the worked example: no panic, no answer that is not JSON, no endless work.
func FuzzGraphQL(f *testing.F) {
	_, s := graphQLDatabase(f, engine.Options{}, "testdata/graphql/worked.surql")
	for _, line := range worked(f) {
		f.Add(line, `{"m":1,"f":{"pages":{"gt":1}},"id":"book:1"}`)
	}
	f.Add(`query($f: _filter_book, $id: ID!) { books(filter:$f) { id } book(id:$id) { id } }`, `{"f":{"or":[{"id":{"in":["book:1"]}}]},"id":"1"}`)
	f.Add(`{ __schema { types { ...t } } } fragment t on __Type { name fields(includeDeprecated:true) { args { defaultValue } } }`, `{}`)
	f.Fuzz(func(t *testing.T, query, vars string) {
		req := &engine.GraphQLRequest{Query: query}
		if v, err := value.DecodeJSONValue([]byte(vars), value.DecodeLimits{}); err == nil && v.Kind() == value.KindObject {
			req.Variables = v.Object()
		}
		g, err := s.GraphQL(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(query, "mutation") { // the data stays
			resp, err := g.Execute(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := value.DecodeJSONValue(resp.AppendJSON(nil), value.DecodeLimits{}); err != nil {
				t.Fatalf("%q: %v: %s", query, err, resp.AppendJSON(nil))
			}
		}
	})
}

// BenchmarkGraphQLSchema builds the schema of 300 tables with 20 fields each.
func BenchmarkGraphQLSchema(b *testing.B) {
	_, s := graphQLDatabase(b, engine.Options{}, "")
	var ddl strings.Builder
	ddl.WriteString("DEFINE CONFIG GRAPHQL AUTO;")
	for i := range 300 {
		fmt.Fprintf(&ddl, "DEFINE TABLE t%d SCHEMAFULL;", i)
		for j := range 20 {
			kind := []string{"int", "string", "option<float>", "datetime", fmt.Sprintf("option<record<t%d>>", (i+j)%300)}[j%5]
			fmt.Fprintf(&ddl, "DEFINE FIELD f%d ON t%d TYPE %s;", j, i, kind)
		}
	}
	mustRun(b, s, ddl.String())
	for b.Loop() {
		mustRun(b, s, "DEFINE TABLE OVERWRITE t0 SCHEMAFULL")
		if _, err := s.GraphQL(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGraphQLList lists 100 rows with 5 fields and a link, and the same by a SELECT that is encoded as RPC does.
func BenchmarkGraphQLList(b *testing.B) {
	_, s := graphQLDatabase(b, engine.Options{}, "")
	mustRun(b, s, graphQLLists)
	b.Run("graphql", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g, err := s.GraphQL(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			resp, err := g.Execute(context.Background(), &engine.GraphQLRequest{Query: `{ items { id n a b c by { name } } }`})
			if err != nil || len(resp.Errors) > 0 {
				b.Fatal(err)
			}
		}
	})
	b.Run("select", func(b *testing.B) {
		b.ReportAllocs()
		var out []byte
		for b.Loop() {
			res, err := s.Execute(context.Background(), "SELECT id, n, a, b, c, by.name FROM item", nil)
			if err != nil || res[0].Err != nil {
				b.Fatal(err)
			}
			out = value.AppendJSON(out[:0], res[0].Value)
		}
	})
}

// BenchmarkGraphQLEvents tells 500 subscribers, of a user each or of one user, of a change: an operation is a change that all
// of them have read.
func BenchmarkGraphQLEvents(b *testing.B) {
	for _, query := range []string{"subscription { item { id n a b c } }", "subscription { item { id n by { name } } }"} {
		b.Run(map[bool]string{false: "fields", true: "link"}[strings.Contains(query, "by")], func(b *testing.B) {
			e, s := graphQLDatabase(b, engine.Options{}, "")
			mustRun(b, s, graphQLLists)
			told := make(chan struct{}, 500)
			ctx, cancel := context.WithCancel(context.Background())
			var all sync.WaitGroup
			defer all.Wait()
			defer cancel()
			for range cap(told) {
				reader := e.SessionAs(auth.RootOwner(), "main", "main")
				g, err := reader.GraphQL(ctx)
				if err != nil {
					b.Fatal(err)
				}
				sub, resp, err := g.Subscribe(ctx, &engine.GraphQLRequest{Query: query}, 16)
				if err != nil || sub == nil {
					b.Fatal(err, resp)
				}
				all.Go(func() {
					defer sub.Close()
					for {
						if _, ok := sub.Next(ctx); !ok {
							return
						}
						told <- struct{}{}
					}
				})
			}
			b.ReportAllocs()
			for b.Loop() {
				mustRun(b, s, "UPDATE item:1 SET n += 1")
				for range cap(told) {
					<-told
				}
			}
		})
	}
}

// Subscribers who are told the same share its answer; each gets that of its own operation, variables and rights.
func TestGraphQLEventsAreShared(t *testing.T) {
	e, s := graphQLDatabase(t, engine.Options{}, "")
	mustRun(t, s, `DEFINE CONFIG GRAPHQL AUTO; DEFINE TABLE t PERMISSIONS FULL; DEFINE FIELD n ON t TYPE int;
		DEFINE FIELD s ON t TYPE option<int> PERMISSIONS FOR select WHERE $auth = NONE; CREATE t:1 SET n = 0, s = 5, by = seen:1;
		DEFINE TABLE seen PERMISSIONS FULL; DEFINE FIELD s ON seen TYPE option<int> PERMISSIONS FOR select WHERE $auth = NONE;
		DEFINE FIELD token ON seen TYPE option<int> PERMISSIONS FOR select WHERE $token.ID = NONE;
		DEFINE FIELD session ON seen TYPE option<int> PERMISSIONS FOR select WHERE $session.ac != "acc" OR $session.tk.ID = "user:1";
		CREATE seen:1 SET s = 5, token = 6, session = 7; DEFINE FIELD by ON t TYPE record<seen>;
		DEFINE TABLE user; CREATE user:1, user:2; DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE id = $who)`)
	const varied = "subscription($x: Boolean!) { t { n s @include(if: $x) } }"
	var users [3]*engine.Session
	for i, who := range []int64{1, 1, 2} {
		users[i] = e.Session()
		if err := users[i].Use(t.Context(), new("main"), new("main")); err != nil {
			t.Fatal(err)
		}
		params := value.NewObject(value.Field{Name: "NS", Value: value.Str("main")}, value.Field{Name: "DB", Value: value.Str("main")},
			value.Field{Name: "AC", Value: value.Str("acc")}, value.Field{Name: "who", Value: value.Record("user", value.Int(who))})
		if _, err := users[i].Signin(t.Context(), params); err != nil {
			t.Fatal(err)
		}
	}
	mustRun(t, s, "DEFINE FIELD one ON seen TYPE option<int> PERMISSIONS FOR select WHERE $session.id = "+
		value.UUIDOf(users[0].ID()).Text()+"; UPDATE seen:1 SET one = 8")
	const linked = "subscription { t { by { s token session one } } }"
	subs := map[*engine.GraphQLSubscription]string{}
	for _, tc := range []struct {
		as          *engine.Session
		query, with string
		want        string
	}{
		{nil, "subscription { t { n } }", "", `{"t":{"n":1}}`},
		{nil, "subscription { t { n } }", "", `{"t":{"n":1}}`},
		{nil, "subscription { t { x: n } }", "", `{"t":{"x":1}}`},
		{nil, "subscription { t { n s } }", "", `{"t":{"n":1,"s":5}}`},
		{users[0], "subscription { t { n s } }", "", `{"t":{"n":1,"s":null}}`},
		{nil, linked, "", `{"t":{"by":{"s":5,"token":6,"session":7,"one":8}}}`},
		{nil, linked, "", `{"t":{"by":{"s":5,"token":6,"session":7,"one":8}}}`},
		{users[0], linked, "", `{"t":{"by":{"s":null,"token":null,"session":7,"one":8}}}`},
		{users[1], linked, "", `{"t":{"by":{"s":null,"token":null,"session":7,"one":null}}}`},
		{users[2], linked, "", `{"t":{"by":{"s":null,"token":null,"session":null,"one":null}}}`},
		{nil, varied, "true", `{"t":{"n":1,"s":5}}`},
		{nil, varied, "false", `{"t":{"n":1}}`},
	} {
		if tc.as == nil {
			tc.as = e.SessionAs(auth.RootOwner(), "main", "main")
		}
		req := &engine.GraphQLRequest{Query: tc.query}
		if tc.with != "" {
			req.Variables = value.NewObject(value.Field{Name: "x", Value: value.Bool(tc.with == "true")})
		}
		g, err := tc.as.GraphQL(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sub, resp, err := g.Subscribe(t.Context(), req, 4)
		if err != nil || sub == nil {
			t.Fatalf("%s: %v, %v", tc.query, resp, err)
		}
		defer sub.Close()
		subs[sub] = tc.want
	}
	mustRun(t, s, "UPDATE t:1 SET n = 1")
	for sub, want := range subs {
		if resp, ok := sub.Next(t.Context()); !ok || string(resp.Data) != want {
			t.Errorf("got %s, want %s", resp.Data, want)
		}
	}
}
