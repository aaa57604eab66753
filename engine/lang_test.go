package engine_test

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/vectors"
)

var update = flag.Bool("update", false, "write the answers of testdata/lang as they are")

// TestLanguage runs the files of testdata/lang on both stores, and those with variants with and without indexes. -update
// writes the answers as they are: read the diff.
func TestLanguage(t *testing.T) {
	root := vectors.Path(t, "testdata", "lang")
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".surql" {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files++
		t.Run(strings.TrimSuffix(filepath.ToSlash(name), ".surql"), func(t *testing.T) { runLang(t, path) })
		return nil
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files: %v", files, err)
	}
}

// runLang runs a file in every way.
func runLang(t *testing.T, path string) {
	f := readLang(t, path)
	if *update {
		if f.run(t, openQuiet, true, path) {
			return
		}
		if err := f.write(path); err != nil {
			t.Fatal(err)
		}
		f = readLang(t, path)
	}
	for _, store := range []struct {
		name string
		open func(testing.TB) *engine.Engine
	}{{"memory", openQuiet}, {"bolt", openBolt}} {
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			f.run(t, store.open, false, path)
		})
		if f.options.variants {
			t.Run(store.name+" without indexes", func(t *testing.T) {
				t.Parallel()
				plain := *f
				plain.setup = slices.DeleteFunc(slices.Clone(f.setup), func(x langText) bool { return x.index })
				plain.run(t, store.open, false, path)
			})
		}
	}
}

// run runs all cases, each on a store of its own, and reports whether all answers were as expected. With renew it takes the answers as they are instead.
func (f *langFile) run(t *testing.T, open func(testing.TB) *engine.Engine, renew bool, path string) (same bool) {
	same = true
	for _, c := range f.cases {
		r := &langRun{t: t, e: open(t), path: path, options: c.options, renew: renew, places: map[string]string{}, numbers: map[string]string{}, sessions: map[string]*engine.Session{}}
		r.readVars()
		for _, x := range slices.Concat(f.setup, c.texts) {
			r.given += x.statements() + "\n"
		}
		for i := range f.setup {
			same = r.text(&f.setup[i]) && same
		}
		for i := range c.texts {
			same = r.text(&c.texts[i]) && same
		}
		r.close()
	}
	return same
}

// langRun is one case at work.
type langRun struct {
	t        *testing.T
	e        *engine.Engine
	path     string
	options  langOptions
	renew    bool
	vars     *value.Object
	sessions map[string]*engine.Session
	places   map[string]string // what the placeholders stand for
	numbers  map[string]string // the placeholders of generated ids, for -update
	given    string            // all texts of the case
}

// readVars evaluates the parameters of the case.
func (r *langRun) readVars() {
	if r.options.vars == "" {
		return
	}
	res, err := r.e.RootSession().Execute(r.t.Context(), "RETURN "+r.options.vars, nil)
	if err != nil || res[0].Err != nil || res[0].Value.Kind() != value.KindObject {
		r.t.Fatalf("%s: the parameters %s: %v %v", r.path, r.options.vars, err, res)
	}
	r.vars = res[0].Value.Object()
}

// close ends the sessions and the engine.
func (r *langRun) close() {
	for _, s := range r.sessions {
		s.Close()
	}
	if err := r.e.Close(context.Background()); err != nil {
		r.t.Error(err)
	}
}

// session is the session of somebody: "" is the owner.
func (r *langRun) session(who string) *engine.Session {
	s := r.sessions[who]
	if s != nil {
		return s
	}
	s = r.e.RootSession()
	if who != "" {
		var err error
		if s, err = signIn(r.e, who); err != nil {
			r.t.Fatalf("%s: %v", r.path, err)
		}
	}
	if err := s.Use(r.t.Context(), &r.options.ns, &r.options.db); err != nil {
		r.t.Fatal(err)
	}
	r.sessions[who] = s
	return s
}

// text runs a text and compares its last answers with the expected ones.
func (r *langRun) text(x *langText) bool {
	text := x.statements()
	if text == "" {
		return true
	}
	ctx, stop := context.WithTimeout(r.t.Context(), time.Minute)
	defer stop()
	res, err := r.session(x.who).Execute(ctx, text, r.vars)
	var got []langAnswer
	if err != nil {
		got = []langAnswer{{failed: true, text: strings.TrimRight(err.Error(), "\n")}}
	}
	for _, a := range res {
		if a.Err != nil {
			got = append(got, langAnswer{failed: true, text: strings.TrimRight(a.Err.Msg, "\n")})
		} else {
			got = append(got, langAnswer{text: a.Value.Text()})
		}
	}
	problem := r.compare(x.answers, got)
	if problem == "" {
		return true
	}
	if r.renew {
		x.answers = shown(x.answers, got, r.number)
		return false
	}
	r.t.Errorf("%s:%d: %s\n%s", r.path, x.line, clip(text, 400), problem)
	return false
}

// compare says how answers differ from the expected ones; "" if they do not.
func (r *langRun) compare(want, got []langAnswer) string {
	if len(got) < len(want) {
		return fmt.Sprintf("%d answers, want %d", len(got), len(want))
	}
	before := got[:len(got)-len(want)]
	for i, a := range before {
		if a.failed {
			return fmt.Sprintf("answer %d: error %s", i+1, a.text)
		}
	}
	for i, w := range want {
		g := got[len(before)+i]
		if g.failed == w.failed && (matches(g.text, w.text, r.places) || r.options.unordered && sameWords(g.text, w.text)) {
			continue
		}
		var texts strings.Builder
		g.print(&texts)
		w.print(&texts)
		return fmt.Sprintf("answer %d: got, want\n%s", len(before)+i+1, texts.String())
	}
	return ""
}

// shown are the answers to write: as many as there were, all answers where one before them fails or there were none.
func shown(want, got []langAnswer, number func(kind, id string) string) []langAnswer {
	n := len(got) - max(len(want), 1)
	if n < 0 || slices.ContainsFunc(got[:n], func(a langAnswer) bool { return a.failed }) {
		n = 0
	}
	out := slices.Clone(got[n:])
	for i := range out {
		out[i].text = anonymous(out[i].text, number)
	}
	return out
}

var (
	generatedID   = regexp.MustCompile(`:?\b[a-z0-9]{20}\b`)
	generatedUUID = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	thisMoment    = regexp.MustCompile(`d'<now>T[0-9:.]*Z'`)
	passwordText  = regexp.MustCompile(`\$(argon2id|2[aby]|pbkdf2|scrypt)\$[^'"]*`)
	varying       = regexp.MustCompile(`(versionstamp: )\d+|(elapsed: )[^,\]]+|(elapsed_ns: )\d+|(system: )\{[^}]*\}`)
)

// anonymous puts placeholders for the parts of an answer that no two runs share. number gives the placeholder of a generated id.
func anonymous(answer string, number func(kind, id string) string) string {
	answer = generatedID.ReplaceAllStringFunc(answer, func(id string) string {
		key, ofRecord := strings.CutPrefix(id, ":")
		switch { // one of 700 has no digit
		case ofRecord:
			return ":" + number("id", key)
		case !strings.ContainsAny(key, "0123456789"):
			return id
		}
		return number("id", key)
	})
	answer = generatedUUID.ReplaceAllStringFunc(answer, func(id string) string { return number("uuid", id) })
	answer = strings.ReplaceAll(answer, "d'"+time.Now().UTC().Format("2006-01-02")+"T", "d'<now>T")
	answer = thisMoment.ReplaceAllString(answer, "d'<now>'")
	return varying.ReplaceAllString(passwordText.ReplaceAllString(answer, "<hash>"), "$1$2$3$4<any>")
}

// number gives each generated id of a case a placeholder of its own. What stands in a text of the case is not generated.
func (r *langRun) number(kind, id string) string {
	if strings.Contains(r.given, id) {
		return id
	}
	if r.numbers[id] == "" {
		r.numbers[id] = fmt.Sprintf("<%s%d>", kind, len(r.numbers)+1)
	}
	return r.numbers[id]
}

// sameWords compares answers whose parts come in any order.
func sameWords(got, want string) bool {
	return slices.Equal(sortedWords(got), sortedWords(want))
}

// sortedWords are the words of an answer in one order.
func sortedWords(answer string) []string {
	answer = placeholder.ReplaceAllString(anonymous(answer, func(string, string) string { return "<any>" }), "<any>")
	words := strings.FieldsFunc(answer, func(r rune) bool { return strings.ContainsRune("[]{}, ", r) })
	slices.Sort(words)
	return words
}
