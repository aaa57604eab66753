package engine_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
)

// FuzzGQL runs arbitrary programs: they end within their limits, and none causes an internal error.
func FuzzGQL(f *testing.F) {
	for _, path := range []string{"testdata/gql/examples.txt", "testdata/gql/more.txt"} {
		for _, c := range readGQL(f, path) {
			f.Add(c.text)
		}
	}
	scene, err := os.ReadFile("testdata/gql/scene.surql")
	if err != nil {
		f.Fatal(err)
	}
	s := openedGQL(f, engine.Options{Memory: 64 << 20, Limits: engine.Limits{QueryTimeout: 2 * time.Second,
		Rows: 1 << 14, Array: 1 << 14,
		Text: 1 << 20, Answer: 4 << 20, TxBytes: 4 << 20, GraphPaths: 5000, GraphRows: 5000, GraphJoins: 5000}})
	runGQLSetup(f, s, string(scene))
	f.Fuzz(func(t *testing.T, text string) {
		tx, err := s.Begin(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Cancel(context.Background()) }()
		res, err := tx.GQL(context.Background(), text, nil)
		if err != nil {
			return
		}
		if res[0].Err != nil && strings.Contains(res[0].Err.Msg, "internal error") {
			t.Fatalf("%q: %v", text, res[0].Err)
		}
	})
}
