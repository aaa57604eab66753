package repl

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/value"
)

// keywords are offered everywhere: the parser knows better, the user knows best.
var keywords = strings.Fields(`ACCESS AFTER ALL ALTER ALWAYS ANALYZER AND ANY AS ASC ASSERT BEFORE BEGIN BREAK BY CANCEL
CHANGEFEED COLLATE COMMENT COMMIT COMPUTED CONCURRENTLY CONTAINS CONTAINSALL CONTAINSANY CONTAINSNONE CONTENT CONTINUE
CREATE DATABASE DEFAULT DEFINE DELETE DESC DIFF DROP DURATION ELSE END ENFORCED EVENT EXISTS EXPLAIN FETCH FIELD FIELDS
FLEXIBLE FOR FROM FULL FULLTEXT FUNCTION GROUP HNSW IF IGNORE IN INDEX INFO INSERT INSIDE INTERSECTS INTO KILL LET LIMIT
LIVE MERGE NAMESPACE NONE NORMAL NOT NULL NUMERIC OMIT ON ONLY OPTION OR ORDER OUTSIDE OVERWRITE PARAM PASSWORD PATCH
PERMISSIONS READONLY REBUILD REFERENCE RELATE RELATION REMOVE REPLACE RETURN ROLES ROOT SCHEMAFULL SCHEMALESS SELECT
SEQUENCE SET SHOW SINCE SLEEP SPLIT START STRUCTURE TABLE THEN THROW TIMEOUT TO TRANSACTION TYPE UNIQUE UNSET UPDATE
UPSERT USE USER VALUE VALUES VERSION WHEN WHERE WITH`)

// names holds what can be completed: keywords, functions and methods of the function table, and the tables, functions
// and params of the database, fetched in the background so that typing never waits.
type names struct {
	base    []string
	methods []string       // what may follow a dot
	wg      sync.WaitGroup // running fetches; close waits for them

	mu     sync.Mutex // guards what follows; a leaf lock
	c      *client.Client
	db     []string // tables, functions and params
	tables []string
	fields []string // of all tables, each once
	gql    bool     // ISO GQL is typed
}

// maxFieldTables is how many tables are asked for their fields.
const maxFieldTables = 200

func newNames(c *client.Client) *names {
	table := fn.Library()
	n := &names{c: c, base: slices.Clone(keywords), methods: table.MethodNames()}
	n.base = append(n.base, table.Names()...)
	return n
}

// refresh asks the database for its names again. It returns at once; an answer that does not come within two
// seconds, or a refusal, leaves the names as they are.
func (n *names) refresh(ctx context.Context) {
	n.mu.Lock()
	c := n.c
	n.mu.Unlock()
	n.wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		rs, err := c.Query(ctx, "INFO FOR DB", nil)
		if err != nil || len(rs) != 1 || rs[0].Value.Kind() != value.KindObject {
			return
		}
		var found, tables []string
		for section, prefix := range map[string]string{"tables": "", "functions": "fn::", "params": "$"} {
			for _, name := range namesIn(rs[0].Value, section) {
				found = append(found, prefix+name)
				if section == "tables" {
					tables = append(tables, name)
				}
			}
		}
		slices.Sort(found)
		slices.Sort(tables)
		fields := fieldsOf(ctx, c, tables)
		n.mu.Lock()
		n.db, n.tables, n.fields = found, tables, fields
		n.mu.Unlock()
	})
}

// namesIn are the names in a section of INFO.
func namesIn(info value.Value, section string) []string {
	if info.Kind() != value.KindObject {
		return nil
	}
	v, ok := info.Object().Get(section)
	if !ok || v.Kind() != value.KindObject {
		return nil
	}
	var out []string
	for _, f := range v.Object().Fields() {
		out = append(out, f.Name)
	}
	return out
}

// fieldsOf are the first parts of the names of the fields that tables define, sorted, each once.
func fieldsOf(ctx context.Context, c *client.Client, tables []string) []string {
	var text strings.Builder
	for _, t := range tables[:min(len(tables), maxFieldTables)] {
		text.WriteString("INFO FOR TABLE " + value.QuoteIdent(t) + ";")
	}
	if text.Len() == 0 {
		return nil
	}
	rs, err := c.Query(ctx, text.String(), nil)
	if err != nil {
		return nil // completion does without them
	}
	var out []string
	for _, r := range rs {
		for _, name := range namesIn(r.Value, "fields") {
			if i := strings.IndexAny(name, ".["); i > 0 {
				name = name[:i]
			}
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// connect goes on with another connection.
func (n *names) connect(c *client.Client) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.c = c
}

func (n *names) close() { n.wg.Wait() }

// speak notes which language is typed.
func (n *names) speak(gql bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gql = gql
}

// speaks reports whether GQL is typed.
func (n *names) speaks() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.gql
}

// matches are the names that start with prefix, without regard to case, by the character before it: in ServiceQL
// methods after a dot and else all others, in GQL properties after a dot, labels after a colon, and else keywords.
func (n *names) matches(prefix string, before rune) []string {
	n.mu.Lock()
	lists := [][]string{n.db, n.base}
	switch {
	case n.gql && before == '.':
		lists = [][]string{n.fields}
	case n.gql && before == ':':
		lists = [][]string{n.tables}
	case n.gql:
		lists = [][]string{gqlKeywords}
	case before == '.':
		lists = [][]string{n.methods}
	}
	n.mu.Unlock()
	var out []string
	for _, list := range lists {
		for _, name := range list {
			if len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
				out = append(out, name)
			}
		}
	}
	return out
}

// gqlKeywords are offered where GQL is typed.
var gqlKeywords = gql.Keywords()

// completer adapts names to readline: it answers the rest of each name after what is typed.
type completer struct{ names *names }

// Do implements readline.AutoCompleter.
func (c completer) Do(line []rune, pos int) (rest [][]rune, length int) {
	inGQL := c.names.speaks()
	start := pos
	for start > 0 && wordRune(line[start-1]) && !(inGQL && line[start-1] == ':') {
		start--
	}
	word := string(line[start:pos])
	var before rune
	if start > 0 {
		before = line[start-1]
	}
	if word == "" && !(inGQL && (before == '.' || before == ':')) {
		return nil, 0
	}
	if !inGQL && before == '.' && start > 1 && line[start-2] == '.' {
		before = 0 // behind two dots stands the end of a range
	}
	lower := word == strings.ToLower(word)
	for _, name := range c.names.matches(word, before) {
		tail := name[len(word):]
		if lower && (slices.Contains(keywords, name) || inGQL && before != '.' && before != ':') {
			tail = strings.ToLower(tail)
		}
		rest = append(rest, []rune(tail))
	}
	return rest, len([]rune(word))
}

func wordRune(r rune) bool {
	return r == '_' || r == ':' || r == '$' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
