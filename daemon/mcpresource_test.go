package daemon_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
)

// body is the text of the one content of resources/read, as JSON where it is.
func (c *mcpClient) body(uri string) (mime, text string, tree map[string]any) {
	c.t.Helper()
	got := c.call("resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
	contents, _ := got.Result["contents"].([]any)
	if len(contents) != 1 {
		c.t.Fatalf("%s: %s", uri, got.raw)
	}
	one := contents[0].(map[string]any)
	if one["uri"] != uri {
		c.t.Errorf("%s: answers %v", uri, one["uri"])
	}
	mime, _ = one["mimeType"].(string)
	text, _ = one["text"].(string)
	if mime == "application/json" {
		if err := json.Unmarshal([]byte(text), &tree); err != nil {
			c.t.Fatalf("%s: %v", uri, err)
		}
	}
	return mime, text, tree
}

// inner follows keys into a tree of JSON.
func inner(tree any, keys ...string) any {
	for _, k := range keys {
		o, _ := tree.(map[string]any)
		tree = o[k]
	}
	return tree
}

// TestMCPResources reads every resource of the sheet, whole, cut off and denied.
func TestMCPResources(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.MCPSchemaTables = 2 })
	s.setup(t, "DEFINE NAMESPACE n; USE NS n; DEFINE DATABASE d; USE DB d; DEFINE TABLE c; DEFINE TABLE a; DEFINE FIELD x ON a TYPE int; "+
		"DEFINE TABLE b; DEFINE FUNCTION fn::f() { 1 }; DEFINE TABLE `two words`; DEFINE FIELD y ON `two words` TYPE string; "+
		"DEFINE DATABASE few; USE DB few; DEFINE TABLE only")
	c := s.rootMCP(t)
	if mime, text, _ := c.body("surrealdb://instructions"); mime != "text/markdown" || !strings.Contains(text, "**describe**") {
		t.Errorf("instructions: %s %s", mime, text)
	}
	mime, _, info := c.body("surrealdb://info")
	if mime != "application/json" || info["name"] != "nacre" || info["protocol_version"] != "2025-11-25" || info["version"] == "" ||
		inner(info, "capabilities", "completions") != true {
		t.Errorf("info: %s %v", mime, info)
	}
	if mime, text, _ := c.body("surrealdb://version"); mime != "text/plain" || !strings.HasPrefix(text, "SurrealDB ") {
		t.Errorf("version: %s %s", mime, text)
	}
	_, _, cut := c.body("surrealdb://schema/ns/n/db/d")
	if tables, _ := inner(cut, "schema", "tables").(map[string]any); cut["truncated"] != true || cut["tables_truncated_at"] != 2. ||
		len(tables) != 2 || inner(tables, "a", "fields", "x") == nil || inner(tables, "a", "definition") == nil || tables["b"] == nil {
		t.Errorf("the first tables: %v", cut)
	}
	if inner(cut, "schema", "functions", "f") == nil {
		t.Errorf("functions: %v", cut)
	}
	_, _, few := c.body("nacre://schema/ns/n/db/few")
	if _, limited := few["tables_truncated_at"]; few["truncated"] != false || limited || inner(few, "schema", "tables", "only") == nil {
		t.Errorf("a small schema: %v", few)
	}
	_, _, table := c.body("surrealdb://schema/ns/n/db/d/table/two%20words")
	if table["table"] != "two words" || inner(table, "schema", "fields", "y") == nil || table["truncated"] != false {
		t.Errorf("a table: %v", table)
	}
	_, _, gone := c.body("surrealdb://schema/ns/n/db/none/table/a")
	if gone["error"] != "The database 'none' does not exist" || gone["kind"] != "NotFound" || gone["namespace"] != "n" || gone["table"] != "a" {
		t.Errorf("no database: %v", gone)
	}
	guest := s.mcp()
	guest.t = t
	if got := guest.call("initialize", mcpHello); got.status == 200 {
		guest.session = got.header("Mcp-Session-Id")
		if _, _, denied := guest.body("surrealdb://schema/ns/n/db/d"); denied["error"] == nil || denied["schema"] != nil {
			t.Errorf("a guest reads %v", denied)
		}
	}
}

// TestMCPPrompts gets every prompt, with and without its argument.
func TestMCPPrompts(t *testing.T) {
	c := start(t).rootMCP(t)
	for _, tc := range []struct{ name, arg, missing, asks string }{
		{"query_builder", "description", "", "explain"}, {"schema_explorer", "focus", "all", "tables"},
		{"data_modeler", "requirements", "", "DEFINE"}, {"transaction_guide", "goal", "", "COMMIT"},
		{"graph_traversal", "scenario", "", "RELATE"}, {"search_guide", "use_case", "", "ANALYZER"},
	} {
		text := func(args string) string {
			got := c.call("prompts/get", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tc.name, args))
			list, _ := got.Result["messages"].([]any)
			if len(list) != 1 || got.Result["description"] == "" || inner(list[0], "role") != "user" || inner(list[0], "content", "type") != "text" {
				t.Fatalf("%s: %s", tc.name, got.raw)
			}
			text, _ := inner(list[0], "content", "text").(string)
			return text
		}
		const canary = "count \"birds\" {} of ns"
		given, _ := json.Marshal(map[string]string{tc.arg: canary})
		if got := text(string(given)); !strings.Contains(got, canary) || !strings.Contains(got, tc.asks) {
			t.Errorf("%s: %s", tc.name, got)
		}
		without := text(`{}`)
		if strings.Contains(without, "{}") || tc.missing != "" && !strings.Contains(without, "Focus: "+tc.missing+"\n") {
			t.Errorf("%s without its argument: %s", tc.name, without)
		}
	}
	if got := c.call("prompts/get", `{"name":"data_modeler","arguments":{"requirements":1}}`); got.Error == nil || got.Error.Code != -32602 {
		t.Errorf("a number as argument: %s", got.raw)
	}
}

// TestMCPCompletion offers names by prefix, at most a hundred, of the place that the request names, and only where the
// client may see them.
func TestMCPCompletion(t *testing.T) {
	s := start(t)
	var many strings.Builder
	for i := range 120 {
		fmt.Fprintf(&many, "DEFINE TABLE m%03d;", i)
	}
	s.setup(t, "DEFINE NAMESPACE n; USE NS n; DEFINE DATABASE d; DEFINE DATABASE e; USE DB d; DEFINE TABLE person; DEFINE TABLE place; "+
		"DEFINE FUNCTION fn::price() { 1 }; USE DB e; "+many.String())
	c := s.rootMCP(t, "Service-NS: n", "Service-DB: d")
	for _, tc := range []struct{ ref, arg, context, values string }{
		{`{"type":"ref/prompt","name":"schema_explorer"}`, `{"name":"focus","value":"p"}`, `{}`, `["person","place"]`},
		{`{"type":"ref/resource","uri":"surrealdb://schema/ns/{namespace}/db/{database}/table/{table}"}`, `{"name":"table","value":"per"}`, `{}`, `["person"]`},
		{`{"type":"ref/resource","uri":"x"}`, `{"name":"namespace","value":"n"}`, `{}`, `["n"]`},
		{`{"type":"ref/resource","uri":"x"}`, `{"name":"database","value":""}`, `{"arguments":{"namespace":"n"}}`, `["d","e"]`},
		{`{"type":"ref/resource","uri":"x"}`, `{"name":"table","value":"m00"}`, `{"arguments":{"namespace":"n","database":"e"}}`,
			`["m000","m001","m002","m003","m004","m005","m006","m007","m008","m009"]`},
		{`{"type":"ref/prompt","name":"x"}`, `{"name":"function","value":"fn::p"}`, `{}`, `["fn::price"]`},
		{`{"type":"ref/prompt","name":"x"}`, `{"name":"target","value":"zz"}`, `{}`, `[]`},
		{`{"type":"ref/prompt","name":"x"}`, `{"name":"unknown","value":""}`, `{}`, `[]`},
		{`{"type":"ref/prompt","name":"x"}`, `{"name":"table","value":""}`, `{"arguments":{"namespace":"none","database":"none"}}`, `[]`},
	} {
		got := c.call("completion/complete", fmt.Sprintf(`{"ref":%s,"argument":%s,"context":%s}`, tc.ref, tc.arg, tc.context))
		values, _ := json.Marshal(inner(got.Result, "completion", "values"))
		if string(values) != tc.values || inner(got.Result, "completion", "hasMore") != false {
			t.Errorf("%s %s: %s", tc.arg, tc.context, got.raw)
		}
	}
	got := c.call("completion/complete", `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"table","value":"m"},"context":{"arguments":{"database":"e"}}}`)
	if values, _ := inner(got.Result, "completion", "values").([]any); len(values) != 100 || inner(got.Result, "completion", "total") != 120. ||
		inner(got.Result, "completion", "hasMore") != true {
		t.Errorf("many: %s", got.raw)
	}
}

// TestMCPDescribeBudget holds describe to its number of tokens, of four bytes each: every table is named before any is told more of.
func TestMCPDescribeBudget(t *testing.T) {
	s := start(t)
	var setup strings.Builder
	setup.WriteString("DEFINE NAMESPACE n; USE NS n; DEFINE DATABASE d; USE DB d;")
	for i := range 60 {
		fmt.Fprintf(&setup, "DEFINE TABLE table%02d; DEFINE FIELD name ON table%02d TYPE string; CREATE table%02d:1 SET name = string::repeat('x', 200);", i, i, i)
	}
	s.setup(t, setup.String())
	c := s.rootMCP(t, "Service-NS: n", "Service-DB: d")
	last := 0
	for _, tokens := range []int{100, 400, 1000, 2000, 10_000, 50_000} {
		text := c.ok("describe", fmt.Sprintf(`{"max_tokens":%d,"examples":1}`, tokens))
		if len(text) > tokens*4 {
			t.Errorf("%d tokens: %d bytes", tokens, len(text))
		}
		if len(text) < last {
			t.Errorf("%d tokens tell less than fewer do", tokens)
		}
		last = len(text)
		var told struct {
			Tables []struct {
				Name     string
				Examples []any
			}
			More      int `json:"more_tables"`
			Truncated bool
			Hint      string
		}
		if err := json.Unmarshal([]byte(text), &told); err != nil {
			t.Fatal(err)
		}
		if len(told.Tables)+told.More != 60 || told.Truncated != (tokens < 10_000) || told.Truncated != (told.Hint != "") {
			t.Errorf("%d tokens: %d tables and %d more, truncated %v, %q", tokens, len(told.Tables), told.More, told.Truncated, told.Hint)
		}
		if whole := len(told.Tables) > 59 && told.Tables[59].Examples != nil; whole == told.Truncated {
			t.Errorf("%d tokens: the last table is whole: %v", tokens, whole)
		}
	}
}
