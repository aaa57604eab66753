package engine_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/vectors"
)

// example is one line of the fact sheets: a text and the answers that the reference gave.
type example struct {
	sheet, section string
	line           int
	text, answer   string
	setup          bool
}

var (
	exampleLine = regexp.MustCompile("^- (setup: )?(`+) ?(.*?) ?(`+)(?: ⇒ (`+) ?(.*?) ?(`+))?$")
	moveLine    = regexp.MustCompile("^- rpc `use \\['\\$NS','(\\w+)'\\]`")
	starts      = regexp.MustCompile(`(?i)^(ACCESS|ALTER|BEGIN|BREAK|CANCEL|COMMIT|CONTINUE|CREATE|DEFINE|DELETE|EXPLAIN|FOR|IF|INFO|INSERT|KILL|LET|LIVE|OPTION|REBUILD|RELATE|REMOVE|RETURN|SELECT|SHOW|SLEEP|THROW|UPDATE|UPSERT|USE|-- |#|/\*|//)(\b|[^a-z]|$)`)
	changing    = regexp.MustCompile(`\b[a-z0-9]{20}\b|…|<hash>|eyJ|\$argon2|d'20(2[5-9])|µs|metrics|elapsed`)
)

// examples reads the verified examples of the language sheets.
func examples(t *testing.T) []example {
	dir := vectors.Path(t, "..", "shared", "reference", "serviceql")
	files, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil || len(files) == 0 {
		t.Skip("the fact sheets are not there: " + dir)
	}
	var out []example
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		section := ""
		for i, line := range strings.Split(string(b), "\n") {
			if m := moveLine.FindStringSubmatch(line); m != nil {
				out = append(out, example{sheet: filepath.Base(file), section: section, line: i + 1, text: "USE DB " + m[1], setup: true})
				continue
			}
			if strings.HasPrefix(line, "#") {
				section = line
				continue
			}
			m := exampleLine.FindStringSubmatch(line)
			if m == nil || m[1] == "" && m[6] == "" {
				continue
			}
			out = append(out, example{filepath.Base(file), section, i + 1, strings.ReplaceAll(m[3], "⏎", "\n"), m[6], m[1] != ""})
		}
	}
	return out
}

var (
	numberKey = regexp.MustCompile(`([{,] )(\d+):`)
	tableName = regexp.MustCompile(`table\((\w+)\)`)
	kinds     = regexp.MustCompile(`⟨(\w+)[^⟩]*⟩`) // of an error, with details that are left out here
)

// random are the parts of answers that no two runs share.
var random = []*regexp.Regexp{regexp.MustCompile(`versionstamp: \d+`), regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b`)}

// sortedWords are the words of an answer in one order.
func sortedWords(answer string) string {
	words := regexp.MustCompile(`[^\s,\[\]{}]+`).FindAllString(answer, -1)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// asText is an answer of the sheets in our words: ⏎ is a line feed, number keys are quoted, table names are bare.
func asText(answer string) string {
	s := numberKey.ReplaceAllString(strings.ReplaceAll(answer, "⏎", "\n"), `$1"$2":`)
	return strings.TrimSpace(tableName.ReplaceAllString(s, "$1"))
}

// render is an answer as the sheets write it.
func render(r engine.Result) string {
	if r.Err != nil {
		return "ERR " + r.Err.Msg + " ⟨" + r.Err.Kind.String() + "⟩"
	}
	return strings.ReplaceAll(r.Value.Text(), "{  }", "{}")
}

// place opens the namespace and database that the sheets were recorded in.
func place(t *testing.T) *engine.Session {
	e, err := engine.Open(t.Context(), "memory", engine.Options{Capabilities: openCapabilities(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	ns, db := "n1", "d"
	s := e.RootSession()
	if err := s.Use(t.Context(), &ns, &db); err != nil {
		t.Fatal(err)
	}
	return s
}

// anyOrder are the sections whose records have generated ids: what they answer comes in any order.
var anyOrder = map[string]bool{
	"04-idioms-and-graph.md## Recursion": true, "10-transactions-live-changefeed.md## Control flow": true,
}

// parameters are those that the sheets were recorded with.
var parameters = value.NewObject(value.Field{Name: "name", Value: value.Str("Zed")},
	value.Field{Name: "list", Value: value.Array(value.Int(1), value.Int(2), value.Int(3))}, value.Field{Name: "n", Value: value.Int(5)})

// TestSheets runs the verified examples of the language sheets, all of a sheet against one database and those of a section
// against another: the sheets use both. The examples that are answered otherwise are those that docs/differences.md lists.
func TestSheets(t *testing.T) {
	var sheet, section *engine.Session
	var atSheet, atSection string
	passed, all, skipped := 0, 0, 0
	known, failed := listedSheets(t), map[string]bool{}
	for _, x := range examples(t) {
		if x.sheet != atSheet {
			atSheet, sheet = x.sheet, place(t)
		}
		if here := x.sheet + x.section; here != atSection {
			atSection, section = here, place(t)
		}
		got := [2]string{x.run(t, sheet), x.run(t, section)}
		line := strconv.Itoa(x.line)
		switch {
		case x.setup:
		case changing.MatchString(x.answer), x.sheet == "09-access-and-permissions.md": // as other users: the vectors have those
			skipped++
		case x.answeredBy(got[0]), x.answeredBy(got[1]):
			all, passed = all+1, passed+1
			if known[x.sheet][line] {
				t.Errorf("%s:%d is answered as it says, and need not be listed in docs/differences.md", x.sheet, x.line)
			}
		default:
			all++
			failed[x.sheet+line] = true
			if !known[x.sheet][line] {
				t.Errorf("%s:%d is answered otherwise, and not listed in docs/differences.md\n  %s\n  got  %.400s\n  want %.400s", x.sheet, x.line, x.text, got[1], asText(x.answer))
			}
		}
	}
	for sheet, lines := range known {
		for line := range lines {
			if !failed[sheet+line] {
				t.Errorf("docs/differences.md lists %s:%s, which is no example that is answered otherwise", sheet, line)
			}
		}
	}
	t.Logf("%d of %d examples, %d skipped", passed, all, skipped)
}

// run runs the text of x and gives its answers as one text.
func (x *example) run(t *testing.T, s *engine.Session) string {
	text := x.text
	if !x.setup && text != "" && !starts.MatchString(text) {
		text = "RETURN " + text
	}
	res, err := s.Execute(t.Context(), text, parameters)
	if err != nil {
		return "ERR " + strings.TrimSpace(err.Error())
	}
	got := make([]string, len(res))
	for i, r := range res {
		got[i] = render(r)
	}
	if len(got) == 0 {
		return "[]"
	}
	return strings.TrimSpace(strings.Join(got, " ;; "))
}

// answeredBy reports whether got is the answer of the sheet.
func (x *example) answeredBy(got string) bool {
	if plain := strings.TrimSpace(strings.ReplaceAll(x.answer, "⏎", "\n")); got == plain || strings.TrimSpace(kinds.ReplaceAllString(got, "")) == plain {
		return true
	}
	want := asText(x.answer)
	for _, r := range random {
		got, want = r.ReplaceAllString(got, "…"), r.ReplaceAllString(want, "…")
	}
	if anyOrder[x.sheet+x.section] {
		got, want = sortedWords(got), sortedWords(want)
	}
	if want = kinds.ReplaceAllString(want, "⟨$1⟩"); !strings.Contains(want, "⟨") {
		got = kinds.ReplaceAllString(got, "")
		got, want = strings.TrimSpace(strings.ReplaceAll(got, "  ;;", " ;;")), strings.TrimSpace(want)
	}
	return got == want || got == strings.ReplaceAll(want, "{  }", "{}")
}

func listedSheets(t testing.TB) map[string]map[string]bool {
	_, section, _ := strings.Cut(vectors.ReadFile(t, "docs", "differences.md"), "\n## Examples of the sheets\n")
	out := map[string]map[string]bool{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || !strings.Contains(cells[1], ".md") {
			continue
		}
		file := strings.TrimSpace(cells[1])
		if out[file] == nil {
			out[file] = map[string]bool{}
		}
		for _, name := range strings.Fields(cells[2]) {
			out[file][name] = true
		}
	}
	return out
}
