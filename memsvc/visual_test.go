package memsvc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/internal/inprocess"
	"github.com/nacredb/nacre/memsvc"
	"github.com/nacredb/nacre/memsvc/config"
	"github.com/nacredb/nacre/memsvc/store"
)

const png = "\x89PNG\r\n\x1a\n "

// image uploads an image and waits for its end.
func (s *service) image(title, shows, profile, want string) answer {
	s.t.Helper()
	d := s.upload(202, s.key, "/api/v1/main/documents", "POST", "a.png",
		`{"title": "`+title+`", "profile": "`+profile+`"}`, []byte(png+"TEXT:"+shows))
	return s.ready(d.str("id"), want)
}

// TestImagesAreFoundByWhatTheyShow holds visual embeddings: an image without a word is found by a question about what
// it shows, with the profile MultimodalFull only, and no more after it was deleted. Vectors of another width are a
// permanent error.
func TestImagesAreFoundByWhatTheyShow(t *testing.T) {
	p := startProvider(t)
	s := start(t, "MEMSVC_CLIP_URL", p.url+"/clip", "MEMSVC_CLIP_MODEL", "clip-1", "MEMSVC_CLIP_API_KEY", "clip-key")
	s.post(200, "/facts", map[string]any{"text": "The tax office opens at nine.", "infer": "none"})
	red := s.image("IMG_0001", "a red barn beside a lake", "MultimodalFull", "ready")
	s.image("IMG_0002", "two kittens on a sofa", "MultimodalFull", "ready")
	failed := s.image("IMG_0003", "a red barn in the snow", "StandardMultimodal", "failed")
	if !strings.Contains(failed.str("error"), "no words") {
		t.Errorf("without words and without a vector: %s", failed.raw)
	}
	found := func(question string) string {
		a := s.post(200, "/query", map[string]any{"query": question})
		return a.str("hits", 0, "documentTitle")
	}
	if got := found("a red barn beside a lake"); got != "IMG_0001" {
		t.Errorf("the barn: %q", got)
	}
	if got := found("kittens on a sofa"); got != "IMG_0002" {
		t.Errorf("the kittens: %q", got)
	}
	a := s.post(200, "/documents/query", `{"query": "a red barn beside a lake", "mode": "vector"}`)
	if a.str("results", 0, "document", "title") != "IMG_0001" {
		t.Errorf("/documents/query: %s", a.raw)
	}
	if a = s.post(200, "/query", `{"query": "a red barn beside a lake", "mode": "bm25"}`); len(a.list("hits")) != 0 {
		t.Errorf("bm25 looks at images: %s", a.raw)
	}
	log := p.Log()
	if got := log[len(log)-1]; got.Path != "/clip" || got.Key != "clip-key" || got.Model != "clip-1" {
		t.Errorf("the last call is %s with %q", got.Path, got.Key)
	}
	s.must(204, s.key, "DELETE", "/api/v1/main/documents/"+red.str("id"), nil)
	if got := found("a red barn beside a lake"); got == "IMG_0001" {
		t.Error("a deleted image is found")
	}

	s = start(t, "MEMSVC_CLIP_URL", p.url+"/clip", "MEMSVC_CLIP_MODEL", "clip~width")
	if got := s.image("IMG", "a barn", "MultimodalFull", "failed").str("error"); !strings.Contains(got,
		"512 dimensions, not 3072") {
		t.Errorf("a vector of another width: %q", got)
	}
	jobs := s.must(200, managementKey, "GET", "/api/v1/contexts/main/jobs?status=dead", nil)
	if jobs.str("jobs", 0, "attempt") != "1" {
		t.Errorf("it was tried again: %s", jobs.raw)
	}
}

// programs puts programs of the test before those of the machine.
func programs(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, body := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// scan is a PDF of one page without text.
func scan() []byte {
	body, places := "%PDF-1.4\n", ""
	for i, o := range []string{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>"} {
		places += fmt.Sprintf("%010d 00000 n \n", len(body))
		body += fmt.Sprintf("%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	return fmt.Appendf(nil, "%sxref\n0 4\n0000000000 65535 f \n%strailer\n<</Size 4/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n",
		body, places, len(body))
}

// TestLocalRecognitionOfText holds MEMSVC_OCR_LOCAL: images and the pages of a scan are read by programs of this
// machine, which get no key of the service; a provider goes before them; what they cannot read fails with a reason.
func TestLocalRecognitionOfText(t *testing.T) {
	programs(t, map[string]string{
		"tesseract": `[ -z "$MEMSVC_SECRET" ] || exit 3
body=$(LC_ALL=C sed -n 's/.*TEXT://p')
case "$body" in *broken*) echo "secret of the program" >&2; exit 1;; esac
echo "$body"
`,
		"pdftoppm": `for last; do :; done
printf 'PNG TEXT:The first page names Zelda.' > "$last-1.png"
printf 'PNG TEXT:The second page names Initech.' > "$last-2.png"
`})
	t.Setenv("MEMSVC_SECRET", "x")
	s := start(t, "MEMSVC_OCR_LOCAL", "true")
	s.image("sign", "The sign says closed on Mondays.", "", "ready")
	if a := s.post(200, "/query", `{"query": "closed on Mondays"}`); a.str("hits", 0, "documentTitle") != "sign" {
		t.Errorf("the sign: %s", a.raw)
	}
	if got := s.image("bad", "broken", "", "failed").str("error"); !strings.Contains(got, "tesseract could not read") ||
		strings.Contains(got, "secret") {
		t.Errorf("a broken image: %q", got)
	}
	d := s.upload(202, s.key, "/api/v1/main/documents", "POST", "scan.pdf", `{"title": "Scan"}`, scan())
	s.ready(d.str("id"), "ready")
	a := s.get(200, "/documents/"+d.str("id")+"/chunks")
	if got := a.str("chunks", 0, "text"); !strings.Contains(got, "Zelda") || !strings.Contains(got, "Initech") {
		t.Errorf("the pages: %s", a.raw)
	}
	d = s.upload(202, s.key, "/api/v1/main/documents", "POST", "scan.pdf", `{"profile": "TextOnly"}`,
		append(scan(), '\n'))
	if got := s.ready(d.str("id"), "failed").str("error"); !strings.Contains(got, "holds no text") {
		t.Errorf("a scan with the profile TextOnly: %q", got)
	}

	p := startProvider(t)
	s = start(t, "MEMSVC_OCR_LOCAL", "true", "MEMSVC_OCR_URL", p.url+"/ocr", "MEMSVC_OCR_MODEL", "m")
	s.image("sign", "The sign says open.", "", "ready")
	if p.calls() != 1 {
		t.Errorf("the provider was called %d times", p.calls())
	}
}

// TestLocalRecognitionThatIsNotInstalled holds that a worker does not start without the program that it was told to
// use.
func TestLocalRecognitionThatIsNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	e, err := inprocess.Open(t.Context(), "memory", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	env := map[string]string{"MEMSVC_SURREALDB_URL": "memory", "MEMSVC_BIND": "127.0.0.1:0", "MEMSVC_OCR_LOCAL": "true"}
	conf, err := config.Load("", func(n string) (string, bool) { v, ok := env[n]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	if err := conf.SetRoles("all"); err != nil {
		t.Fatal(err)
	}
	err = memsvc.Serve(t.Context(), memsvc.Config{Config: conf, Connect: store.Embedded(e)})
	if err == nil || !strings.Contains(err.Error(), "MEMSVC_OCR_LOCAL: tesseract is not installed") {
		t.Errorf("got %v", err)
	}
}
