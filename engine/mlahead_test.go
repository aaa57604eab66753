package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/ml"
	"github.com/nacredb/nacre/internal/onnxtest"
)

// importMade imports a model that a test makes, of columns c0, c1, ….
func importMade(t testing.TB, s *engine.Session, name string, columns int, payload []byte) {
	t.Helper()
	h := ml.Header{Name: name, Version: ml.Version{1, 0, 0}}
	for i := range columns {
		h.Keys = append(h.Keys, fmt.Sprint("c", i))
	}
	if _, err := s.ImportModel(t.Context(), bytes.NewReader(append(h.Bytes(), payload...))); err != nil {
		t.Fatal(err)
	}
}

// unlike opens an engine with rules of the planner switched off, and gives its owner.
func unlike(t testing.TB, rules ...string) *engine.Session {
	t.Helper()
	e, err := engine.Open(t.Context(), "memory", engine.Options{NoDefaults: true, PlannerRulesOff: rules})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return owner(t, e)
}

// TestBatchesBesideTheStatement compares batches that another goroutine computes with ones that the statement computes,
// and with single calls: of a light model, of one that needs more memory than that goroutine may take, and of both.
func TestBatchesBesideTheStatement(t *testing.T) {
	sessions := []*engine.Session{owner(t, openQuiet(t)), unlike(t, "parallel-scan"), unlike(t, "model-batch")}
	for _, s := range sessions {
		importMade(t, s, "light", 3, onnxtest.Linear(3))
		importMade(t, s, "heavy", 3, onnxtest.Perceptron(3, 5000, 1))
		wantAnswer(t, s, `FOR $i IN 0..4000 { CREATE type::record('t', $i) SET c0 = $i, c1 = $i % 7, c2 = 0.5,
			none = IF $i % 100 = 7 THEN NONE ELSE 1 END };`, "NONE")
	}
	for _, text := range []string{
		"SELECT id, ml::light<1.0.0>([c0, c1, c2]) AS x FROM t",
		"SELECT id, ml::light<1.0.0>({ c0: c0, c1: c1, c2: c2 }) AS x, ml::heavy<1.0.0>([c0, c1, c2]) AS y FROM t",
		"SELECT VALUE [ml::light<1.0.0>([c0, c1, c2]), ml::heavy<1.0.0>([c0 / 2, c1, c2])] FROM t START 700 LIMIT 900",
		"SELECT VALUE none ?: ml::light<1.0.0>([c0, c1, c2]) FROM t",
		"SELECT VALUE none && ml::light<1.0.0>([c0, c1, none]) FROM t",
		"SELECT VALUE ml::light<1.0.0>([c0, c1, none]) FROM t",
		"SELECT VALUE ml::light<1.0.0>([c0, c1]) FROM t",
	} {
		want, wantErr := lastAnswer(t, sessions[2], text)
		for i, s := range sessions[:2] {
			got, err := lastAnswer(t, s, text)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) || got.Text() != want.Text() {
				t.Errorf("%s, engine %d\n got %.300s, %v\nwant %.300s, %v", text, i, got.Text(), err, want.Text(), wantErr)
			}
		}
	}
}

// TestAnEndedStatementLeavesNoBatch ends statements while a batch is computed beside them.
func TestAnEndedStatementLeavesNoBatch(t *testing.T) {
	s := owner(t, openQuiet(t))
	importMade(t, s, "light", 3, onnxtest.Perceptron(3, 64, 1))
	wantAnswer(t, s, "FOR $i IN 0..4000 { CREATE t SET c0 = $i, c1 = 1, c2 = 2 };", "NONE")
	for limit := 330; limit < 360; limit++ { // about where the first batch comes that another goroutine computes
		text := fmt.Sprintf("SELECT VALUE ml::light<1.0.0>([c0, c1, c2])[0] FROM t LIMIT %d", limit)
		v, err := lastAnswer(t, s, text)
		if err != nil || v.Len() != limit {
			t.Fatal(v.Len(), err)
		}
	}
	for row := 330; row < 360; row++ {
		wantRefusal(t, s, fmt.Sprintf("SELECT VALUE [ml::light<1.0.0>([c0, c1, c2])[0], IF c0 = %d { THROW 'stop' }] FROM t", row),
			"stop")
	}
}
