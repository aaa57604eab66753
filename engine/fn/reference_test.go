package fn_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacredb/nacre/engine/fn"
)

var update = flag.Bool("update", false, "write docs/functions.md anew")

func TestReferenceIsCurrent(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "functions.md")
	var want bytes.Buffer
	if err := fn.Library().WriteReference(&want); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/functions.md is not what the table says: run go generate ./engine/fn")
	}
}
