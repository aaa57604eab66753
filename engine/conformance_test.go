package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/fault"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

var (
	vectorFiles = flag.String("files", "", "vector files to run, by part of their path, separated by commas; empty: all")
	vectorShow  = flag.Int("show", 0, "failures to print per file")
	vectorOnly  = flag.String("vector", "", "the only vector to run, by name")
)

// listed reads the section of docs/differences.md that names every recorded vector which is answered differently on
// purpose: file → vector names.
func listed(t testing.TB) map[string]map[string]bool { return listedIn(t, "Recorded vectors", "/") }

// listedIn reads a table of docs/differences.md: what the first cell names, which holds mark → the words of the second
// cell. A row is | file | names, separated by blanks | reason |.
func listedIn(t testing.TB, title, mark string) map[string]map[string]bool {
	text, err := os.ReadFile(filepath.Join("..", "docs", "differences.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## "+title+"\n")
	if !ok {
		t.Fatalf("docs/differences.md has no section %q", title)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	out := map[string]map[string]bool{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || !strings.Contains(cells[1], mark) {
			continue
		}
		file := strings.TrimSpace(cells[1])
		if strings.TrimSpace(cells[3]) == "" {
			t.Errorf("docs/differences.md gives no reason for %s: %s", file, cells[2])
		}
		if out[file] == nil {
			out[file] = map[string]bool{}
		}
		for _, name := range strings.Fields(cells[2]) {
			out[file][name] = true
		}
	}
	return out
}

// vector is one recorded case, see the README of the conformance vectors.
type vector struct {
	Name     string
	SQL      string
	Setup    string
	Expect   *string
	Error    *string
	Parse    json.RawMessage // true, or for statements the text of the parse error
	Volatile bool
	Auth     string
	Answers  []struct {
		Expect *string
		Error  *string
	}
}

// conformanceDir finds the shared vectors, beside the module.
func conformanceDir(t testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skip("no module root above the test")
		}
		dir = up
	}
	shared := filepath.Join(dir, "..", "shared", "conformance")
	if _, err := os.Stat(shared); err != nil {
		t.Skip("the conformance vectors are not there: " + shared)
	}
	return shared
}

// TestConformance runs the recorded vectors against an engine in memory and reports the pass rate of each file.
func TestConformance(t *testing.T) {
	root := conformanceDir(t)
	var files []string
	for _, dir := range []string{"operators", "functions", "statements"} {
		found, err := filepath.Glob(filepath.Join(root, dir, "*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	totals := map[string][2]int{}
	known := listed(t)
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file)) + "/" + strings.TrimSuffix(filepath.Base(file), ".jsonl")
		if !wanted(name) || name == "statements/known_bugs" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			failed, all := runVectors(t, file, strings.HasPrefix(name, "statements/"))
			if all == 0 {
				return
			}
			passed := all - len(failed)
			settle(t, known[name], failed)
			rate := 100 * float64(passed) / float64(all)
			t.Logf("%-34s %5d of %5d  %6.2f %%", name, passed, all, rate)
			dir, _, _ := strings.Cut(name, "/")
			sum := totals[dir]
			totals[dir] = [2]int{sum[0] + passed, sum[1] + all}
		})
	}
	for dir, sum := range totals {
		rate := 100 * float64(sum[0]) / float64(sum[1])
		t.Logf("%s: %d of %d, %.2f %%", dir, sum[0], sum[1], rate)
	}
}

// settle holds the vectors that failed to the listed ones, in both directions.
func settle(t *testing.T, known map[string]bool, failed []string) {
	var unlisted []string
	for _, name := range failed {
		if !known[name] {
			unlisted = append(unlisted, name)
		}
	}
	if len(unlisted) > 0 {
		t.Errorf("%d vectors are answered differently and are not listed in docs/differences.md: %s (-show 9 prints them)",
			len(unlisted), strings.Join(unlisted, " "))
	}
	if *vectorOnly != "" {
		return
	}
	for name := range known {
		if !slices.Contains(failed, name) {
			t.Errorf("%s is listed in docs/differences.md and passes: take it out", name)
		}
	}
}

func wanted(name string) bool {
	if *vectorFiles == "" {
		return true
	}
	for _, part := range strings.Split(*vectorFiles, ",") {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// runVectors runs the vectors of a file and gives the names of those that failed, and how many there were.
func runVectors(t *testing.T, file string, statements bool) (failed []string, all int) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e := openQuiet(t)
	shown := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if v.Volatile || *vectorOnly != "" && v.Name != *vectorOnly {
			continue
		}
		all++
		problem := ""
		if statements {
			problem = runStatements(t, &v)
		} else {
			problem = runSingle(t, e, &v)
		}
		if problem == "" {
			continue
		}
		failed = append(failed, v.Name)
		if shown < *vectorShow {
			shown++
			t.Logf("%s: %s\n    %s\n    %s", v.Name, clip(v.Setup, 160), v.SQL, clip(problem, 700))
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return failed, all
}

// openQuiet opens an engine in memory. For tests its store spoils what it handed out when the snapshot is released: what is used
// for longer shows in the answers, as with a store in a file it would only now and then.
func openQuiet(t testing.TB) *engine.Engine {
	caps := auth.DefaultCapabilities()
	caps.Experimental.Allow = auth.NewSet("files")
	var store kv.Store = mem.New()
	if _, ok := t.(*testing.T); ok {
		store = fault.NewSpoiling(store)
	}
	e, err := engine.OpenOn(context.Background(), store, engine.Options{
		NoDefaults: true, Capabilities: caps, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

// owner opens a root session in namespace and database test.
func owner(t testing.TB, e *engine.Engine) *engine.Session {
	s := e.RootSession()
	place := "test"
	if err := s.Use(context.Background(), &place, &place); err != nil {
		t.Fatal(err)
	}
	return s
}

// writes tells the texts that need a database of their own.
var writes = regexp.MustCompile(`(?i)\b(create|insert|update|upsert|delete|relate|define|remove|alter|rebuild|use|live|kill)\b`)

// runSingle runs a vector of one answer; "" is a pass.
func runSingle(t *testing.T, shared *engine.Engine, v *vector) string {
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	e := shared
	if v.Setup != "" || writes.MatchString(v.SQL) {
		e = openQuiet(t)
		defer e.Close(ctx)
	}
	s := owner(t, e)
	if v.Setup != "" {
		if _, err := s.Execute(ctx, v.Setup, nil); err != nil {
			return "setup: " + err.Error()
		}
	}
	res, err := s.Execute(ctx, v.SQL, nil)
	got, failed := "", false
	if err != nil {
		got, failed = firstLine(err.Error()), true
	} else {
		for _, r := range res {
			if r.Err == nil {
				continue
			}
			undone := strings.HasPrefix(r.Err.Msg, "The query was not executed due to")
			if !failed || !undone {
				got, failed = r.Err.Msg, true
			}
			if !undone {
				break
			}
		}
		if !failed && len(res) > 0 {
			got = res[len(res)-1].Value.Text()
		}
	}
	switch {
	case v.Error != nil && !failed:
		return fmt.Sprintf("got  %s\n    want error %s", got, *v.Error)
	case v.Error != nil:
		want := *v.Error
		if len(v.Parse) > 0 {
			want = firstLine(want)
		}
		if got != want {
			return fmt.Sprintf("got  error %s\n    want error %s", got, want)
		}
	case v.Expect != nil && failed:
		return fmt.Sprintf("got  error %s\n    want %s", got, *v.Expect)
	case v.Expect != nil && !valuetest.SameText(got, *v.Expect):
		return fmt.Sprintf("got  %s\n    want %s", got, *v.Expect)
	}
	return ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// geometry is the shared tools' literal of a geometry; ours is GeoJSON in its own order.
var geometry = regexp.MustCompile(`<geometry>\{ coordinates: (.*?), type: '(\w+)' \}`)

// runStatements runs a vector with an answer per statement; "" is a pass.
func runStatements(t *testing.T, v *vector) string {
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	e := openQuiet(t)
	defer e.Close(ctx)
	s := owner(t, e)
	if v.Setup != "" {
		if _, err := s.Execute(ctx, v.Setup, nil); err != nil {
			return "setup: " + err.Error()
		}
	}
	if v.Auth != "" {
		var err error
		if s, err = signIn(e, v.Auth); err != nil {
			return "auth: " + err.Error()
		}
	}
	res, err := s.Execute(ctx, v.SQL, nil)
	if len(v.Parse) > 0 {
		var want string
		if err := json.Unmarshal(v.Parse, &want); err != nil {
			return "vector: " + err.Error()
		}
		if err == nil {
			return fmt.Sprintf("parsed, want parse error %s", want)
		}
		if got := firstLine(err.Error()); got != firstLine(want) {
			return fmt.Sprintf("got  %s\n    want %s", got, want)
		}
		return ""
	}
	if err != nil {
		return "got  error " + err.Error()
	}
	if len(res) != len(v.Answers) {
		return fmt.Sprintf("got  %d answers, want %d: %s", len(res), len(v.Answers), texts(res))
	}
	places := map[string]string{}
	for i, a := range v.Answers {
		got, want := "", ""
		switch {
		case a.Error != nil:
			want = *a.Error
			if res[i].Err == nil {
				return fmt.Sprintf("answer %d: got  %s\n    want error %s", i+1, res[i].Value.Text(), want)
			}
			got = res[i].Err.Msg
		case res[i].Err != nil:
			return fmt.Sprintf("answer %d: got  error %s\n    want %s", i+1, res[i].Err.Msg, *a.Expect)
		default:
			want, got = geometry.ReplaceAllString(*a.Expect, `{ type: '$2', coordinates: $1 }`), res[i].Value.Text()
		}
		if !matches(got, want, places) {
			return fmt.Sprintf("answer %d: got  %s\n    want %s", i+1, got, want)
		}
	}
	return ""
}

func texts(res []engine.Result) string {
	var out []string
	for _, r := range res {
		if r.Err != nil {
			out = append(out, "ERR "+r.Err.Msg)
		} else {
			out = append(out, r.Value.Text())
		}
	}
	return strings.Join(out, " ;; ")
}

// signIn makes the session of a vector's auth field.
func signIn(e *engine.Engine, who string) (*engine.Session, error) {
	p := auth.Principal{Level: auth.DatabaseUser, NS: "test", DB: "test", Name: who}
	switch who {
	case "db-viewer", "viewer":
		p.Roles = auth.Viewer
	case "db-editor":
		p.Roles = auth.Editor
	case "db-owner":
		p.Roles = auth.Owner
	default:
		parts := strings.SplitN(who, ":", 3)
		if len(parts) != 3 || parts[0] != "record" {
			return nil, fmt.Errorf("unknown identity %q", who)
		}
		s := e.RootSession()
		res, err := s.Execute(context.Background(), "RETURN "+parts[2], nil)
		if err != nil {
			return nil, err
		}
		p = auth.Principal{Level: auth.RecordUser, NS: "test", DB: "test", Access: parts[1], Record: res[0].Value}
	}
	return e.SessionAs(p, "test", "test"), nil
}

// matches compares an answer with a literal that may hold placeholders such as <id1>: each stands
// for anything, the same thing wherever it comes back.
func matches(got, want string, places map[string]string) bool {
	got, want = looseObjects(got), looseObjects(want)
	if valuetest.SameText(got, want) {
		return true
	}
	if !placeholder.MatchString(want) {
		return false
	}
	var pattern strings.Builder
	pattern.WriteString("(?s)^")
	var names []string
	at := 0
	for _, m := range placeholder.FindAllStringIndex(want, -1) {
		before := regexp.QuoteMeta(want[at:m[0]])
		if want[m[0]:m[1]] == "<now>" { // a datetime, though it stands as a string
			before = strings.TrimSuffix(before, "'") + "d?'"
		}
		pattern.WriteString(before)
		pattern.WriteString("(.+?)")
		names = append(names, want[m[0]:m[1]])
		at = m[1]
	}
	pattern.WriteString(regexp.QuoteMeta(want[at:]) + "$")
	found := regexp.MustCompile(pattern.String()).FindStringSubmatch(got)
	if found == nil {
		return false
	}
	for i, name := range names {
		if name == "<now>" || name == "<hash>" {
			continue
		}
		if known, ok := places[name]; ok && known != found[i+1] {
			return false
		}
		places[name] = found[i+1]
	}
	return true
}

var placeholder = regexp.MustCompile(`<(?:(?:id|uuid|ulid)\d+|now|hash|db)>`)

// looseObjects makes both spellings of the empty object one.
func looseObjects(s string) string {
	s = strings.ReplaceAll(s, "{  }", "{}")
	s = quotedPlace.ReplaceAllString(s, "$1") // a placeholder is no plain name, so literals quote it
	return strings.ReplaceAll(s, "<geometry>", "")
}

var quotedPlace = regexp.MustCompile("`(<[a-z]+[0-9]*>)`")

// TestMatches holds the comparison itself.
func TestMatches(t *testing.T) {
	cases := []struct {
		got, want string
		ok        bool
	}{
		{"[{ id: a:x1, b: a:x1 }]", "[{ id: a:<id1>, b: a:<id1> }]", true},
		{"[{ id: a:x1, b: a:x2 }]", "[{ id: a:<id1>, b: a:<id1> }]", false},
		{"0.1f", "0.10000000000000002f", true},
		{"0.1f", "0.2f", false},
		{"1", "1f", false},
		{"{  }", "{}", true},
	}
	for _, c := range cases {
		if got := matches(c.got, c.want, map[string]string{}); got != c.ok {
			t.Errorf("matches(%s, %s) = %v", c.got, c.want, got)
		}
	}
}

// clip keeps a report readable.
func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}
