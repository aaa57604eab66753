package engine_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

var recordScores = flag.String("record-scores", "", "the address of a reference engine's /sql that testdata/scores.txt is recorded from")

// scoresFile has a line for each query over the 5,000 documents of corpus: the query, a tab, and the answer of the
// reference in the language's own text.
const scoresFile = "testdata/scores.txt"

// corpus makes the documents that scores were recorded of. It must never change.
type corpus struct {
	state uint64
	words []string
}

// next is splitmix64.
func (c *corpus) next() uint64 {
	c.state += 0x9e3779b97f4a7c15
	z := c.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (c *corpus) below(n int) int { return int(c.next() % uint64(n)) }

// newCorpus makes up a vocabulary of words that a stemmer finds something at.
func newCorpus() *corpus {
	c := &corpus{state: 2026}
	starts := strings.Fields("b br c ch cl d dr f fl g gr h j k l m n p pl pr qu r s sh sl st str t th tr v w")
	middles := strings.Fields("a e i o u ai ea ee ie oa oo ou")
	ends := strings.Fields("b ck d ft g l ll m mp n nd ng nt p r rd rn s sh ss st t th x")
	suffixes := []string{"", "", "", "", "s", "ed", "ing", "er", "ly", "ness", "ation", "ational", "ful", "es", "ies", "ize", "ment", "ity"}
	for range 2500 {
		w := starts[c.below(len(starts))] + middles[c.below(len(middles))] + ends[c.below(len(ends))]
		if c.below(3) == 0 {
			w += middles[c.below(len(middles))] + ends[c.below(len(ends))]
		}
		c.words = append(c.words, w+suffixes[c.below(len(suffixes))])
	}
	return c
}

// word draws a word: how common words are falls with their place, as in a language. Of bits of a float only sums and
// products are used, so that it is the same everywhere.
func (c *corpus) word() string {
	span := len(c.words)
	for span > 8 && c.below(4) != 0 {
		span /= 2
	}
	return c.words[c.below(span)]
}

// text is a document.
func (c *corpus) text() string {
	var b strings.Builder
	n := 8 + c.below(40)
	if c.below(10) == 0 {
		n *= 4
	}
	for i := range n {
		w := c.word()
		switch c.below(12) {
		case 0:
			w = strings.ToUpper(w)
		case 1:
			w = strings.ToUpper(w[:1]) + w[1:]
		case 2:
			w += fmt.Sprint(c.below(30))
		}
		b.WriteString(w)
		switch {
		case i == n-1 || c.below(12) == 0:
			b.WriteString(". ")
		case c.below(15) == 0:
			b.WriteString(", ")
		case c.below(40) == 0:
			b.WriteString("-")
		default:
			b.WriteString(" ")
		}
	}
	return strings.TrimSpace(b.String())
}

const corpusSchema = `DEFINE ANALYZER en TOKENIZERS blank, class, punct FILTERS lowercase, snowball(english);
DEFINE ANALYZER raw TOKENIZERS blank FILTERS lowercase;
DEFINE INDEX body ON doc FIELDS body FULLTEXT ANALYZER en BM25 HIGHLIGHTS;
DEFINE INDEX head ON doc FIELDS head FULLTEXT ANALYZER raw BM25(1.6, 0.3) HIGHLIGHTS;`

// corpusInserts are the statements that make the documents, a few hundred in each.
func corpusInserts(c *corpus) []string {
	var out []string
	for from := 0; from < 5000; from += 250 {
		var b strings.Builder
		b.WriteString("INSERT INTO doc [")
		for id := from; id < from+250; id++ {
			fmt.Fprintf(&b, "{ id: %d, head: %s, body: %s },", id, value.Quote(c.word()+" "+c.word()+" "+c.word()), value.Quote(c.text()))
		}
		out = append(out, b.String()+"] RETURN NONE")
	}
	return out
}

// scoreQueries ask for terms that are rare and common, alone and together.
func scoreQueries(c *corpus) []string {
	var out []string
	ask := func(field, op, terms string) {
		out = append(out, fmt.Sprintf("SELECT record::id(id) AS i, search::score(1) AS s FROM doc WHERE %s @%s@ %s ORDER BY s DESC, i ASC LIMIT 25", field, op, value.Quote(terms)),
			fmt.Sprintf("RETURN count(SELECT VALUE id FROM doc WHERE %s @%s@ %s)", field, op, value.Quote(terms)))
	}
	for _, at := range []int{0, 3, 9, 40, 160, 600, 1900, 2400} {
		ask("body", "1", c.words[at])
		ask("head", "1", c.words[at])
	}
	for range 12 {
		a, b, d := c.word(), c.word(), c.word()
		ask("body", "1", a+" "+b)
		ask("body", "1,OR", a+" "+b+" "+d)
		ask("head", "1,OR", a+" "+d)
		out = append(out, fmt.Sprintf("SELECT record::id(id) AS i, search::highlight('<b>', '</b>', 1) AS h FROM doc WHERE body @1@ %s ORDER BY i LIMIT 2", value.Quote(a+" "+b)),
			fmt.Sprintf("SELECT record::id(id) AS i, search::offsets(1) AS o FROM doc WHERE body @1,OR@ %s ORDER BY i LIMIT 3", value.Quote(b+" "+d)))
	}
	return append(out,
		fmt.Sprintf("SELECT record::id(id) AS i, search::score(1) AS s FROM doc WHERE body @1@ %s ORDER BY s DESC, i ASC LIMIT 20", value.Quote(c.words[5]+" "+c.words[5])))
}

// TestScoresOfTheReference: what is found in 5,000 documents, its scores, highlights and offsets are those of the
// reference; top-k searches, which look at parts of the index only, find the same as full ones.
func TestScoresOfTheReference(t *testing.T) {
	c := newCorpus()
	inserts := corpusInserts(c)
	queries := scoreQueries(c)
	if *recordScores != "" {
		writeScores(t, inserts, queries)
	}
	f, err := os.Open(scoresFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := owner(t, openQuiet(t))
	for i, text := range inserts {
		if i == len(inserts)/2 { // one half is built, the other written
			run(t, s, corpusSchema)
		}
		run(t, s, text)
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n := 0
	for ; lines.Scan(); n++ {
		query, want, ok := strings.Cut(lines.Text(), "\t")
		if !ok || n >= len(queries) || query != queries[n] {
			t.Fatalf("line %d of %s is not for this corpus: %s", n+1, scoresFile, query)
		}
		got := run(t, s, query)[0].Value
		if diff := differ(got, run(t, s, "RETURN "+want)[0].Value); diff != "" {
			t.Errorf("%s: %s\ngot  %.500s\nwant %.500s", query, diff, got.Text(), want)
		}
		compareTop(t, s, query, got)
	}
	if n != len(queries) {
		t.Errorf("%d of %d queries are recorded", n, len(queries))
	}
	compareBoth(t, s, value.Quote(c.words[0]), value.Quote(c.words[1]+" "+c.words[2]))
}

// compareBoth asks two indexes at once. The reference forgets one of the conditions then, so its answers to each alone
// are what counts: what both find, with the sum of the scores.
func compareBoth(t *testing.T, s *engine.Session, body, head string) {
	t.Helper()
	scores := func(where, score string) map[string]float64 {
		out := map[string]float64{}
		for _, e := range run(t, s, "SELECT record::id(id) AS i, "+score+" AS s FROM doc WHERE "+where)[0].Value.Elems() {
			id, _ := e.Object().Get("i")
			sum, _ := e.Object().Get("s")
			out[id.Text()] = sum.Float()
		}
		return out
	}
	first, second := scores("body @1@ "+body, "search::score(1)"), scores("head @2,OR@ "+head, "search::score(2)")
	both := scores("body @1@ "+body+" AND head @2,OR@ "+head, "search::score(1) + search::score(2)")
	n := 0
	for id, a := range first {
		b, found := second[id]
		if !found {
			continue
		}
		n++
		if got, ok := both[id]; !ok || math.Abs(got-(a+b)) > 1e-6*(a+b) {
			t.Errorf("%s scores %v + %v, and %v in both", id, a, b, got)
		}
	}
	if n == 0 || len(both) != n {
		t.Errorf("%d are found by both conditions, %d of them together", n, len(both))
	}
}

// differ says how two values differ; floats may by 1e-6 of their size.
func differ(got, want value.Value) string {
	switch {
	case got.Kind() == value.KindFloat && want.Kind() == value.KindFloat:
		if a, b := got.Float(), want.Float(); math.Abs(a-b) > 1e-6*max(1, math.Abs(b)) {
			return fmt.Sprintf("%v, not %v", a, b)
		}
		return ""
	case got.Kind() == value.KindArray && want.Kind() == value.KindArray && got.Len() == want.Len():
		for i, e := range got.Elems() {
			if diff := differ(e, want.Elems()[i]); diff != "" {
				return fmt.Sprintf("[%d] %s", i, diff)
			}
		}
		return ""
	case got.Kind() == value.KindObject && want.Kind() == value.KindObject && got.Object().Len() == want.Object().Len():
		for _, f := range want.Object().Fields() {
			have, _ := got.Object().Get(f.Name)
			if diff := differ(have, f.Value); diff != "" {
				return f.Name + ": " + diff
			}
		}
		return ""
	case value.Equal(got, want):
		return ""
	}
	return fmt.Sprintf("%.80s, not %.80s", got.Text(), want.Text())
}

// compareTop asks a ranked query for the best ten by the score alone, which is what the index bounds.
func compareTop(t *testing.T, s *engine.Session, query string, all value.Value) {
	t.Helper()
	head, _, ranked := strings.Cut(query, " ORDER BY s DESC, i ASC")
	if !ranked {
		return
	}
	top := run(t, s, head+" ORDER BY s DESC LIMIT 10")[0].Value.Elems()
	for i, e := range top {
		got, _ := e.Object().Get("s")
		want, _ := all.Elems()[i].Object().Get("s")
		if !value.Equal(got, want) {
			t.Errorf("%s: hit %d of the top ten scores %s, of all %s", query, i, got.Text(), want.Text())
		}
	}
	if len(top) != min(10, all.Len()) {
		t.Errorf("%s: the top ten are %d of %d", query, len(top), all.Len())
	}
}

// writeScores records what the reference answers. One session of it holds the corpus.
func writeScores(t *testing.T, inserts, queries []string) {
	t.Helper()
	ask := func(text string) []string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, *recordScores, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("NS", "scores")
		req.Header.Set("DB", "scores")
		req.Header.Set("X-Session", "scores")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for line := range strings.Lines(string(body)) {
			var answer struct{ Status, Value, Error string }
			if err := json.Unmarshal([]byte(line), &answer); err != nil || answer.Status != "OK" {
				t.Fatalf("%.200s: %s %v", text, line, err)
			}
			out = append(out, answer.Value)
		}
		return out
	}
	ask("REMOVE DATABASE IF EXISTS scores; DEFINE DATABASE scores")
	ask(corpusSchema)
	for _, text := range inserts {
		ask(text)
	}
	var b strings.Builder
	for _, q := range queries {
		fmt.Fprintf(&b, "%s\t%s\n", q, strings.ReplaceAll(ask(q)[0], "\n", " "))
	}
	if err := os.WriteFile(scoresFile, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
