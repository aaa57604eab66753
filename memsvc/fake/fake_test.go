package fake_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nacredb/nacre/memsvc/fake"
)

// ask posts a body to a provider with a seed.
func ask(t *testing.T, seed uint64, path, body string) string {
	t.Helper()
	f, err := fake.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Seed(seed)
	w := httptest.NewRecorder()
	f.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// vectors reads the embeddings of an answer on either wire.
func vectors(t *testing.T, answer string) (out [][]float64) {
	t.Helper()
	var v struct {
		Data       []struct{ Embedding []float64 }
		Embeddings []struct{ Values []float64 }
	}
	if err := json.Unmarshal([]byte(answer), &v); err != nil {
		t.Fatal(err)
	}
	for _, d := range v.Data {
		out = append(out, d.Embedding)
	}
	for _, e := range v.Embeddings {
		out = append(out, e.Values)
	}
	return out
}

func cosine(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// TestSeedMakesAnotherModel holds that a seed changes what is said and the space of embeddings, not the angles in it,
// and that the same seed answers the same.
func TestSeedMakesAnotherModel(t *testing.T) {
	const chat = `{"model": "m", "messages": [{"role": "user",
		"content": "[S1] (turn) The otter sleeps.\nQuestion: Where does the otter sleep?"}]}`
	const texts = `{"model": "m", "input": ["the otter sleeps under the pier", "an otter under a pier"]}`
	for seed := range uint64(3) {
		if a, b := ask(t, seed, "/v1/chat/completions", chat), ask(t, seed, "/v1/chat/completions", chat); a != b {
			t.Errorf("seed %d answers twice: %s, %s", seed, a, b)
		}
	}
	if a, b := ask(t, 0, "/v1/chat/completions", chat), ask(t, 1, "/v1/chat/completions", chat); a == b {
		t.Errorf("seeds 0 and 1 both say %s", a)
	}
	zero, one := vectors(t, ask(t, 0, "/v1/embeddings", texts)), vectors(t, ask(t, 1, "/v1/embeddings", texts))
	if d := cosine(zero[0], zero[1]) - cosine(one[0], one[1]); d > 1e-6 || d < -1e-6 {
		t.Errorf("the angle between two texts differs by %g", d)
	}
	if c := cosine(zero[0], one[0]); c > 0.5 {
		t.Errorf("the spaces of two seeds are near: %g", c)
	}
	google := vectors(t, ask(t, 1, "/v1beta/models/m:batchEmbedContents",
		`{"requests": [{"content": {"parts": [{"text": "the otter sleeps under the pier"}]}}]}`))
	if c := cosine(google[0], one[0]); c < 0.999 {
		t.Errorf("the wires embed apart: %g", c)
	}
}

// TestClipPutsImagesBesideTheirWords holds that images and texts are in one space of 3072 dimensions, and that the
// fault width is another one.
func TestClipPutsImagesBesideTheirWords(t *testing.T) {
	image := base64.StdEncoding.EncodeToString([]byte("\x89PNG TEXT:a red barn"))
	v := vectors(t, ask(t, 0, "/clip", `{"model": "c", "input": [{"image": "data:image/png;base64,`+image+
		`"}, {"text": "a red barn"}, {"text": "tax law"}]}`))
	if len(v) != 3 || len(v[0]) != 3072 || cosine(v[0], v[1]) < 0.99 || cosine(v[0], v[2]) > 0.5 {
		t.Errorf("%d vectors of %d, cosines %g and %g", len(v), len(v[0]), cosine(v[0], v[1]), cosine(v[0], v[2]))
	}
	if v = vectors(t, ask(t, 0, "/clip", `{"model": "c~width", "input": [{"text": "a"}]}`)); len(v[0]) != 512 {
		t.Errorf("~width has %d dimensions", len(v[0]))
	}
}
