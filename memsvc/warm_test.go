package memsvc_test

import (
	"fmt"
	"sync"
	"testing"
)

// TestSearchesBesideWrites holds that a search finds what was written just before, while other writes go on and
// indexes follow them in the background, and that a stop ends that work.
func TestSearchesBesideWrites(t *testing.T) {
	s := start(t)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 8 {
				word := fmt.Sprintf("zeppelin%d%c", w, 'a'+i)
				if a := s.send(s.key, "POST", "/api/v1/main/facts/batch", map[string]any{"infer": "none",
					"messages": []any{map[string]any{"content": "I saw the " + word + " over the harbour."},
						map[string]any{"content": "It was late."}}}); a.status != 200 {
					t.Errorf("write: %d %s", a.status, a.raw)
				}
				a := s.send(s.key, "POST", "/api/v1/main/query", map[string]any{"query": word, "k": 1})
				if want := "I saw the " + word + " over the harbour."; a.str("hits", 0, "text") != want {
					t.Errorf("%s: got %s", word, a.raw)
				}
			}
		})
	}
	wg.Wait()
	s.post(200, "/facts", map[string]any{"text": "The last word.", "infer": "none"})
	s.stop()
}
