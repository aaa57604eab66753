package engine_test

import (
	"bytes"
	"testing"

	"github.com/nacredb/nacre/engine"
)

// TestModelsGoThroughADump: a dump has the definitions, if it is asked for them. The importer makes the same ones, and
// each waits for its file, which it takes with what the dump said.
func TestModelsGoThroughADump(t *testing.T) {
	s := owner(t, openQuiet(t))
	importModel(t, s, "house")
	importModel(t, s, "celsius")
	wantAnswer(t, s, "ALTER MODEL ml::house<0.0.1> COMMENT 'mine' PERMISSIONS WHERE $auth.id = 1", "NONE")
	opt := engine.DefaultExport()
	opt.Models = true
	var dump bytes.Buffer
	if err := s.Export(t.Context(), &dump, opt); err != nil {
		t.Fatal(err)
	}
	other := owner(t, openQuiet(t))
	res, err := other.Import(t.Context(), bytes.NewReader(dump.Bytes()), engine.ImportOptions{})
	if err != nil || res.Failures > 0 {
		t.Fatal(err, res)
	}
	models, err := lastAnswer(t, s, "(INFO FOR DB).models")
	if err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, other, "(INFO FOR DB).models", models.Text())
	wantRefusal(t, other, "RETURN ml::house<0.0.1>([1, 1])", "no file for 'ml::house<0.0.1>'")
	importModel(t, other, "house")
	importModel(t, other, "celsius")
	wantAnswer(t, other, "(INFO FOR DB).models", models.Text())
	wantAnswer(t, other, "RETURN ml::house<0.0.1>([1, 1])", "[0.9375f]")
}
