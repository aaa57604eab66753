package telemetry

import (
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// operationKey names a class of GraphQL operations; the names are a closed set.
type operationKey struct{ kind, class string }

// GraphQL counts an operation: its kind (query, mutation, subscription, batch, unknown), and the class of its error, ""
// for none, client or timeout.
func (m *Metrics) GraphQL(kind, class string, d time.Duration) {
	if m == nil {
		return
	}
	key := operationKey{kind, class}
	m.mu.Lock()
	o := m.operations[key]
	if o == nil {
		o = &outcome{}
		m.operations[key] = o
	}
	m.mu.Unlock()
	o.observe(d, class == "")
}

func (m *Metrics) writeGraphQL(w io.Writer) {
	m.mu.Lock()
	rows := maps.Clone(m.operations)
	m.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(rows), func(a, b operationKey) int {
		return strings.Compare(a.kind+" "+a.class, b.kind+" "+b.class)
	})
	labels := func(k operationKey) string {
		status := "ok"
		if k.class != "" {
			status = "error"
		}
		return `type="` + k.kind + `",outcome="` + status + `",error="` + k.class + `"`
	}
	family(w, "surrealdb_graphql_operation_total", "counter", "GraphQL operations.")
	for _, k := range keys {
		line(w, "surrealdb_graphql_operation_total", labels(k), float64(rows[k].ok.Load()+rows[k].failed.Load()))
	}
	family(w, "surrealdb_graphql_operation_duration_seconds", "histogram", "Time of GraphQL operations.")
	for _, k := range keys {
		rows[k].spent.write(w, "surrealdb_graphql_operation_duration_seconds", labels(k))
	}
}
