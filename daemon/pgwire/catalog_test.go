package pgwire_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// productSchema is the schema that the golden screens are of.
const productSchema = `
	DEFINE TABLE person SCHEMAFULL COMMENT 'people';
	DEFINE FIELD name  ON person TYPE string;
	DEFINE FIELD age   ON person TYPE option<int> COMMENT 'in years';
	DEFINE FIELD score ON person TYPE option<float>;
	DEFINE FIELD price ON person TYPE option<decimal>;
	DEFINE FIELD ok    ON person TYPE option<bool> DEFAULT true;
	DEFINE FIELD born  ON person TYPE option<datetime>;
	DEFINE FIELD took  ON person TYPE option<duration>;
	DEFINE FIELD u     ON person TYPE option<uuid>;
	DEFINE FIELD raw   ON person TYPE option<bytes>;
	DEFINE FIELD tags  ON person TYPE option<array<string>>;
	DEFINE FIELD meta  ON person TYPE option<object>;
	DEFINE FIELD boss  ON person TYPE option<record<person>>;
	DEFINE INDEX person_name ON person FIELDS name UNIQUE;
	DEFINE INDEX person_age ON person FIELDS age;
	DEFINE TABLE likes TYPE RELATION FROM person TO person SCHEMAFULL;
	DEFINE FIELD since ON likes TYPE option<datetime>;
	DEFINE FUNCTION fn::greet($name: string) -> string { RETURN $name };`

// recorded is a statement that a tool has sent, and what PostgreSQL 15 said of its columns.
type recorded struct {
	Tools     []string `json:"tools"`
	Kind      string   `json:"kind"`
	SQL       string   `json:"sql"`
	Params    []uint32 `json:"params"`
	Columns   [][]any  `json:"columns"`
	Columns18 [][]any  `json:"columns18"`
	Error15   string   `json:"pg15_error"`
}

// describeText parses a text and gives its columns, or the code of the error.
func (f *frames) describeText(text string, params []uint32) (cols []pgproto3.FieldDescription, code string) {
	f.t.Helper()
	f.send(parse("", text, params...), describe('S', ""), sync)
	for {
		m, err := f.f.Receive()
		if err != nil {
			f.t.Fatal(err)
		}
		switch m := m.(type) {
		case *pgproto3.RowDescription:
			for _, d := range m.Fields {
				d.Name = append([]byte(nil), d.Name...)
				cols = append(cols, d)
			}
		case *pgproto3.ErrorResponse:
			code = m.Code + " " + m.Message
		case *pgproto3.ReadyForQuery:
			return cols, code
		}
	}
}

// Every query that the recorded tools send answers, with the columns that PostgreSQL has.
func TestRecordedStatements(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, productSchema+"DEFINE TABLE adults AS SELECT * FROM person; DEFINE FUNCTION fn::fn_hello() { RETURN 1 };")
	f := login(t, addr)
	file, err := os.Open("testdata/queries.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Kind != "SelectStmt" || r.Error15 != "" && r.Columns18 == nil || errorOnPurpose[r.SQL] {
			continue
		}
		n++
		if ofTables(r.SQL) {
			f.ask("SET dialect = 'sql'")
		}
		cols, code := f.describeText(r.SQL, r.Params)
		if code != "" {
			t.Errorf("%s: %v\n%s", code, r.Tools, r.SQL)
		} else {
			if ofTables(r.SQL) {
				r.Columns = nil
			}
			checkColumns(t, &r, cols)
			if len(r.Params) == 0 {
				if got := f.ask(r.SQL); strings.Contains(got, "E!") {
					t.Errorf("%s\n%s", got, r.SQL)
				}
			}
		}
		f.ask("SET dialect = 'surrealql'")
	}
	if n < 200 {
		t.Errorf("only %d statements were tried", n)
	}
}

// errorOnPurpose are statements by which a tool makes an error.
var errorOnPurpose = map[string]bool{"select 1/0": true}

// ofTables reports whether a query reads the table of the golden schema.
func ofTables(text string) bool {
	for _, w := range []string{"FROM person", "from person", "public.person p", `"public"."person"`,
		"FROM public.person", `from "person"`, `FROM "person"`} {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

func checkColumns(t *testing.T, r *recorded, cols []pgproto3.FieldDescription) {
	t.Helper()
	var got []string
	same := func(want [][]any) bool {
		if len(want) != len(cols) {
			return false
		}
		for i, w := range want {
			if w[0].(string) != string(cols[i].Name) || uint32(w[1].(float64)) != cols[i].DataTypeOID {
				return false
			}
		}
		return true
	}
	if r.Columns == nil || r.Columns18 != nil && same(r.Columns18) || same(r.Columns) {
		return
	}
	for _, c := range cols {
		got = append(got, short(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{c}}))
	}
	t.Errorf("columns of %v: %s\n got %v\nwant %v", r.Tools, r.SQL, got, r.Columns)
}

// psql shows tables, indexes, keys and functions of the product.
func TestPsqlScreens(t *testing.T) {
	addr, d := start(t)
	run(t, d, productSchema)
	got := psql(t, addr, "\\d\n\\d person\n\\d likes\n\\dt+\n\\di\n\\df\n\\dn\n\\l\n\\du\n")
	for _, want := range []string{
		" public | person | table | root", `Table "public.person"`,
		" age    | bigint                   |           |          | ",
		" name   | text                     |           | not null | ",
		" ok     | boolean                  |           |          | true",
		`"person_pkey" PRIMARY KEY, btree (id)`, `"person_name" UNIQUE CONSTRAINT, btree (name)`,
		`"person_boss" FOREIGN KEY (boss) REFERENCES person(id)`,
		`TABLE "likes" CONSTRAINT "likes_out" FOREIGN KEY ("out") REFERENCES person(id)`, "| people",
		" public | person_age  | index | root  | person",
		" public | greet | text             | name text           | func", "test/test",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("psql does not show %q:\n%s", want, got)
		}
	}
}

// Statements of SQL read and change the tables of the product.
func TestPlainSQL(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, productSchema)
	f := login(t, addr)
	f.want("SELECT * FROM person", "T[value:25] C(SELECT 0) ZI")
	for _, tc := range [][2]string{
		{"SET dialect = 'sql'", "C(SET) ZI"},
		{"INSERT INTO person (id, name, age, boss) VALUES ('person:1', 'Ada', 36, NULL), ('2', 'Bob', 41, 'person:1')", "C(INSERT 0 2) ZI"},
		{"SELECT id, name, age FROM person WHERE age > 36",
			"T[id:25 name:25 age:20] D[person:2|Bob|41] C(SELECT 1) ZI"},
		{"SELECT name FROM person WHERE id = 'person:1'", "T[name:25] D[Ada] C(SELECT 1) ZI"},
		{"SELECT p.name, b.name AS boss FROM person p LEFT JOIN person b ON p.boss = b.id ORDER BY 1",
			"T[name:25 boss:25] D[Ada|-] D[Bob|Ada] C(SELECT 2) ZI"},
		{"SELECT count(*), sum(age), max(name) FROM public.person",
			"T[count:20 sum:1700 max:25] D[2|77|Bob] C(SELECT 1) ZI"},
		{"SELECT age % 2 AS odd, count(*) FROM person GROUP BY 1 HAVING count(*) > 0 ORDER BY odd DESC",
			"T[odd:20 count:20] D[1|1] D[0|1] C(SELECT 2) ZI"},
		{"UPDATE person SET age = age + 1 WHERE name = 'Ada' RETURNING id, age",
			"T[id:25 age:20] D[person:1|37] C(UPDATE 1) ZI"},
		{"INSERT INTO person (id, name) VALUES ('person:1', 'Z') ON CONFLICT (id) DO UPDATE SET name = excluded.name || '!' RETURNING name", "T[name:25] D[Z!] C(INSERT 0 1) ZI"},
		{"INSERT INTO person (id, name) VALUES ('person:1', 'Z') ON CONFLICT DO NOTHING", "C(INSERT 0 0) ZI"},
		{"INSERT INTO person (id, name) VALUES ('person:3', 'C'), ('person:1', 'Z')", "E!23505 ZI"},
		{"SELECT count(*) FROM person", "T[count:20] D[2] C(SELECT 1) ZI"}, // the one before it is undone
		{"INSERT INTO likes (\"in\", \"out\") VALUES ('person:1', 'person:2') RETURNING \"in\"",
			"T[in:25] D[person:1] C(INSERT 0 1) ZI"},
		{"SELECT nothing FROM person", "E!42703 ZI"},
		{"SELECT 1 FROM nothing", "E!42P01 ZI"},
		{"SELECT name, rank() OVER (ORDER BY age) FROM person", "T[name:25 rank:20] D[Z!|1] D[Bob|2] C(SELECT 2) ZI"},
		{"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
			"T[i:23] D[1] D[2] D[3] C(SELECT 3) ZI"},
		{"DELETE FROM person WHERE age < 40", "C(DELETE 1) ZI"},
		{"BEGIN; DELETE FROM person; ROLLBACK; SELECT count(*) FROM person",
			"C(BEGIN) C(DELETE 1) C(ROLLBACK) T[count:20] D[1] C(SELECT 1) ZI"},
	} {
		f.want(tc[0], tc[1])
	}
	f.send(parse("", "SELECT name FROM person WHERE age > $1 LIMIT $2"), describe('S', ""), bind("", "", "1", "5"),
		execute("", 0), sync)
	if got := f.read(1); got != "1 t[20 20] T[name:25] 2 D[Bob] C(SELECT 1) ZI" {
		t.Errorf("prepared: %s", got)
	}
}

// Every statement in the shape of a graphical tool answers.
func TestGraphicalTools(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, productSchema+"CREATE person:1 SET name = 'Ada', age = 36, born = d'2024-03-01T00:00:00Z'")
	f := login(t, addr)
	text, err := os.ReadFile("testdata/gui-shapes.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "--") {
			continue
		}
		if ofTables(line) {
			f.ask("SET dialect = 'sql'")
		}
		if got := f.ask(line); strings.Contains(got, "E!") {
			_, code := f.describeText(strings.TrimSuffix(line, ";"), nil)
			t.Errorf("%.200s (%s)\n%s", got, code, line)
		}
		f.ask("SET dialect = 'surrealql'")
	}
}

// refusedCommands are recorded statements that are errors here, with their codes. The misspelt "selec" by itself is
// none: in the language it is the name of a field.
var refusedCommands = map[string]string{
	"selec $1": "42601", `select 1 \gdesc`: "42601",
	`select 1 \parse s1`:                              "42601",
	"select * from person where age > ? and name = ?": "42601", // its parameters were never put in
	"SET client_encoding TO 'LATIN1'":                 "0A000", // texts are UTF-8
}

// Every other statement that the recorded tools send does what its tag says, where it makes sense: in a transaction,
// with the savepoint or cursor that it names.
func TestRecordedCommands(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, productSchema)
	file, err := os.ReadFile("testdata/queries.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.SplitSeq(strings.TrimSpace(string(file)), "\n") {
		var r recorded
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Kind == "SelectStmt" {
			continue
		}
		n++
		f := login(t, addr)
		f.want("SET dialect = 'sql'", "C(SET) ZI")
		words := strings.Fields(strings.TrimSuffix(strings.ToLower(r.SQL), ";"))
		name := ""
		if len(words) > 0 {
			name = words[len(words)-1]
		}
		switch {
		case strings.HasPrefix(r.Kind, "Fetch"), r.Kind == "ClosePortalStmt":
			f.ask("BEGIN; DECLARE " + name + " CURSOR FOR SELECT generate_series(1, 3)")
		case r.Kind == "DeclareCursorStmt":
			f.ask("BEGIN")
		case r.Kind == "TransactionStmt" && (words[0] == "savepoint" || words[0] == "release" || strings.Contains(r.SQL,
			" TO ") || strings.Contains(r.SQL, " to ")):
			f.ask("BEGIN; SAVEPOINT " + name)
		}
		want := refusedCommands[r.SQL]
		switch {
		case r.Kind == "AlterRoleStmt":
			want = "0A000"
		case r.Kind == "InsertStmt": // with parameters, of a table whose tags are no texts
			if _, code := f.describeText(strings.ReplaceAll(r.SQL, "::jsonb", ""), nil); code != "" {
				t.Errorf("%s\n%s", code, r.SQL)
			}
			continue
		}
		f.send(&pgproto3.Query{String: r.SQL})
		if r.Kind == "CopyStmt" && strings.Contains(strings.ToLower(r.SQL), "from stdin") {
			f.send(&pgproto3.CopyFail{Message: "enough"})
			want = "57014"
		}
		got := f.read(1)
		if want == "" && (strings.Contains(got, "!") || !strings.Contains(got, "C(") && r.Kind != "Empty") ||
			want != "" && !strings.Contains(got, "E!"+want) {
			t.Errorf("%s\n%s, want %s", r.SQL, got, want)
		}
		_ = f.conn.Close()
	}
	if n < 80 {
		t.Errorf("only %d statements were tried", n)
	}
}

// Columns stand in the order in which their fields were first defined, after the id and the ends of an edge.
func TestOrderOfColumns(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, `DEFINE TABLE item SCHEMAFULL; DEFINE FIELD z ON item TYPE int; DEFINE FIELD b ON item TYPE option<object>;
		DEFINE FIELD b.x ON item TYPE option<int>; DEFINE FIELD m ON item TYPE option<int>; DEFINE FIELD a ON item TYPE int;
		DEFINE FIELD OVERWRITE z ON item TYPE string; DEFINE TABLE edge TYPE RELATION SCHEMAFULL;
		DEFINE FIELD y ON edge TYPE option<int>; DEFINE FIELD c ON edge TYPE option<int>; DEFINE FIELD k ON item TYPE option<int>;
		REMOVE FIELD m ON item; DEFINE FIELD m ON item TYPE option<int>`)
	f := login(t, addr)
	f.want("SET dialect = 'sql'", "C(SET) ZI")
	f.want("SELECT * FROM item", "T[id:25 z:25 b:3802 a:20 k:20 m:20] C(SELECT 0) ZI")
	f.want("SELECT * FROM edge", "T[id:25 in:25 out:25 y:20 c:20] C(SELECT 0) ZI")
	f.want("SELECT attname FROM pg_attribute WHERE attrelid = 'item'::regclass AND attnum > 0 ORDER BY attnum",
		"T[attname:19] D[id] D[z] D[b] D[a] D[k] D[m] C(SELECT 6) ZI")
	f.want("SELECT column_name FROM information_schema.columns WHERE table_name = 'edge' ORDER BY ordinal_position",
		"T[column_name:19] D[id] D[in] D[out] D[y] D[c] C(SELECT 5) ZI")
	f.want("INSERT INTO item VALUES ('item:1', 'zz', NULL, 7)", "C(INSERT 0 1) ZI")
	f.want("SELECT * FROM item", "T[id:25 z:25 b:3802 a:20 k:20 m:20] D[item:1|zz|-|7|-|-] C(SELECT 1) ZI")
	run(t, d, "ALTER FIELD z ON item COMMENT 'first'")
	f.want("SELECT z FROM item", "T[z:25] D[zz] C(SELECT 1) ZI")
	f.want("SELECT * FROM item", "T[id:25 z:25 b:3802 a:20 k:20 m:20] D[item:1|zz|-|7|-|-] C(SELECT 1) ZI")
}
