package daemon_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/internal/pb/rpcpb"
)

// wireCanary stands in every hidden place and in no statement: no byte that a low principal receives may have it.
const wireCanary = "Kq7canaryZx"

// wireRules are PERMISSIONS of a table, each with what makes a row hidden.
var wireRules = [][2]string{
	{"NONE", "open = false"}, {"WHERE open", "open = false"}, {"WHERE open = true AND n < 90", "open = true, n = 99"},
	{"WHERE owner = $auth", "owner = user:9"}, {"WHERE $auth IN owners", "owners = [user:9]"}, {"WHERE level + 1 < 5", "level = 'none'"},
	{"WHERE tags CONTAINS 'pub'", "tags = ['x']"}, {"WHERE fn::may(open)", "open = false"}, {"WHERE id.t = 'mine'", "open = true"},
}

var wireFields = []string{"PERMISSIONS NONE", "PERMISSIONS FOR select NONE", "PERMISSIONS FOR select WHERE false FOR update FULL",
	"PERMISSIONS FOR select WHERE 1 + word > 0", "PERMISSIONS FOR select WHERE $auth = user:9"}

// wireWorld draws a schema with hidden rows and fields, over HTTP.
func wireWorld(r *rand.Rand, ns string) string {
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format+";\n", args...) }
	add("DEFINE NAMESPACE %s; USE NS %s; DEFINE DATABASE d; USE DB d", ns, ns)
	add("DEFINE TABLE user PERMISSIONS FOR select WHERE id = $auth; CREATE user:1 SET pass = 'p'; CREATE user:9 SET pass = '%s'", wireCanary)
	add("DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE pass = $pass)")
	add("DEFINE USER ow ON DATABASE PASSWORD '%s' ROLES OWNER; DEFINE FUNCTION fn::may($x: any) { RETURN $x = true }", wireCanary)
	add("DEFINE FUNCTION fn::secret() { '%s' } PERMISSIONS NONE; DEFINE PARAM $hidden VALUE '%[1]s' PERMISSIONS NONE", wireCanary)
	add("DEFINE TABLE log PERMISSIONS FULL; DEFINE TABLE hid PERMISSIONS NONE; CREATE hid:1 SET c = '%s'", wireCanary)
	for _, tb := range []string{"p", "q", "e TYPE RELATION"} {
		name, _, _ := strings.Cut(tb, " ")
		rule := wireRules[r.IntN(len(wireRules))]
		add("DEFINE TABLE %s PERMISSIONS FOR select %s FOR update %s FOR delete %s FOR create %s", tb, rule[0], one("NONE", rule[0], rule[0]), one("NONE", rule[0]), one("NONE", "FULL"))
		add("DEFINE FIELD secret ON %s %s; DEFINE FIELD obj ON %[1]s TYPE option<object>; DEFINE FIELD obj.secret ON %[1]s %s", name, one(wireFields...), one(wireFields...))
		add("DEFINE FIELD items ON %s TYPE option<array>; DEFINE FIELD items.secret ON %[1]s %s", name, one(wireFields...))
		if r.IntN(2) == 0 {
			add("DEFINE INDEX s ON %s FIELDS secret %s; DEFINE INDEX n ON %[1]s FIELDS n", name, one("", "UNIQUE"))
		}
		add("DEFINE EVENT ev ON %s THEN { CREATE hid SET was = $before, is = $after }", name)
		shown := "open = true, n = 1, owner = user:1, owners = [user:1], level = 1, tags = ['pub'], obj = { a: 1, secret: '%[1]s' }, items = [{ a: 1, secret: '%[1]s' }], secret = '%[2]s%[1]s'"
		hidden := rule[1] + ", c = '%[1]s', obj = { c: '%[1]s' }, secret = '%[3]s%[1]s'"
		seen, gone := "CREATE "+name+":1", "CREATE "+name+":2"
		if name == "e" {
			seen, gone = "RELATE p:1->e:1->q:1", "RELATE p:1->e:2->hid:1"
		}
		add(seen+" SET "+shown, wireCanary, "a", "b")
		add(gone+" SET "+hidden, wireCanary, "a", "b")
	}
	return b.String()
}

// wireParts compose statements; no part has the canary.
var wireParts = map[string][]string{
	"table": {"p", "p", "q", "e", "hid", "user", "p:1", "p:2", "q:1", "e:1", "e:2", "hid:1", "user:9", "p:1->e->q", "p:1->e->?", "p:1->e"},
	"field": {"secret", "c", "obj", "obj.secret", "items", "items.secret", "items[0].secret", "*", "n", "owner", "->e->hid", "->e.out.c", "<-e.in.secret", "id", "@", "$this", "obj.*", "items.*.secret"},
	"cond":  {"{F} != NONE", "{F} > 'a'", "string::starts_with({F} ?? '', 'a')", "{THROW <string> {F}}", "1 / {F} > 0", "{F} = (SELECT VALUE secret FROM ONLY p:2)"},
	"text": {
		"SELECT * FROM {T}", "SELECT {F} AS x FROM {T}", "SELECT * FROM {T} WHERE {C}", "SELECT VALUE {F} FROM {T} ORDER BY secret", "SELECT count(), {F} AS x FROM {T} GROUP BY x",
		"SELECT array::group({F}) AS g FROM {T} GROUP ALL", "RETURN {T}.{F}", "UPDATE {T} SET m = {F} RETURN BEFORE", "UPDATE {T} SET m = secret RETURN m", "UPDATE {T} SET items[WHERE {C}].hit = 1 RETURN items", "UPDATE {T} MERGE { n: {F} } RETURN DIFF",
		"UPDATE {T} PATCH [{ op: 'copy', from: '/secret', path: '/m' }] RETURN AFTER", "UPSERT {T} SET secret = 'x' RETURN BEFORE", "DELETE {T} RETURN BEFORE", "CREATE p:2 SET n = 1", "INSERT INTO p { id: 2 } ON DUPLICATE KEY UPDATE m = secret RETURN m",
		"CREATE p SET secret = 'b' RETURN AFTER", "RELATE p:1->e:2->q:1", "INSERT RELATION INTO e { id: 2, in: p:1, out: q:1 }", "SELECT * FROM {T} FETCH out, in, owner", "SELECT *, (SELECT * FROM hid) AS h FROM {T}", "EXPLAIN ANALYZE SELECT * FROM {T} WHERE secret = 'a'",
		"FOR $x IN (SELECT * FROM {T}) { CREATE log SET v = $x }; SELECT * FROM log", "LET $x = (SELECT {F} AS y FROM {T}); RETURN encoding::json::encode($x)", "RETURN fn::secret()", "RETURN $hidden", "SHOW CHANGES FOR TABLE p SINCE 0", "INFO FOR DB", "INFO FOR TABLE p",
		"RETURN value::diff((SELECT * FROM p), [])", "BEGIN; UPDATE p:1 SET secret = {F}; SELECT * FROM p:1; CANCEL", "SELECT * FROM {T} SPLIT items", "RETURN record::exists(p:2)", "SELECT VALUE {F}.len() FROM {T}", "UPDATE {T} SET secret = <int> secret", "RETURN type::field('secret')",
	},
	"gql": {"MATCH (a) RETURN a", "MATCH (a:p)-[e]->(b) RETURN a, e, b", "MATCH (a:hid) RETURN a.c AS c", "MATCH (a:p) RETURN a.secret AS s ORDER BY a.secret", "MATCH p = (a)-[e]-{1,3}(b) RETURN p, collect_list(b.c) AS c", "MATCH (a:q) RETURN CAST(a.secret AS INT) AS s",
		"MATCH (a:p) SET a.m = a.secret RETURN a.m AS m", "MATCH (a) RETURN a.obj AS o, a.items AS i", "MATCH (a:p) RETURN EXISTS { (a)-[]->(:hid) } AS x", "MATCH (a) RETURN max(a.secret) AS m, min(a.c) AS c"},
}

func wireText(r *rand.Rand, kind string) string {
	text := wireParts[kind][r.IntN(len(wireParts[kind]))]
	for mark, of := range map[string]string{"{C}": "cond", "{T}": "table"} {
		for strings.Contains(text, mark) {
			text = strings.Replace(text, mark, wireParts[of][r.IntN(len(wireParts[of]))], 1)
		}
	}
	for strings.Contains(text, "{F}") {
		text = strings.Replace(text, "{F}", wireParts["field"][r.IntN(len(wireParts["field"]))], 1)
	}
	return text
}

// received runs a text over gRPC: all bytes of the frames, and of the status with its details.
func (c *rpcClient) received(headers []string, text string) string {
	ctx := c.s.t.Context()
	for _, h := range headers {
		name, v, _ := strings.Cut(h, ": ")
		ctx = metadata.AppendToOutgoingContext(ctx, strings.ToLower(name), v)
	}
	stream, err := c.Query(ctx, &rpcpb.QueryRequest{Query: text})
	var got []byte
	for err == nil {
		var f *rpcpb.QueryResponse
		if f, err = stream.Recv(); err != nil {
			break
		}
		if b := f.GetBatch(); b.GetStats() != nil && b.GetError() == nil {
			got = append(got, `"status":"OK"`...) // as the other doors say it
		}
		b, err := proto.Marshal(f)
		if err != nil {
			c.s.t.Fatal(err)
		}
		got = append(got, b...)
	}
	b, err := proto.Marshal(status.Convert(err).Proto())
	if err != nil {
		c.s.t.Fatal(err)
	}
	return string(append(got, b...))
}

// wireMCP asks by a tool of MCP, a resource or a completion, and says what it asked.
func wireMCP(r *rand.Rand, c *mcpClient, ns string) (asked, got string) {
	one := func(of string) string { return wireParts[of][r.IntN(len(wireParts[of]))] }
	meta := []any{"_meta", json.RawMessage(mcpMeta)}
	object := func(pairs ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i].(string)] = pairs[i+1]
		}
		return out
	}
	ask := func(method, name string, params map[string]any) (string, string) {
		b, err := json.Marshal(params)
		if err != nil {
			c.t.Fatal(err)
		}
		c.headers = append(c.headers, "Mcp-Method: "+method, "Mcp-Name: "+name)
		return "MCP " + method + " " + string(b), c.call(method, string(b)).raw
	}
	tool := func(name string, pairs ...any) (string, string) {
		return ask("tools/call", name, object(append(meta, "name", name, "arguments", object(pairs...))...))
	}
	table := []string{"p", "q", "e", "hid", "user", "log"}[r.IntN(6)]
	field := strings.TrimSpace(one("field"))
	switch r.IntN(14) {
	case 0:
		return tool("query", "query", wireText(r, "text"))
	case 1:
		return tool("gql", "query", wireText(r, "gql"))
	case 2:
		return tool("select", "target", one("table"), "fields", field+" AS x", "where_clause", strings.ReplaceAll(one("cond"), "{F}", field))
	case 3:
		return tool("select", "target", table, "fields", "count() AS n, "+field+" AS x", "group_clause", "x")
	case 4:
		return tool("select", "target", table, "order_clause", "secret", "fetch_clause", "out, in, owner, link")
	case 5:
		return tool("describe", "examples", 5, "max_tokens", 50_000)
	case 6:
		return tool("sample", "table", table, "count", 100)
	case 7:
		return tool("explain", "query", "SELECT * FROM "+table+" WHERE secret = 'a' AND "+strings.ReplaceAll(one("cond"), "{F}", field))
	case 8:
		return tool("run", "function", []string{"fn::secret", "fn::may", "type::record"}[r.IntN(3)], "args", []any{"hid:1"})
	case 9:
		return tool("update", "target", one("table"), "merge_data", object("m", object("$ql", "p:2")), "where_clause", strings.ReplaceAll(one("cond"), "{F}", field))
	case 10:
		return tool("list", "kind", []string{"fields", "functions", "params", "users", "tables"}[r.IntN(5)])
	case 11:
		return tool("info", "target", []string{"db", "ns", "root", table}[r.IntN(4)])
	case 12:
		uri := "surrealdb://schema/ns/" + ns + "/db/d" + []string{"", "/table/" + table}[r.IntN(2)]
		return ask("resources/read", uri, object(append(meta, "uri", uri)...))
	}
	return ask("completion/complete", "", object(append(meta, "ref", object("type", "ref/prompt", "name", "schema_explorer"),
		"argument", object("name", []string{"table", "function", "namespace", "database"}[r.IntN(4)], "value", ""))...))
}

// TestCanaryNeverCrossesTheWire draws schemas with permissions, and lets a guest and a record user ask of them on /sql, /gql, /key,
// /mcp, /rpc and over gRPC, and follow live queries over gRPC: no byte that they receive is of a hidden place. NACRE_INTERFERENCE asks so many statements.
func TestCanaryNeverCrossesTheWire(t *testing.T) {
	n := 400
	if text := os.Getenv("NACRE_INTERFERENCE"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	seed, _ := strconv.Atoi(os.Getenv("NACRE_INTERFERENCE_SEED"))
	s := start(t, unlimited, func(c *config.Config) { c.AllowGuests = true })
	const each = 40
	asked, answered, heard := 0, 0, 0
	for w := range max(1, n/each) {
		r := rand.New(rand.NewPCG(uint64(seed+w), 79))
		ns := fmt.Sprintf("n%d", w)
		world := wireWorld(r, ns)
		made := s.do("POST", "/sql", world, rootAuth, "Accept: application/json")
		if made.StatusCode != 200 || strings.Contains(made.body, `"status":"ERR"`) {
			t.Fatalf("%s\n%s", made.body, world)
		}
		place := []string{"Service-NS: " + ns, "Service-DB: d", "Accept: application/json"}
		var in struct{ Token string }
		signin := s.do("POST", "/signin", `{"ns":"`+ns+`","db":"d","ac":"acc","pass":"p"}`, "Accept: application/json").body
		if err := json.Unmarshal([]byte(signin), &in); err != nil || in.Token == "" {
			t.Fatal(signin)
		}
		principals := [][]string{nil, {"Authorization: Bearer " + in.Token}}
		var listeners []*wireEar
		for _, who := range principals {
			listeners = append(listeners, s.grpc().listen(r, append(append([]string{}, place...), who...), 6))
		}
		for _, who := range principals {
			headers := append(append([]string{}, place...), who...)
			k, calls := s.dial("json", headers...), s.grpc()
			for range each / 2 {
				text := wireText(r, "text")
				var got string
				switch r.IntN(8) {
				case 6, 7:
					text, got = wireMCP(r, s.mcp(append(headers, takesMCP, "MCP-Protocol-Version: 2026-07-28")...), ns)
				case 5:
					got = calls.received(headers, text)
				case 0:
					text = wireText(r, "gql")
					got = s.do("POST", "/gql", text, headers...).body
				case 1:
					b, err := json.Marshal(map[string]any{"id": 1, "method": "query", "params": []any{text}})
					if err != nil {
						t.Fatal(err)
					}
					got = k.say(string(b))
				case 2:
					text = "GET /key of " + wireParts["table"][r.IntN(5)]
					got = s.do("GET", "/key/"+strings.TrimPrefix(text, "GET /key of "), "", headers...).body
				default:
					got = s.do("POST", "/sql", text, headers...).body
				}
				asked++
				if strings.Contains(got, `"status":"OK"`) || strings.Contains(got, `"resultType":"complete"`) && !strings.Contains(got, `"isError":true`) {
					answered++
				}
				if strings.Contains(got, wireCanary) {
					t.Errorf("world %d, record user %v: %s\n%.600s\n%s", seed+w, who != nil, text, got, world)
				}
			}
			_, _ = k.conn.Close(), calls.conn.Close()
		}
		changed := s.do("POST", "/sql", "USE NS "+ns+" DB d; "+fmt.Sprintf(wireChanges, wireCanary), rootAuth, "Accept: application/json")
		if changed.StatusCode != 200 {
			t.Fatal(changed.body)
		}
		if got := s.do("POST", "/sql", "REMOVE NAMESPACE "+ns, rootAuth).body; strings.Contains(got, `"ERR"`) {
			t.Fatal(got)
		}
		for i, l := range listeners {
			got, texts, n, err := l.done()
			if err != nil {
				t.Error(err)
			}
			if heard += n; strings.Contains(got, wireCanary) {
				t.Errorf("world %d, principal %d: %q\n%.600q\n%s", seed+w, i, texts, got, world)
			}
		}
	}
	t.Logf("%d asked, %d answered, %d notifications", asked, answered, heard)
	if heard < n/each {
		t.Errorf("only %d notifications came", heard)
	}
	if answered < asked/3 {
		t.Errorf("only %d of %d were answered", answered, asked)
	}
	if strings.Contains(s.logs.String(), wireCanary+"'") {
		t.Error("the canary is in the log")
	}
}
