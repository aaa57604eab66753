//go:build unix

package engine_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// TestFilteredNearest compares filtered searches of an HNSW index with those that measure all rows, for filters that
// let through most rows, few or none, for one who may see everything and one who may see a third of the rows.
func TestFilteredNearest(t *testing.T) {
	e := openBolt(t)
	s := owner(t, e)
	fillNear(t, s, 4000, 16)
	run(t, s, `UPDATE pt SET n = record::id(id) * 7919 % 4000, pub = record::id(id) % 3 = 0 RETURN NONE;
		DEFINE TABLE OVERWRITE pt PERMISSIONS FOR select WHERE pub;
		DEFINE INDEX h ON pt FIELDS v HNSW DIMENSION 16 DIST EUCLIDEAN EFC 100`)
	sees := map[bool]*engine.Session{false: s, true: recordUser(e)}
	for only, s := range sees {
		found, all := 0, 0
		for _, filter := range []string{`n < 3600`, `n < 2000`, `n < 400`, `g = 3`, `n < 40`, `n < 4`, `n < 0`, `n >= 0`,
			`vector::distance::knn() > 15`, `n < 800 AND vector::distance::knn() > 15`} {
			for q := range 12 {
				query := value.Field{Name: "q", Value: run(t, sees[false], fmt.Sprintf("RETURN pt:%d.v", q*331))[0].Value}
				got := nearRows(t, s, fmt.Sprintf(`v <|10,60|> $q AND %s`, filter), query)
				want := exactRows(t, s, filter, query)
				for i, r := range got {
					if i > 0 && r.far < got[i-1].far || r.far != r.knn || only && !r.pub {
						t.Fatalf("%s: row %d of %v", filter, i, got)
					}
				}
				for _, w := range want {
					if slices.Contains(got, w) {
						found++
					}
				}
				all += len(want)
				if len(got) != len(want) {
					t.Errorf("%s: %d rows, want %d", filter, len(got), len(want))
				}
			}
		}
		if all < 500 || found*100 < all*97 {
			t.Errorf("seeing a part %t: %d of %d rows were found", only, found, all)
		}
	}
}

// nearRow is a row that is near a question.
type nearRow struct {
	id       string
	far, knn float64
	pub      bool
}

// nearRows are the rows that a WHERE finds, with what the query says of their distances.
func nearRows(t *testing.T, s *engine.Session, where string, query value.Field) (out []nearRow) {
	t.Helper()
	text := `SELECT id, pub, vector::distance::euclidean(v, $q) AS far, vector::distance::knn() AS knn
		FROM pt WHERE ` + where
	for _, row := range run(t, s, text, query)[0].Value.Elems() {
		get := func(name string) value.Value { v, _ := row.Object().Get(name); return v }
		out = append(out, nearRow{get("id").Text(), round(get("far")), round(get("knn")), get("pub") == value.Bool(true)})
	}
	return out
}

// exactRows are the ten nearest rows by a filter, found by measuring all rows.
func exactRows(t *testing.T, s *engine.Session, filter string, query value.Field) (out []nearRow) {
	t.Helper()
	filter = strings.ReplaceAll(filter, "vector::distance::knn()", "vector::distance::euclidean(v, $q)")
	text := `SELECT id, pub, vector::distance::euclidean(v, $q) AS far FROM pt WHERE ` + filter + ` ORDER BY far LIMIT 10`
	for _, row := range run(t, s, text, query)[0].Value.Elems() {
		get := func(name string) value.Value { v, _ := row.Object().Get(name); return v }
		far := round(get("far"))
		out = append(out, nearRow{get("id").Text(), far, far, get("pub") == value.Bool(true)})
	}
	return out
}

// round leaves out of a distance what vectors lose as they are kept in the index.
func round(d value.Value) float64 { return math.Round(d.AsFloat()*1000) / 1000 }
