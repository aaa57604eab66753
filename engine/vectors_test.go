package engine_test

import (
	"context"
	"testing"

	"github.com/nacredb/nacre/engine"
)

// TestVectorIndexesOfTwoTables have the same id, which counts within a table, and nothing else in common.
func TestVectorIndexesOfTwoTables(t *testing.T) {
	ctx := context.Background()
	e, err := engine.Open(ctx, "memory", engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	s := e.RootSession()
	for _, db := range []string{"x", "y"} {
		ns := "n"
		if err := s.Use(ctx, &ns, &db); err != nil {
			t.Fatal(err)
		}
		mustRun(t, s, `DEFINE INDEX v ON a FIELDS e HNSW DIMENSION 2; DEFINE INDEX v ON b FIELDS e HNSW DIMENSION 2;
			CREATE a:`+db+` SET e = [1, 1]; CREATE a:far SET e = [5, 5]; CREATE b:`+db+` SET e = [100, 1]; CREATE b:far SET e = [200, 5];`)
		got := mustRun(t, s, `SELECT VALUE id FROM a WHERE e <|1,40|> [1, 1]; SELECT VALUE id FROM b WHERE e <|1,40|> [100, 1];
			SELECT VALUE id FROM a WHERE e <|5,40|> [1, 1]`)
		for i, want := range []string{"[a:" + db + "]", "[b:" + db + "]", "[a:" + db + ", a:far]"} {
			if have := got[i].Value.Text(); have != want {
				t.Errorf("database %s, query %d: got %s, want %s", db, i, have, want)
			}
		}
	}
}
