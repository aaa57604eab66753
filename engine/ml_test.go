package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/dump/physical"
	"github.com/nacredb/nacre/engine/value"
)

const modelDir = "../testdata/models"

func modelFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(modelDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func importModel(t testing.TB, s *engine.Session, name string) {
	t.Helper()
	if _, err := s.ImportModel(t.Context(), bytes.NewReader(modelFile(t, "svml/"+name+".svml"))); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// answer is the value of the last statement of a text, or its error.
func lastAnswer(t testing.TB, s *engine.Session, text string) (value.Value, error) {
	t.Helper()
	res, err := s.Execute(t.Context(), text, nil)
	if err != nil {
		return value.None, err
	}
	last := res[len(res)-1]
	if last.Err != nil {
		return value.None, last.Err
	}
	return last.Value, nil
}

func wantAnswer(t testing.TB, s *engine.Session, text, want string) {
	t.Helper()
	v, err := lastAnswer(t, s, text)
	if err != nil || v.Text() != want {
		t.Errorf("%s\n got %s, %v\nwant %s", text, v.Text(), err, want)
	}
}

func wantRefusal(t testing.TB, s *engine.Session, text, want string) {
	t.Helper()
	if v, err := lastAnswer(t, s, text); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s\n got %s, %v\nwant the error %q", text, v.Text(), err, want)
	}
}

// modelCases are the calls of the data set.
func modelCases(t testing.TB) (out []struct {
	File, Name, Version string
	Cases               []struct {
		Raw, Number, Object json.RawMessage
		Result              []float64
		Error               string
	}
}) {
	var d struct{ Models json.RawMessage }
	if err := json.Unmarshal(modelFile(t, "expected.json"), &d); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(d.Models, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestModelCalls(t *testing.T) {
	s := owner(t, openQuiet(t))
	for _, m := range modelCases(t) {
		importModel(t, s, m.File)
		for i, c := range m.Cases {
			arg := slices.Concat(c.Raw, c.Number, c.Object)
			v, err := lastAnswer(t, s, fmt.Sprintf("RETURN ml::%s<%s>(%s)", m.Name, m.Version, arg))
			if strings.Contains(string(c.Object), "extra") { // the data set is for engines that pass over such a field
				c.Error = "no column"
			}
			if c.Error != "" {
				if err == nil {
					t.Errorf("%s, case %d: got %s, want an error", m.File, i, v.Text())
				}
				continue
			}
			if err != nil || v.Len() != len(c.Result) {
				t.Fatalf("%s, case %d: got %s, %v", m.File, i, v.Text(), err)
			}
			for j, want := range c.Result {
				if got := v.Elems()[j].Float(); math.Abs(got-want) > 1e-6+1e-5*math.Abs(want) {
					t.Errorf("%s, case %d: got %v, want %v", m.File, i, got, want)
				}
			}
		}
	}
}

func TestModelStatements(t *testing.T) {
	s := owner(t, openQuiet(t))
	importModel(t, s, "house")
	shown := "{ house: \"DEFINE MODEL ml::house<0.0.1> COMMENT 'price from area and floors' PERMISSIONS FULL\" }"
	wantAnswer(t, s, "(INFO FOR DB).models", shown)
	wantRefusal(t, s, "DEFINE MODEL ml::house<0.0.1>", "The model 'house' already exists")
	wantAnswer(t, s, "DEFINE MODEL IF NOT EXISTS ml::house<0.0.1> COMMENT 'x'; (INFO FOR DB).models", shown)
	wantAnswer(t, s, "DEFINE MODEL OVERWRITE ml::house<0.0.1> COMMENT 'mine' PERMISSIONS NONE; (INFO FOR DB).models",
		"{ house: \"DEFINE MODEL ml::house<0.0.1> COMMENT 'mine' PERMISSIONS NONE\" }")
	wantAnswer(t, s, "RETURN ml::house<0.0.1>([1, 1])", "[0.9375f]") // the file is still there
	wantAnswer(t, s, "RETURN ml::house<0.0.1>({ area: 500, floors: 1 })", "[152187.5f]")
	wantAnswer(t, s, "RETURN ml::house<0.0.1>([[1], [1]])", "[0.9375f]")
	wantAnswer(t, s, "ALTER MODEL ml::house<0.0.1> PERMISSIONS WHERE $auth.id = 1; (INFO FOR DB).models",
		`{ house: "DEFINE MODEL ml::house<0.0.1> COMMENT 'mine' PERMISSIONS WHERE $auth.id = 1" }`)
	wantAnswer(t, s, "ALTER MODEL ml::house<0.0.1> COMMENT 'ours' PERMISSIONS NONE; (INFO FOR DB).models",
		`{ house: "DEFINE MODEL ml::house<0.0.1> COMMENT 'ours' PERMISSIONS NONE" }`)
	wantAnswer(t, s, "RETURN ml::house<0.0.1>([1, 1])", "[0.9375f]") // its file is still there
	wantAnswer(t, s, "ALTER MODEL ml::house<0.0.1> DROP COMMENT PERMISSIONS NONE; (INFO FOR DB STRUCTURE).models.map(|$m| $m.chain(|$m| [$m.name, $m.version, $m.permissions, $m.comment, $m.size > 0]))",
		"[['house', '0.0.1', false, NONE, true]]")
	wantAnswer(t, s, "ALTER MODEL IF EXISTS ml::house<7.0.0> COMMENT 'x'", "NONE")
	wantRefusal(t, s, "ALTER MODEL ml::house<7.0.0> COMMENT 'x'", "The model 'ml::house<7.0.0>' does not exist")
	wantRefusal(t, s, "ALTER MODEL ml::house PERMISSIONS NONE", "Unexpected token")
	wantAnswer(t, s, "DEFINE MODEL ml::house<0.0.2>; RETURN object::keys((INFO FOR DB).models)",
		"['house<0.0.1>', 'house<0.0.2>']")
	wantRefusal(t, s, "RETURN ml::house<0.0.2>([1, 1])", "Failed to load model: no file for 'ml::house<0.0.2>'")
	wantAnswer(t, s, "REMOVE MODEL ml::house<0.0.2>; RETURN object::keys((INFO FOR DB).models)", "['house']")
	wantRefusal(t, s, "REMOVE MODEL ml::house<0.0.2>", "The model 'ml::house<0.0.2>' does not exist")
	wantAnswer(t, s, "REMOVE MODEL IF EXISTS ml::house<0.0.2>", "NONE")
	wantRefusal(t, s, "DEFINE MODEL ml::house<1.2.999>", "not a valid model version")
	wantRefusal(t, s, "RETURN ml::house<9.0.0>([1, 1])", "The model 'ml::house<9.0.0>' does not exist")
	for _, bad := range []string{"'x'", "['x']", "[1, 'x']", "NONE", "{ area: 'x', floors: 1 }", "1, 2", "", "[[1], [1, 2]]", "[1, [1]]"} {
		wantRefusal(t, s, "RETURN ml::house<0.0.1>("+bad+")", "Incorrect arguments for function ml::house<0.0.1>(). The model expects 1 argument")
	}
	wantRefusal(t, s, "RETURN ml::house<0.0.1>([1])", "Failed to reshape tensor to input dimensions")
	wantRefusal(t, s, "RETURN ml::house<0.0.1>({ area: 1 })", "Key floors not found in input values")
	wantRefusal(t, s, "RETURN ml::house<0.0.1>({ area: 1, floors: 1, x: 1 })", "Key x is not a column of the model")
	wantAnswer(t, s, "REMOVE MODEL ml::house<0.0.1>; (INFO FOR DB).models", "{  }")
	wantRefusal(t, s, "RETURN ml::house<0.0.1>([1, 1])", "does not exist")
}

// In a transaction calls see its models, and outside of it the ones that are committed.
func TestModelsOfATransaction(t *testing.T) {
	s := owner(t, openQuiet(t))
	importModel(t, s, "house")
	const call, gone = "RETURN ml::house<0.0.1>([1, 1])", "does not exist"
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	inside := func(text string) (value.Value, error) {
		res, err := tx.Execute(t.Context(), text, nil)
		if err != nil {
			return value.None, err
		}
		if last := res[len(res)-1]; last.Err != nil {
			return value.None, last.Err
		}
		return res[len(res)-1].Value, nil
	}
	if v, err := inside(call); err != nil || v.Text() != "[0.9375f]" {
		t.Errorf("%s, %v", v.Text(), err)
	}
	if _, err := inside("REMOVE MODEL ml::house<0.0.1>"); err != nil {
		t.Fatal(err)
	}
	if v, err := inside(call); err == nil || !strings.Contains(err.Error(), gone) {
		t.Errorf("removed: %s, %v", v.Text(), err)
	}
	wantAnswer(t, s, call, "[0.9375f]") // beside the transaction
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, s, call, gone)
}

func TestModelImports(t *testing.T) {
	s := owner(t, openQuiet(t))
	importModel(t, s, "house")
	importModel(t, s, "house") // the same file again
	var out bytes.Buffer
	if err := s.ExportModel(t.Context(), "house", "0.0.1", &out); err != nil || !bytes.Equal(out.Bytes(), modelFile(t, "svml/house.svml")) {
		t.Errorf("the export is another file: %v", err)
	}
	if err := s.ExportModel(t.Context(), "house", "0.0.3", io.Discard); err == nil || err.Error() != "Model house 0.0.3 not found" {
		t.Errorf("got %v", err)
	}
	other := bytes.Replace(modelFile(t, "svml/house.svml"), []byte("price from"), []byte("other from"), 1)
	if _, err := s.ImportModel(t.Context(), bytes.NewReader(other)); err == nil || err.Error() != "The model 'house' already exists" {
		t.Errorf("got %v", err)
	}
	// The same payload under another version is kept once.
	second := bytes.Replace(modelFile(t, "svml/house.svml"), []byte("0.0.1"), []byte("0.0.2"), 1)
	if _, err := s.ImportModel(t.Context(), bytes.NewReader(second)); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, s, "REMOVE MODEL ml::house<0.0.1>; RETURN ml::house<0.0.2>([1, 1])", "[0.9375f]")
	// A definition without a file gets it, and keeps what it says.
	wantAnswer(t, s, "DEFINE MODEL ml::logistic<2.0.3> COMMENT 'c' PERMISSIONS NONE", "NONE")
	importModel(t, s, "logistic")
	wantAnswer(t, s, "(INFO FOR DB).models.logistic", "\"DEFINE MODEL ml::logistic<2.0.3> COMMENT 'c' PERMISSIONS NONE\"")
}

// TestMalformedModels imports each malformed file: it is refused and nothing stays, or its call fails.
func TestMalformedModels(t *testing.T) {
	var d struct {
		Bad []struct{ Name, When, Why, Match string }
	}
	if err := json.Unmarshal(modelFile(t, "expected.json"), &d); err != nil || len(d.Bad) < 47 {
		t.Fatal(err, len(d.Bad))
	}
	e := openQuiet(t)
	s := owner(t, e)
	for _, tc := range d.Bad {
		h, err := s.ImportModel(t.Context(), bytes.NewReader(modelFile(t, "bad/"+tc.Name+".svml")))
		if err == nil {
			if tc.When == "import" {
				t.Errorf("%s was imported: %s", tc.Name, tc.Why)
			}
			start := time.Now()
			_, err = lastAnswer(t, s, fmt.Sprintf("RETURN ml::%s<%s>([1, 1])", h.Name, h.Version))
			t.Logf("%s: %v after %v", tc.Name, err, time.Since(start))
			wantAnswer(t, s, fmt.Sprintf("REMOVE MODEL ml::%s<%s>", h.Name, h.Version), "NONE")
		}
		if err == nil || !strings.Contains(err.Error(), tc.Match) {
			t.Errorf("%s: got %v, want %q", tc.Name, err, tc.Match)
		}
		wantAnswer(t, s, "(INFO FOR DB).models", "{  }")
		if n := countBlobs(t, e); n != 0 {
			t.Fatalf("%s left %d parts in the store", tc.Name, n)
		}
	}
}

// countBlobs counts the parts of model files in a backup.
func countBlobs(t testing.TB, e *engine.Engine) uint64 {
	t.Helper()
	m, err := e.Backup(t.Context(), io.Discard, physical.BackupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m.Classes["model"].Keys
}

// brokenReader ends with an error after some bytes.
type brokenReader struct {
	b []byte
}

var errBroken = errors.New("the connection broke")

func (r *brokenReader) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, errBroken
	}
	n := copy(p, r.b)
	r.b = r.b[n:]
	return n, nil
}

func TestABrokenModelImportLeavesNothing(t *testing.T) {
	e := openQuiet(t)
	s := owner(t, e)
	b := modelFile(t, "svml/house.svml")
	long := append(slices.Clone(b), make([]byte, 20<<20)...)
	for _, cut := range []int{2, 100, len(b) - 5, len(b) + 6<<20} {
		if _, err := s.ImportModel(t.Context(), &brokenReader{long[:cut]}); !errors.Is(err, errBroken) {
			t.Errorf("cut at %d: %v", cut, err)
		}
		if n := countBlobs(t, e); n != 0 {
			t.Errorf("cut at %d: %d parts are left", cut, n)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := s.ImportModel(ctx, bytes.NewReader(b)); err == nil {
		t.Error("an import went on after its end")
	}
	wantAnswer(t, s, "(INFO FOR DB).models", "{  }")
}

// TestModelsOfManyRows compares a SELECT that computes rows together with one that does not.
func TestModelsOfManyRows(t *testing.T) {
	s := owner(t, openQuiet(t))
	e, err := engine.Open(t.Context(), "memory", engine.Options{NoDefaults: true, PlannerRulesOff: []string{"model-batch"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	plain := owner(t, e)
	for _, x := range []*engine.Session{s, plain} {
		importModel(t, x, "house")
		importModel(t, x, "mlp_torch")
		importModel(t, x, "lstm_small")
		wantAnswer(t, x, `FOR $i IN 0..1500 { CREATE type::record('h', $i) SET area = 500 + $i, floors = 1 + $i % 3,
			odd = IF $i % 7 = 0 THEN 'x' ELSE $i END, v = [$i, 1, 2, 3] };`, "NONE")
	}
	for _, text := range []string{
		"SELECT id, ml::house<0.0.1>({ area: area, floors: floors })[0] AS price FROM h",
		"SELECT VALUE ml::house<0.0.1>({ area: area, floors: floors }) FROM h WHERE ml::house<0.0.1>([area, floors])[0] > 1000",
		"SELECT ml::mlp_torch<0.0.2>(v) AS a, ml::house<0.0.1>([area, floors]) AS b FROM h ORDER BY id DESC LIMIT 20 START 5",
		"SELECT VALUE IF floors = 2 THEN ml::house<0.0.1>([area, 1]) ELSE 0 END FROM h",
		"SELECT VALUE ml::lstm_small<0.1.0>([area, 1, 2, 3, 4, 5, 6, floors]) FROM h LIMIT 30",
		"SELECT math::sum(ml::house<0.0.1>([area, floors])[0]) FROM h GROUP ALL",
		"SELECT ml::house<0.0.1>([odd, floors]) FROM h",
		"SELECT ml::house<0.0.1>([area, floors]) FROM (SELECT * FROM h WHERE floors = 1)",
	} {
		got, err := lastAnswer(t, s, text)
		want, wantErr := lastAnswer(t, plain, text)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || got.Text() != want.Text() {
			t.Errorf("%s\n together: %.300s, %v\n apart:    %.300s, %v", text, got.Text(), err, want.Text(), wantErr)
		}
	}
}

func TestModelsInDefinitions(t *testing.T) {
	s := owner(t, openQuiet(t))
	importModel(t, s, "house")
	wantAnswer(t, s, `DEFINE FIELD price ON h COMPUTED ml::house<0.0.1>({ area: area, floors: floors })[0];
		DEFINE FUNCTION fn::price($a: number) { RETURN ml::house<0.0.1>({ area: $a, floors: 1 })[0] };
		CREATE h:1 SET area = 500, floors = 1; SELECT price, fn::price(500) AS f FROM h`, "[{ f: 152187.5f, price: 152187.5f }]")
	wantAnswer(t, s, `DEFINE EVENT e ON h WHEN $event = 'UPDATE' THEN { CREATE log SET p = ml::house<0.0.1>([1, 1]) };
		UPDATE h:1 SET floors = 2; SELECT VALUE p FROM log`, "[[0.9375f]]")
}

func TestModelsEndInTime(t *testing.T) {
	s := owner(t, openQuiet(t))
	if _, err := s.ImportModel(t.Context(), bytes.NewReader(modelFile(t, "bad/endless_loop.svml"))); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, s, "SELECT VALUE ml::m<1.0.0>([1, 1]) FROM [1, 2, 3] TIMEOUT 50ms", "exceeded the timeout")
}
