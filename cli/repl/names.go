package repl

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/cli/advice"
	"github.com/nacredb/nacre/cli/complete"
	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/value"
)

// names holds the names of the database, fetched in the background so that typing never waits.
type names struct {
	wg   sync.WaitGroup // running fetches; close ends them and waits for them
	end  context.Context
	stop context.CancelFunc

	mu    sync.Mutex      // guards what follows; a leaf lock
	last  <-chan struct{} // closed when the last fetch is over; nil before the first
	c     *client.Client
	found complete.Names
	gql   bool   // ISO GQL is typed
	begun string // the lines before the one that is typed
}

// The bounds of a fetch: its time, and how many tables are asked for their fields. For a table without definitions of
// fields one record is read instead, for a smaller number of tables.
const (
	fetchTime        = time.Minute
	maxFieldTables   = 200
	maxSampledTables = 50
)

func newNames(c *client.Client) *names {
	end, stop := context.WithCancel(context.Background())
	return &names{c: c, end: end, stop: stop}
}

// refresh asks the database for its names again. It returns at once; an answer that does not come in time, or a
// refusal, leaves the names as they are.
func (n *names) refresh() {
	over := make(chan struct{})
	n.mu.Lock()
	c := n.c
	n.last = over
	n.mu.Unlock()
	n.wg.Go(func() {
		defer close(over)
		ctx, cancel := context.WithTimeout(n.end, fetchTime)
		defer cancel()
		rs, err := c.Query(ctx, "INFO FOR DB; INFO FOR NS; INFO FOR ROOT", nil)
		if err != nil || len(rs) != 3 {
			return
		}
		found := complete.Names{
			Tables:     namesIn(rs[0].Value, "tables", ""),
			Params:     namesIn(rs[0].Value, "params", "$"),
			Databases:  namesIn(rs[1].Value, "databases", ""),
			Namespaces: namesIn(rs[2].Value, "namespaces", ""),
		}
		for name, definition := range section(rs[0].Value, "functions") {
			found.Functions = append(found.Functions,
				complete.Function{Name: "fn::" + name, Signature: signatureOf(name, definition)})
		}
		slices.SortFunc(found.Functions, func(a, b complete.Function) int { return strings.Compare(a.Name, b.Name) })
		found.Fields = fieldsOf(ctx, c, found.Tables)
		n.mu.Lock()
		n.found = found
		n.mu.Unlock()
	})
}

// section is a section of INFO: names and their definitions.
func section(info value.Value, name string) map[string]string {
	if info.Kind() != value.KindObject {
		return nil
	}
	v, ok := info.Object().Get(name)
	if !ok || v.Kind() != value.KindObject {
		return nil
	}
	list := map[string]string{}
	for _, f := range v.Object().Fields() {
		text := ""
		if f.Value.Kind() == value.KindString {
			text = f.Value.Str()
		}
		list[f.Name] = text
	}
	return list
}

// namesIn are the names in a section of INFO, in order, each behind prefix.
func namesIn(info value.Value, name, prefix string) []string {
	var out []string
	for n := range section(info, name) {
		out = append(out, prefix+n)
	}
	slices.Sort(out)
	return out
}

// signatureOf is the name of a function with its parameters and result, from its definition.
func signatureOf(name, definition string) string {
	_, rest, ok := strings.Cut(definition, "fn::"+name)
	if !ok {
		return "fn::" + name + "(…)"
	}
	head, _, _ := strings.Cut(rest, "{")
	return "fn::" + name + strings.TrimSpace(head)
}

// fieldsOf are the fields of tables: those that are defined, or else those of a record.
func fieldsOf(ctx context.Context, c *client.Client, tables []string) map[string][]string {
	tables = tables[:min(len(tables), maxFieldTables)]
	var text strings.Builder
	for _, t := range tables {
		text.WriteString("INFO FOR TABLE " + value.QuoteIdent(t) + ";")
	}
	fields := map[string][]string{}
	rs, err := c.Query(ctx, text.String(), nil)
	if err != nil || len(rs) != len(tables) {
		return fields // completion does without them
	}
	var bare []string
	for i, t := range tables {
		if fields[t] = namesIn(rs[i].Value, "fields", ""); len(fields[t]) == 0 && len(bare) < maxSampledTables {
			bare = append(bare, t)
		}
	}
	text.Reset()
	for _, t := range bare {
		text.WriteString("SELECT * FROM " + value.QuoteIdent(t) + " LIMIT 5;")
	}
	if rs, err = c.Query(ctx, text.String(), nil); err != nil || len(rs) != len(bare) {
		return fields
	}
	for i, t := range bare {
		if v := rs[i].Value; rs[i].Err == nil && v.Kind() == value.KindArray {
			for _, e := range v.Elems() {
				fields[t] = paths(fields[t], "", e)
			}
			slices.Sort(fields[t])
			fields[t] = slices.Compact(fields[t])
		}
	}
	return fields
}

// maxPath is how deep the paths of a record are looked at.
const maxPath = 4

// paths adds the paths of the fields of an object to list.
func paths(list []string, prefix string, v value.Value) []string {
	if v.Kind() != value.KindObject || strings.Count(prefix, ".") >= maxPath {
		return list
	}
	for _, f := range v.Object().Fields() {
		list = append(list, prefix+f.Name)
		list = paths(list, prefix+f.Name+".", f.Value)
	}
	return list
}

// connect goes on with another connection.
func (n *names) connect(c *client.Client) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.c = c
}

func (n *names) close() {
	n.stop()
	n.wg.Wait()
}

// speak notes which language is typed.
func (n *names) speak(gql bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gql = gql
}

// begin notes the lines that the next one goes on.
func (n *names) begin(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.begun = text
}

// known are the names for advice on errors. It waits for a fetch that is under way.
func (n *names) known(ctx context.Context) advice.Names {
	n.mu.Lock()
	last := n.last
	n.mu.Unlock()
	if last != nil {
		select {
		case <-last:
		case <-ctx.Done():
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	list := advice.Names{Tables: n.found.Tables, Namespaces: n.found.Namespaces, Databases: n.found.Databases,
		Params: n.found.Params}
	for _, f := range n.found.Functions {
		list.Functions = append(list.Functions, f.Name)
	}
	return list
}
