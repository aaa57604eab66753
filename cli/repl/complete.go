package repl

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/fn"
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

	mu sync.Mutex // guards c and db; a leaf lock
	c  *client.Client
	db []string
}

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
		var found []string
		for section, prefix := range map[string]string{"tables": "", "functions": "fn::", "params": "$"} {
			if v, ok := rs[0].Value.Object().Get(section); ok && v.Kind() == value.KindObject {
				for _, f := range v.Object().Fields() {
					found = append(found, prefix+f.Name)
				}
			}
		}
		slices.Sort(found)
		n.mu.Lock()
		n.db = found
		n.mu.Unlock()
	})
}

// connect goes on with another connection.
func (n *names) connect(c *client.Client) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.c = c
}

func (n *names) close() { n.wg.Wait() }

// matches are the names that start with prefix, without regard to case: those of methods after a dot, else all others.
func (n *names) matches(prefix string, afterDot bool) []string {
	n.mu.Lock()
	lists := [][]string{n.db, n.base}
	n.mu.Unlock()
	if afterDot {
		lists = [][]string{n.methods}
	}
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

// completer adapts names to readline: it answers the rest of each name after what is typed.
type completer struct{ names *names }

// Do implements readline.AutoCompleter.
func (c completer) Do(line []rune, pos int) (rest [][]rune, length int) {
	start := pos
	for start > 0 && wordRune(line[start-1]) {
		start--
	}
	word := string(line[start:pos])
	if word == "" {
		return nil, 0
	}
	lower := word == strings.ToLower(word)
	// Behind one dot stands a method (or a field, of which nothing is known); behind two, the end of a range.
	afterDot := start > 0 && line[start-1] == '.' && !(start > 1 && line[start-2] == '.')
	for _, name := range c.names.matches(word, afterDot) {
		tail := name[len(word):]
		if lower && slices.Contains(keywords, name) {
			tail = strings.ToLower(tail)
		}
		rest = append(rest, []rune(tail))
	}
	return rest, len([]rune(word))
}

func wordRune(r rune) bool {
	return r == '_' || r == ':' || r == '$' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
