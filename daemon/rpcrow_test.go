package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
)

const (
	uuidText = `u?['"][0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}['"]`
	tokenRE  = `['"]ey[\w-]+\.[\w-]+\.[\w-]+['"]`
	params   = "-32603 Validation/InvalidParams "
)

// pairRE is {access, refresh}, in either format.
const pairRE = `\{ ?"?access"?: ?` + tokenRE + `, ?"?refresh"?: ?['"]surreal-refresh-\w{12}-\w{24}['"] ?\}`

// methodRows are the rows of the table "RPC methods", by method and what is special.
func methodRows() []rpcRow {
	const people = "DEFINE TABLE person; DEFINE TABLE knows TYPE RELATION; CREATE person:1 SET a = 1; CREATE person:2 SET a = 2"
	const access = "DEFINE USER u ON DATABASE PASSWORD 'p' ROLES EDITOR; DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNUP (CREATE user SET n = $n) SIGNIN (SELECT * FROM user WHERE n = $n);" +
		"DEFINE ACCESS pair ON DATABASE TYPE RECORD SIGNUP (CREATE user SET n = $n) SIGNIN (SELECT * FROM user WHERE n = $n) WITH REFRESH; DEFINE TABLE user PERMISSIONS FULL"
	return []rpcRow{
		{key: "authenticate", setup: access, steps: []step{
			{method: "signin", params: "{ NS: {place}, DB: {place}, user: 'u', pass: 'p' }", want: "MATCH " + tokenRE, save: "token"},
			{method: "invalidate"}, {method: "authenticate", params: "{token}", want: "NONE"},
			{method: "query", params: "'RETURN 1'", want: "1"},
			{method: "authenticate", params: "'no.such.token'", want: "ERR -32002 NotAllowed/Auth/InvalidAuth There was a problem with authentication"},
			{method: "authenticate", want: "ERR " + params + "Expected (token:string)"},
			{method: "authenticate", params: "1", want: "ERR " + params + "Expected (token:string)"}}},
		{key: "begin", only: "WS", steps: []step{{method: "begin", want: "MATCH " + uuidText}}},
		{key: "commit", only: "WS", setup: people, steps: []step{
			{method: "begin", save: "tx"}, {method: "create", params: "person:3, { a: 3 }", txn: "tx", want: "{ a: 3, id: person:3 }"},
			{method: "select", params: "person:3", want: "NONE"}, {method: "select", params: "person:3", txn: "tx", want: "{ a: 3, id: person:3 }"},
			{method: "commit", params: "{tx}", want: "NONE"}, {method: "select", params: "person:3", want: "{ a: 3, id: person:3 }"},
			{method: "commit", params: "{tx}", want: "ERR -32000 NotFound/Transaction Transaction not found"},
			{method: "commit", want: "ERR " + params + "Expected transaction UUID"}, {method: "commit", params: "'x'", want: "ERR " + params + "Expected transaction UUID"}}},
		{key: "commit, the id in txn instead of params", only: "WS", steps: []step{
			{method: "begin", save: "tx"}, {method: "commit", txn: "tx", want: "ERR " + params + "Expected transaction UUID"}, {method: "commit", params: "{tx}", want: "NONE"}}},
		{key: "cancel", only: "WS", setup: people, steps: []step{
			{method: "begin", save: "tx"}, {method: "delete", params: "person:1", txn: "tx", want: "{ a: 1, id: person:1 }"},
			{method: "cancel", params: "{tx}", want: "NONE"}, {method: "select", params: "person:1", want: "{ a: 1, id: person:1 }"},
			{method: "cancel", params: "{tx}", want: "ERR -32000 NotFound/Transaction Transaction not found"},
			{method: "cancel", want: "ERR " + params + "Expected transaction UUID"}}},
		{key: "create, a table", setup: people, steps: []step{
			{method: "create", params: "'person', { b: 1 }", want: "MATCH \\{ ?\"?b\"?: ?1, ?\"?id\"?: ?\"?person:generated\"? ?\\}"},
			{method: "create", want: "ERR " + params + "Expected (what:Value, data:Value)"}, {method: "create", params: "'a', {}, {}, {}", want: "ERR " + params + "Expected (what:Value, data:Value)"}}},
		{key: "create, a table value", only: "WS CBOR", setup: people, steps: []step{{method: "create", params: "'table person', { b: 1 }", want: "[{ b: 1, id: person:generated }]"}}},
		{key: "create, a record id", setup: people, steps: []step{
			{method: "create", params: "person:9, { b: 1 }", want: "{ b: 1, id: person:9 }"}, {method: "create", params: "person:8", want: "{ id: person:8 }"},
			{method: "create", params: "person:9, {}", want: "ERR -32000 AlreadyExists/Record Database record `person:9` already exists"}}},
		{key: "delete, a record id", setup: people, steps: []step{
			{method: "delete", params: "person:1", want: "{ a: 1, id: person:1 }"}, {method: "delete", params: "person:1", want: "NONE"},
			{method: "delete", want: "ERR " + params + "Expected (what:Value)"}}},
		{key: "delete, a table", setup: people, steps: []step{
			{method: "delete", params: "'person'", want: "[{ a: 1, id: person:1 }, { a: 2, id: person:2 }]"}, {method: "select", params: "'person'", want: "[]"},
			{method: "delete", params: "'nope'", want: "ERR -32000 NotFound/Table The table 'nope' does not exist"}}},
		{key: "info", setup: access, steps: []step{
			{method: "info", want: "NONE"},
			{method: "signup", params: "{ NS: {place}, DB: {place}, AC: 'acc', n: 5 }", want: "MATCH " + tokenRE},
			{method: "info", want: `MATCH \{ ?"?id"?: ?"?user:generated"?, ?"?n"?: ?5 ?\}`}}},
		{key: "insert, one object", setup: people, steps: []step{{method: "insert", params: "'person', { id: 5, a: 5 }", want: "[{ a: 5, id: person:5 }]"}}},
		{key: "insert, an array", setup: people, steps: []step{
			{method: "insert", params: "'person', [{ id: 5 }, { id: 6 }]", want: "[{ id: person:5 }, { id: person:6 }]"},
			{method: "insert", params: "NULL, [{ id: person:7 }]", want: "[{ id: person:7 }]"},
			{method: "insert", params: "'person'", want: "ERR " + params + "Expected (what:Value, data:Value)"}}},
		{key: "insert_relation", setup: people, steps: []step{
			{method: "insert_relation", params: "'knows', { id: 1, in: person:1, out: person:2, x: 1 }", want: "[{ id: knows:1, in: person:1, out: person:2, x: 1 }]"},
			{method: "insert_relation", params: "'knows', { in: person:1, out: person:2 }", want: `MATCH \[\{ ?"?id"?: ?"?knows:generated"?, ?"?in"?: ?"?person:1"?, ?"?out"?: ?"?person:2"? ?\}\]`}}},
		{key: "insert_relation, table inferred from data.id", setup: people, steps: []step{
			{method: "insert_relation", params: "NULL, { id: knows:2, in: person:1, out: person:2 }", want: "[{ id: knows:2, in: person:1, out: person:2 }]"},
			{method: "insert_relation", params: "NONE, { id: knows:3, in: person:1, out: person:2 }", want: "[{ id: knows:3, in: person:1, out: person:2 }]"}}},
		{key: "insert_relation, fewer than two params", setup: people, steps: []step{
			{method: "insert_relation", params: "'knows'", want: "ERR " + params + "Expected (what, data)"}, {method: "insert_relation", want: "ERR " + params + "Expected (what, data)"}}},
		{key: "invalidate", setup: people, steps: []step{
			{method: "invalidate", want: "NONE"}, {method: "query", params: "'SELECT * FROM person'",
				want: "ERR -32000 NotAllowed Anonymous access not allowed: Not enough permissions to perform this action"}}},
		{key: "kill", only: "WS", setup: people, steps: []step{
			{method: "live", params: "'person'", save: "live"}, {method: "kill", params: "{live}", want: "NONE"},
			{method: "kill", params: "{live}", want: "MATCH ERR -32000 Internal Cannot execute KILL statement using id: u?'[0-9a-f-]{36}'"}, {method: "kill", want: "ERR " + params + "Expected (id)"}}},
		{key: "let", steps: []step{
			{method: "let", params: "'x', [1, 2]", want: "NULL"}, {method: "query", params: "'RETURN $x'", want: "[1, 2]"}, {method: "let", params: "'x', 3", want: "NULL"},
			{method: "query", params: "'RETURN $x'", want: "3"}, {method: "let", want: "ERR " + params + "Expected (key:string, value:Value)"},
			{method: "let", params: "'auth', 1", want: "ERR -32600 Validation/InvalidParameter 'auth' is a protected variable and cannot be set"}}},
		{key: "live", only: "WS", setup: people, steps: []step{
			{method: "live", params: "'person'", want: "MATCH " + uuidText}, {method: "live", params: "'person', true", want: "MATCH " + uuidText},
			{method: "live", params: "'nope'", want: "ERR -32000 NotFound/Table The table 'nope' does not exist"}, {method: "live", want: "ERR " + params + "Expected (what, diff)"}}},
		{key: "merge", setup: people, steps: []step{
			{method: "merge", params: "person:1, { b: 2 }", want: "{ a: 1, b: 2, id: person:1 }"}, {method: "merge", params: "'person', { c: 3 }", want: "[{ a: 1, b: 2, c: 3, id: person:1 }, { a: 2, c: 3, id: person:2 }]"},
			{method: "merge", want: "ERR " + params + "Expected (what:Value, data:Value)"}}},
		{key: "merge, no data triggers an update", setup: people + "; DEFINE FIELD seen ON person VALUE 'yes'", steps: []step{{method: "merge", params: "person:1", want: "{ a: 1, id: person:1, seen: 'yes' }"}}},
		{key: "patch", setup: people, steps: []step{
			{method: "patch", params: "person:1, [{ op: 'replace', path: '/a', value: 5 }]", want: "{ a: 5, id: person:1 }"},
			{method: "patch", want: "ERR " + params + "Expected (what:Value, data:Value, diff:Value)"}}},
		{key: "patch, diff", setup: people, steps: []step{
			{method: "patch", params: "person:1, [{ op: 'replace', path: '/a', value: 5 }], true", want: "[{ op: 'replace', path: '/a', value: 5 }]"},
			{method: "patch", params: "'person', [{ op: 'add', path: '/b', value: 1 }], true", want: "[[{ op: 'add', path: '/b', value: 1 }], [{ op: 'add', path: '/b', value: 1 }]]"}}},
		{key: "ping", steps: []step{{method: "ping", want: "NONE"}, {method: "ping", params: "1, 2", want: "NONE"}}},
		{key: "query", steps: []step{
			{method: "query", params: "'RETURN 1; RETURN $a', { a: 2 }", want: "1 ;; 2"}, {method: "query", params: "'RETURN 1', NULL", want: "1"},
			{method: "query", params: "'THROW 1; RETURN 2'", want: "ERR Thrown An error occurred: 1 ;; 2"},
			{method: "query", params: "'SELECT FROM'", want: "MATCH (?s)ERR -32000 Validation Parse error: .*"}, {method: "query", want: "ERR " + params + "Expected (query:string, vars:object)"}}},
		{key: "relate", setup: people, steps: []step{
			{method: "relate", params: "person:1, 'knows', person:2", want: `MATCH \{ ?"?id"?: ?"?knows:generated"?, ?"?in"?: ?"?person:1"?, ?"?out"?: ?"?person:2"? ?\}`},
			{method: "relate", params: "person:1, knows:5, person:2, { x: 1 }", want: "{ id: knows:5, in: person:1, out: person:2, x: 1 }"},
			{method: "relate", params: "person:1, 'knows'", want: "ERR " + params + "Expected (from:Value, kind:Value, with:Value, data:Value)"}}},
		{key: "reset", steps: []step{
			{method: "let", params: "'x', 1"}, {method: "reset", want: "NONE"}, {method: "signin", params: "{ user: 'root', pass: 'root' }"},
			{method: "query", params: "'RETURN [session::ns(), session::db()]'", want: "[NONE, NONE]"},
			{method: "query", params: "'RETURN $x'", want: "ERR Validation Specify a namespace to use"}}},
		{key: "run, a custom function", setup: "DEFINE FUNCTION fn::twice($x: int) { RETURN $x * 2 }", steps: []step{
			{method: "run", params: "'fn::twice', NONE, [4]", want: "8"}, {method: "run", params: "'fn::none'", want: "ERR -32000 Internal Function 'fn::none' not found: The function 'fn::none' does not exist"}}},
		{key: "run, a model needs a version", steps: []step{{method: "run", params: "'ml::m'", want: "ERR " + params + "Expected version to be set for model function"}}},
		{key: "run, a built-in function", steps: []step{{method: "run", params: "'math::max', NULL, [[1, 5]]", want: "5"}, {method: "run", want: "ERR " + params + "Expected (name:string, version:string, args:array)"}}},
		{key: "select", setup: people, steps: []step{
			{method: "select", params: "person:1", want: "{ a: 1, id: person:1 }"}, {method: "select", params: "'person'", want: "[{ a: 1, id: person:1 }, { a: 2, id: person:2 }]"},
			{method: "select", params: "person:7", want: "NONE"}, {method: "select", params: "'nope'", want: "ERR -32000 NotFound/Table The table 'nope' does not exist"},
			{method: "select", want: "ERR " + params + "Expected (what:Value)"}}},
		{key: "signin", setup: access, steps: []step{
			{method: "signin", params: "{ NS: {place}, DB: {place}, user: 'u', pass: 'p' }", want: "MATCH " + tokenRE},
			{method: "signin", params: "{ NS: {place}, DB: {place}, user: 'u', pass: 'wrong' }", want: "ERR -32002 NotAllowed/Auth/InvalidAuth There was a problem with authentication"},
			{method: "signin", want: "ERR " + params + "Expected (params:object)"}, {method: "signin", params: "'x'", want: "ERR " + params + "Expected (params:object)"}}},
		{key: "signin, access with refresh", setup: access + "; CREATE user SET n = 7", steps: []step{
			{method: "signin", params: "{ NS: {place}, DB: {place}, AC: 'pair', n: 7 }", want: "MATCH " + pairRE}, {method: "signin", params: "{ NS: {place}, DB: {place}, AC: 'acc', n: 7 }", want: "MATCH " + tokenRE}}},
		{key: "signup", setup: access, steps: []step{
			{method: "signup", params: "{ NS: {place}, DB: {place}, AC: 'acc', n: 1 }", want: "MATCH " + tokenRE}, {method: "query", params: "'RETURN $auth.n'", want: "1"},
			{method: "signup", want: "ERR " + params + "Expected (params:object)"}}},
		{key: "signup, access with refresh", setup: access, steps: []step{{method: "signup", params: "{ NS: {place}, DB: {place}, AC: 'pair', n: 1 }", want: "MATCH " + pairRE}}},
		{key: "unset", steps: []step{{method: "let", params: "'x', 1"}, {method: "unset", params: "'x'", want: "NULL"}, {method: "query", params: "'RETURN $x'", want: "NONE"},
			{method: "unset", params: "'never'", want: "NULL"}, {method: "unset", want: "ERR " + params + "Expected (key)"}}},
		{key: "update", setup: people, steps: []step{
			{method: "update", params: "person:1, { b: 1 }", want: "{ b: 1, id: person:1 }"}, {method: "update", params: "'person', { c: 1 }", want: "[{ c: 1, id: person:1 }, { c: 1, id: person:2 }]"},
			{method: "update", want: "ERR " + params + "Expected (what, data)"}}},
		{key: "update, no record", setup: "DEFINE TABLE person", steps: []step{{method: "update", params: "'person', { c: 1 }", want: "[]"}, {method: "update", params: "person:5, { c: 1 }", want: "NONE"}}},
		{key: "upsert", setup: people, steps: []step{
			{method: "upsert", params: "person:1, { b: 1 }", want: "{ b: 1, id: person:1 }"}, {method: "upsert", params: "person:9, { b: 2 }", want: "{ b: 2, id: person:9 }"},
			{method: "upsert", want: "ERR " + params + "Expected (what:Value, data:Value)"}}},
		{key: "version, text", steps: []step{{method: "version", want: `MATCH ['"]3\.\d+\.\d+['"]`}}},
		{key: "version, params", steps: []step{{method: "version", params: "1", want: "ERR " + params + "Expected 0 arguments"}}},
		{key: "an unknown method", steps: []step{{method: "nothing", want: "ERR -32601 NotFound/Method Method not found"}, {method: "Ping", want: "ERR -32601 NotFound/Method Method not found"}}},
	}
}

// varsRows: the methods that take an optional object of variables for the one call.
func varsRows() []rpcRow {
	const setup = "DEFINE TABLE t; DEFINE TABLE e TYPE RELATION; CREATE t:1; CREATE t:2; DEFINE FIELD v ON t VALUE $v; DEFINE FIELD v ON e VALUE $v"
	var rows []rpcRow
	for _, m := range []struct{ method, params, want string }{
		{"query", "'RETURN $v'", "%d"}, {"select", "t:1", "{ id: t:1 }"}, {"insert", "'t', { id: {id} }", "[{ id: t:{id}, v: %d }]"},
		{"create", "t:{id}, {}", "{ id: t:{id}, v: %d }"}, {"upsert", "t:{id}, {}", "{ id: t:{id}, v: %d }"}, {"update", "t:1, {}", "{ id: t:1, v: %d }"},
		{"relate", "t:1, e:{id}, t:2, {}", "{ id: e:{id}, in: t:1, out: t:2, v: %d }"}, {"delete", "t:{id}", "NONE"},
	} {
		at := func(text string, id string) string { return strings.ReplaceAll(text, "{id}", id) }
		want := func(id string, v int) string {
			w := at(m.want, id)
			if strings.Contains(w, "%d") {
				return fmt.Sprintf(w, v)
			}
			return w
		}
		rows = append(rows, rpcRow{key: m.method, setup: setup, steps: []step{
			{method: "let", params: "'v', 1"},
			{method: m.method, params: at(m.params, "10") + ", { v: 2 }", want: want("10", 2)},
			{method: m.method, params: at(m.params, "11"), want: want("11", 1)},
			{method: "query", params: "'RETURN $v'", want: "1"},
		}})
	}
	return rows
}

// useRows are the combinations of use.
func useRows() []rpcRow {
	now := func(ns, db string) step {
		return step{method: "query", params: "'RETURN [session::ns(), session::db()]'", want: "[" + ns + ", " + db + "]"}
	}
	return []rpcRow{
		{key: "[none, none] no change", only: "WS CBOR", steps: []step{{method: "use", params: "NONE, NONE"}, now("{place}", "{place}")}},
		{key: "[ns, none] change ns", only: "WS CBOR", steps: []step{{method: "use", params: "'other', NONE"}, now("'other'", "{place}")}},
		{key: "[none, db] change db", only: "WS CBOR", steps: []step{{method: "use", params: "NONE, 'other'"}, now("{place}", "'other'")}},
		{key: "[ns, db] change both", steps: []step{{method: "use", params: "'a', 'b'"}, now("'a'", "'b'")}},
		{key: "[none, null] unset db only", only: "WS CBOR", steps: []step{{method: "use", params: "NONE, NULL"}, now("{place}", "NONE")}},
		{key: "[null, null] unset both", steps: []step{{method: "use", params: "NULL, NULL"}}},
		{key: "[ns, null] set ns, unset db", steps: []step{{method: "use", params: "'a', NULL"}, now("'a'", "NONE")}},
		{key: "[null, none] is an error", only: "WS CBOR", steps: []step{{method: "use", params: "NULL, NONE", want: "ERR -32600 Validation/NamespaceEmpty Specify a namespace to use"}}},
		{key: "too few", steps: []step{{method: "use", params: "'a'", want: "ERR " + params + "Expected (ns, db)"}, {method: "use", params: "'a', 'b', 'c'", want: "ERR " + params + "Expected (ns, db)"}}},
	}
}

// placeRows: what signin selects, and where its user may go.
func placeRows() []rpcRow {
	const (
		database  = "DEFINE USER u ON DATABASE PASSWORD 'p' ROLES OWNER"
		namespace = "DEFINE USER n ON NAMESPACE PASSWORD 'p' ROLES OWNER"
		access    = "DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNUP (CREATE user)"
	)
	now := step{method: "query", params: "'RETURN [session::ns(), session::db()]'"}
	at := func(want string) step { s := now; s.want = want; return s }
	unset := step{method: "use", params: "NULL, NULL"}
	return []rpcRow{
		{key: "a database user selects both", setup: database, steps: []step{unset, {method: "signin", params: "{ NS: {place}, DB: {place}, user: 'u', pass: 'p' }"}, at("[{place}, {place}]"),
			{method: "use", params: "'elsewhere', 'x'", want: "ERR -32000 NotAllowed You don't have permission to change to the elsewhere namespace"},
			{method: "use", params: "{place}, 'x'", want: "ERR -32000 NotAllowed You don't have permission to change to the x database"}}},
		{key: "record access selects both", setup: access, steps: []step{unset, {method: "signup", params: "{ NS: {place}, DB: {place}, AC: 'acc' }"}, at("[{place}, {place}]"),
			{method: "use", params: "{place}, 'x'", want: "ERR -32000 NotAllowed You don't have permission to change to the x database"}}},
		{key: "a namespace user selects the namespace", setup: namespace, steps: []step{unset, {method: "signin", params: "{ NS: {place}, user: 'n', pass: 'p' }"}, at("[{place}, NONE]"),
			{method: "use", params: "{place}, 'x'"}, {method: "use", params: "'elsewhere', 'x'", want: "ERR -32000 NotAllowed You don't have permission to change to the elsewhere namespace"}}},
		{key: "root selects neither", steps: []step{unset, {method: "signin", params: "{ user: 'root', pass: 'root' }"}, at("[NONE, NONE]"), {method: "use", params: "'a', 'b'"}, at("['a', 'b']")}},
	}
}

// heldRows: what HTTP has no connection for.
func heldRows() []rpcRow {
	var rows []rpcRow
	for _, m := range []string{"begin", "commit", "cancel", "live", "kill"} {
		rows = append(rows, rpcRow{key: m + " unavailable", only: "HTTP", steps: []step{{method: m, want: "ERR -32602 NotAllowed/Method Method not allowed"}}})
	}
	return append(rows, rpcRow{key: "query_stream answers Method not found", only: "HTTP", steps: []step{{method: "query_stream", params: "'RETURN 1'", want: "ERR -32601 NotFound/Method Method not found"}}})
}

// stateRows are the transitions of transactions, live queries and sessions.
func stateRows() []rpcRow {
	const setup = "DEFINE TABLE t"
	return []rpcRow{
		{key: "Interactive transaction: none, begin, Open", only: "WS", steps: []step{{method: "begin", want: "MATCH " + uuidText}}},
		{key: "Interactive transaction: Open, commit, Finished", only: "WS", setup: setup, steps: []step{
			{method: "begin", save: "tx"}, {method: "query", params: "'CREATE t:1'", txn: "tx"}, {method: "select", params: "'t'", want: "[]"},
			{method: "commit", params: "{tx}"}, {method: "select", params: "'t'", want: "[{ id: t:1 }]"}}},
		{key: "Interactive transaction: Open, cancel, Discarded", only: "WS", setup: setup, steps: []step{
			{method: "begin", save: "tx"}, {method: "query", params: "'CREATE t:1'", txn: "tx"}, {method: "cancel", params: "{tx}"}, {method: "select", params: "'t'", want: "[]"}}},
		{key: "Interactive transaction: Open, reset, Discarded", only: "WS", setup: setup, steps: []step{
			{method: "begin", save: "tx"}, {method: "query", params: "'CREATE t:1'", txn: "tx"}, {method: "reset"}, {method: "authenticate", params: "{root}"}, {method: "use", params: "{place}, {place}"},
			{method: "commit", params: "{tx}", want: "ERR -32000 NotFound/Transaction Transaction not found"}, {method: "select", params: "'t'", want: "[]"}}},
		{key: "Live query: none, live statement via query, Active", only: "WS", setup: setup, steps: []step{{method: "query", params: "'LIVE SELECT * FROM t'", want: "MATCH " + uuidText}}},
		{key: "Session: any, invalidate, unauthenticated", setup: setup, steps: []step{{method: "invalidate"}, {method: "info", want: "NONE"},
			{method: "select", params: "'t'", want: "ERR -32000 NotAllowed Anonymous access not allowed: Not enough permissions to perform this action"}}},
		{key: "Session: any, reset, cleared", setup: setup, steps: []step{{method: "let", params: "'x', 1"}, {method: "reset"},
			{method: "query", params: "'RETURN 1'", want: "ERR -32000 NotAllowed Anonymous access not allowed: Not enough permissions to perform this action"},
			{method: "signin", params: "{ user: 'root', pass: 'root' }"}, {method: "query", params: "'RETURN [session::ns(), session::db()]; RETURN $x'", want: "[NONE, NONE] ;; ERR Validation Specify a namespace to use"}}},
		{key: "a request without txn runs outside", only: "WS", setup: setup, steps: []step{{method: "begin", save: "tx"},
			{method: "create", params: "t:1", txn: "tx"}, {method: "create", params: "t:2"}, {method: "cancel", params: "{tx}"}, {method: "select", params: "'t'", want: "[{ id: t:2 }]"}}},
	}
}

// Every row of the interface document's tables of methods, through every door that it is for.
func TestRPCRows(t *testing.T) {
	s := start(t, func(c *config.Config) { c.AuthBurst, c.AuthRate = 10_000, 10_000 })
	doors := s.doors()
	for _, table := range []struct {
		name string
		rows []rpcRow
	}{{"RPC methods", methodRows()}, {"vars of one call", varsRows()}, {"use", useRows()}, {"place of an identity", placeRows()},
		{"HTTP has no connection", heldRows()}, {"states", stateRows()}} {
		t.Run(table.name, func(t *testing.T) {
			for i, r := range table.rows {
				t.Run(r.key, func(t *testing.T) {
					for j, d := range doors {
						if strings.HasPrefix(d.name, r.only) {
							t.Run(d.name, func(t *testing.T) { d.play(t, &r, fmt.Sprintf("p%d_%d_%s", i, j, table.name[:2])) })
						}
					}
				})
			}
		})
	}
}
