package mcp

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/nacredb/nacre/engine/errs"
)

// promptText is a prompt: {} in its text is its argument.
type promptText struct {
	name, title, about string
	arg, argAbout      string
	required           bool
	missing            string // what stands for the argument where there is none
	text               string
}

// prompts is the table, in the order of prompts/list. It is never written to.
var prompts = []promptText{
	{name: "query_builder", title: "Build a query", about: "Write, explain and run one query", arg: "description",
		argAbout: "What the query is to find or change", required: true,
		text: `Write one ServiceQL query for this task:

{}

1. Look at the schema first: call describe, or info for a single table. Use only tables and fields that exist.
2. Put every value of the task into $parameters; never paste values into the text.
3. If it is a SELECT, call explain, and say which index it uses and whether it scans the table.
4. Run it with the tool query. If it would change data, show it and ask before you run it.
5. Explain the query clause by clause, and the answer in one sentence.`},
	{name: "schema_explorer", title: "Explore the schema", about: "Walk through what is defined", arg: "focus",
		argAbout: "Name of a table, or all", missing: "all",
		text: `Explain the schema of this database. Focus: {}

If the focus is all: list the namespaces, then the databases of the one in use, then describe its tables: what each is for, its fields
with their types, its indexes, and how tables are connected by edges and record links.
If the focus is a table: read its fields, indexes, events and permissions with info and list, take a sample, and explain what each
field holds and who may read and write it. Say what surprises you, such as fields without a type or conditions without an index.`},
	{name: "data_modeler", title: "Model data", about: "Propose definitions, run and verify them", arg: "requirements",
		argAbout: "What the application has to store and to ask", required: true,
		text: `Design a schema for these requirements:

{}

1. Look at what is defined already, so that names fit and nothing is defined twice.
2. Choose tables (SCHEMAFULL where the shape is known), fields with types and ASSERT, record links for "has one" and edges
   (TYPE RELATION) for what has data of its own or is walked both ways.
3. Add indexes for every condition and order in the requirements, and permissions for record users if there are any.
4. Show the DEFINE statements with a line of reason each, and ask before you run them with the tool query.
5. Verify with info, insert two example records, and run the most important question of the requirements.`},
	{name: "transaction_guide", title: "Write a transaction",
		about: "Do several changes together or not at all", arg: "goal",
		argAbout: "What has to happen together", required: true,
		text: `Write one transaction for this goal:

{}

Use a single call of the tool query with BEGIN; … COMMIT; in one text, so that all of it happens or none. Check conditions inside with
IF … { THROW "reason" }, which undoes everything; CANCEL instead of COMMIT shows what would happen. Keep it short: it is run again
on a conflict. Read the results afterwards, and say which statement failed if has_errors is true.`},
	{name: "graph_traversal", title: "Walk the graph", about: "Create edges and follow them", arg: "scenario",
		argAbout: "Which things are connected how, and what is asked", required: true,
		text: `Work out this graph question:

{}

Edges are records of a relation table: RELATE person:ada->wrote->article:1 SET at = time::now(), or the tool relate.
Follow them with arrows: person:ada->wrote->article goes out, article:1<-wrote<-person comes in, <-> goes both ways;
->wrote[WHERE at > $since]->article filters edges, and .{1..3}->knows->person goes one to three steps.
For patterns with several legs use the tool gql: MATCH (a:person)-[:knows]->(b:person)-[:wrote]->(c:article) RETURN a.name, c.title.
Look at the relation tables first (list with kind tables, or describe), then write, run and explain the query.`},
	{name: "search_guide", title: "Set up full-text search",
		about: "Define an analyzer and an index, and search", arg: "use_case",
		argAbout: "What is searched, and how people search for it", required: true,
		text: `Set up full-text search for this use case:

{}

1. Choose an analyzer for the language and the way people type:
   DEFINE ANALYZER text TOKENIZERS class FILTERS lowercase, ascii, snowball(english);
2. Index the fields: DEFINE INDEX body_text ON article FIELDS body FULLTEXT ANALYZER text BM25 HIGHLIGHTS;
3. Search with the match operator and its score:
   SELECT *, search::score(1) AS score FROM article WHERE body @1@ $words ORDER BY score DESC LIMIT 10;
4. Show the statements and ask before you define anything. Then try three searches, with explain to see that the index is used.`},
}

func listPrompts(_ context.Context, q *request) (object, error) {
	if err := q.onePage(); err != nil {
		return nil, err
	}
	list := make([]object, 0, len(prompts))
	for _, p := range prompts {
		list = append(list, object{"name": p.name, "title": p.title, "description": p.about,
			"arguments": []object{{"name": p.arg, "description": p.argAbout, "required": p.required}}})
	}
	return object{"prompts": list}, nil
}

func prompt(_ context.Context, q *request) (object, error) {
	name, ok := q.text("name")
	if !ok {
		return nil, badParams("`name` of prompts/get must be a text")
	}
	var given map[string]string
	if raw, ok := q.Params["arguments"]; ok && json.Unmarshal(raw, &given) != nil {
		return nil, badParams("`arguments` of a prompt must be an object of texts")
	}
	for _, p := range prompts {
		if p.name != name {
			continue
		}
		arg, ok := given[p.arg]
		if !ok {
			arg = p.missing
		}
		return object{"description": p.about, "messages": []object{{"role": "user",
			"content": object{"type": "text", "text": strings.Replace(p.text, "{}", arg, 1)}}}}, nil
	}
	return nil, badParams("Unknown prompt: %s", errs.Brief(name, 64))
}

// instructions tell a model how to work with the tools.
func (s *Server) instructions() string {
	if s.ReadOnly {
		return usage + "\nThis server is read-only: statements that would change anything are refused.\n"
	}
	return usage
}

const usage = `# nacre

A database for documents, graphs, vectors, full text and time in one language, ServiceQL (compatible with SurrealQL).

- Begin with **describe**: tables, fields, edges, indexes, counts and an example of each, within a number of tokens.
- **select** reads records without writing a statement; **query** runs statements; **gql** matches graph patterns; **explain** shows
  whether an index is used; **sample** shows records of a table.
- **create**, **insert**, **upsert**, **update**, **delete** and **relate** change records. A change without a condition is about the
  whole table: name a record (person:ada) or a where_clause.
- Every tool takes **namespace** and **database** for that call alone; **use** chooses them for the session.
- Values: put them into parameters ($name). JSON has no dates, decimals or record ids: write {"$ql": "d'2025-01-01T00:00:00Z'"},
  {"$ql": "12.50dec"} or {"$ql": "person:ada"} wherever a value may stand.
- Large values are replaced by {"$truncated": true}: ask for fewer fields, or page with LIMIT and START.
- Records: person:ada is the record ada of table person. Edges: RELATE person:ada->knows->person:bob; follow them with
  ->knows->person and <-knows<-person.
- A result with isError says what was wrong and its kind: correct the statement and try again.
`
