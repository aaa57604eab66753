package fulltext

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// bench is an index over a store of its own.
type bench struct {
	t     testing.TB
	tx    *txn.Tx
	x     *Index
	a     *Analyzer
	s     Scratch
	texts Library
}

func newBench(t testing.TB) *bench {
	store := mem.New()
	tx, err := txn.Begin(context.Background(), store, txn.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	tb := &catalog.Table{Def: &catalog.Def{Scope: catalog.Scope{NS: 1, DB: 2}, ID: 3, Name: "d"}}
	ix := &catalog.Index{Def: &catalog.Def{ID: 4, Name: "ft"},
		Define: &ast.DefineIndex{Kind: ast.IndexFullText, FullText: &ast.FullText{}}}
	return &bench{t: t, tx: tx, x: Open(tx, tb, ix), a: analyzer(t, "BLANK")}
}

func (b *bench) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) put(id int, text string) {
	b.t.Helper()
	b.check(b.x.Put(&b.texts.Numbers, value.Int(int64(id)), NewDocument(&b.s, b.a, []string{text})))
}

// found lists the record and score of every match.
func (b *bench) found(query string, any bool) []naiveHit {
	b.t.Helper()
	s, err := b.x.Search(NewQuery(b.a, query, any))
	b.check(err)
	out := []naiveHit{}
	for s.Next() {
		k, err := b.x.Record(s.Doc())
		b.check(err)
		out = append(out, naiveHit{int(k.Int()), s.Score()})
	}
	b.check(s.Err())
	again, err := b.x.Search(NewQuery(b.a, query, any))
	b.check(err)
	if n, err := again.Count(context.Background()); err != nil || n != int64(len(out)) {
		b.t.Errorf("%q: counted %d, %v, want %d", query, n, err, len(out))
	}
	return out
}

func (b *bench) top(query string, any bool, k int) []naiveHit {
	b.t.Helper()
	s, err := b.x.Search(NewQuery(b.a, query, any))
	b.check(err)
	hits, err := s.Top(k)
	b.check(err)
	out := []naiveHit{}
	for _, h := range hits {
		k, err := b.x.Record(h.Doc)
		b.check(err)
		out = append(out, naiveHit{int(k.Int()), h.Score})
	}
	return out
}

// naive is the same collection without an index: documents in the order of indexing.
type naive struct {
	ids   []int
	texts map[int]string
}

type naiveHit struct {
	id    int
	score float64
}

func (n *naive) found(query string, any bool) []naiveHit {
	terms := strings.Fields(query)
	df := map[string]int{}
	total := 0
	for _, text := range n.texts {
		words := strings.Fields(text)
		total += len(words)
		slices.Sort(words)
		for _, w := range slices.Compact(words) {
			df[w]++
		}
	}
	docs := float64(len(n.texts))
	average := 1.0
	if total > 0 {
		average = float64(total) / docs
	}
	out := []naiveHit{}
	for _, id := range n.ids {
		words := strings.Fields(n.texts[id])
		sum, all, some := 0.0, len(terms) > 0, false
		var seen []string
		for _, term := range terms {
			tf := 0
			for _, w := range words {
				if w == term {
					tf++
				}
			}
			if tf == 0 {
				all = false
				continue
			}
			some = true
			if slices.Contains(seen, term) {
				continue
			}
			seen = append(seen, term)
			weight := 0.0
			for _, other := range terms {
				if other == term {
					weight++
				}
			}
			idf := max(0, math.Log((docs-float64(df[term])+0.5)/(float64(df[term])+0.5)))
			f := 1 + math.Log(float64(tf))
			length := float64(len(words)) / average
			sum += weight * (idf * f * (DefaultK1 + 1) / (f + DefaultK1*(1-DefaultB+DefaultB*length)))
		}
		if any && some || !any && all {
			out = append(out, naiveHit{id, float64(float32(sum))})
		}
	}
	return out
}

func (n *naive) put(id int, text string) {
	if _, ok := n.texts[id]; !ok {
		n.ids = append(n.ids, id)
	}
	n.texts[id] = text
}

func (n *naive) remove(id int) {
	if _, ok := n.texts[id]; ok {
		delete(n.texts, id)
		n.ids = slices.Delete(n.ids, slices.Index(n.ids, id), slices.Index(n.ids, id)+1)
	}
}

func text(rt *rapid.T, most int) string {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), 0, most).Draw(rt, "words")
	return strings.Join(words, " ")
}

func TestIndexAgreesWithScan(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		n := &naive{texts: map[int]string{}}
		build := b.x.Build(&b.texts)
		for id := range rapid.IntRange(0, 20).Draw(rt, "built") {
			s := text(rt, 6)
			n.put(id, s)
			b.check(build.Add(b.a, key.AppendRecordKey(nil, value.Int(int64(id))), []string{s}))
		}
		b.check(build.Finish())
		for range rapid.IntRange(0, 40).Draw(rt, "changes") {
			id := rapid.IntRange(0, 25).Draw(rt, "id")
			if rapid.IntRange(0, 3).Draw(rt, "act") == 0 {
				n.remove(id)
				b.check(b.x.Remove(value.Int(int64(id))))
				continue
			}
			s := text(rt, 6)
			n.put(id, s)
			b.put(id, s)
		}
		for _, any := range []bool{false, true} {
			query := text(rt, 4)
			want := n.found(query, any)
			if got := b.found(query, any); !slices.Equal(got, want) {
				rt.Fatalf("%q any=%v: got %v, want %v", query, any, got, want)
			}
			k := rapid.IntRange(0, 8).Draw(rt, "k")
			best(want)
			if got := b.top(query, any, k); !slices.Equal(got, want[:min(k, len(want))]) {
				rt.Fatalf("%q any=%v top %d: got %v, want %v", query, any, k, got, want)
			}
			scorer, err := b.x.Scorer(NewQuery(b.a, query, any))
			b.check(err)
			for _, h := range want {
				if got, err := scorer.Score(value.Int(int64(h.id))); err != nil || got != h.score {
					rt.Fatalf("%q score of %d: got %v %v, want %v", query, h.id, got, err, h.score)
				}
			}
		}
	})
}

func best(hits []naiveHit) {
	slices.SortStableFunc(hits, func(a, b naiveHit) int { return cmp.Compare(b.score, a.score) })
}

// TestSearchAlso holds searches for several queries at once against those for each.
func TestSearchAlso(t *testing.T) {
	b, w := newBench(t), newWords(2)
	build := b.x.Build(&b.texts)
	for id := range 3000 {
		b.check(build.Add(b.a, key.AppendRecordKey(nil, value.Int(int64(id))), []string{w.text(30)}))
	}
	b.check(build.Finish())
	for id := 2900; id < 3100; id++ { // changes beside the blocks
		b.put(id, w.text(30))
	}
	query := func() *Query {
		var words []string
		for range 1 + w.r.IntN(3) {
			words = append(words, fmt.Sprintf("w%d", w.r.IntN(1<<w.r.IntN(9))))
		}
		return NewQuery(b.a, strings.Join(words, " "), w.r.IntN(2) == 0)
	}
	matches := func(q *Query, also ...*Query) (docs []uint64, scores map[uint64]float64) {
		s, err := b.x.Search(q, also...)
		b.check(err)
		scores = map[uint64]float64{}
		for s.Next() {
			docs = append(docs, s.Doc())
			scores[s.Doc()] = s.Score()
		}
		b.check(s.Err())
		return docs, scores
	}
	some := 0
	for range 300 {
		q, also := query(), []*Query{query(), query()}[:1+w.r.IntN(2)]
		want, scores := matches(q)
		for _, other := range also {
			_, has := matches(other)
			want = slices.DeleteFunc(want, func(doc uint64) bool { _, ok := has[doc]; return !ok })
		}
		some += min(1, len(want))
		got, gotScores := matches(q, also...)
		if !slices.Equal(got, want) {
			t.Fatalf("%v, %v: got %v, want %v", q, also, got, want)
		}
		var hits []Hit
		for _, doc := range want {
			if gotScores[doc] != scores[doc] {
				t.Errorf("%v, %v: got the score %v, want %v", q, also, gotScores[doc], scores[doc])
			}
			hits = append(hits, Hit{doc, scores[doc]})
		}
		slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
		s, err := b.x.Search(q, also...)
		b.check(err)
		if top, err := s.Top(10); err != nil || !slices.Equal(top, hits[:min(10, len(hits))]) {
			t.Errorf("%v, %v: got the best %v %v, want %v", q, also, top, err, hits[:min(10, len(hits))])
		}
		if s, err = b.x.Search(q, also...); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Count(context.Background()); err != nil || n != int64(len(want)) {
			t.Errorf("%v, %v: counted %d %v, want %d", q, also, n, err, len(want))
		}
	}
	if some < 50 {
		t.Errorf("only %d searches found anything", some)
	}
}

// words makes texts whose words are as common as those of a language: the rank of a word is its number.
type words struct {
	r    *rand.Rand
	zipf *rand.Zipf
}

func newWords(seed uint64) *words {
	r := rand.New(rand.NewPCG(seed, 1))
	return &words{r, rand.NewZipf(r, 1.2, 4, 20000)}
}

func (w *words) text(n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "w%d ", w.zipf.Uint64())
	}
	return b.String()
}

// TestManyDocuments goes over many blocks.
func TestManyDocuments(t *testing.T) {
	docs := 5000
	if testing.Short() {
		docs = 1000
	}
	b := newBench(t)
	n := &naive{texts: map[int]string{}}
	w := newWords(1)
	build := b.x.Build(&b.texts)
	for id := range docs {
		s := w.text(10 + w.r.IntN(40))
		n.put(id, s)
		b.check(build.Add(b.a, key.AppendRecordKey(nil, value.Int(int64(id))), []string{s}))
	}
	b.check(build.Finish())
	for range docs / 20 {
		id := w.r.IntN(docs)
		if w.r.IntN(2) == 0 {
			n.remove(id)
			b.check(b.x.Remove(value.Int(int64(id))))
			continue
		}
		s := w.text(10 + w.r.IntN(40))
		n.put(id, s)
		b.put(id, s)
	}
	for _, query := range []string{"w1", "w3 w40", "w0 w1", "w900 w10 w2", "w15000 w7", "w5 w5 w90"} {
		for _, any := range []bool{false, true} {
			want := n.found(query, any)
			if got := b.found(query, any); !slices.Equal(got, want) {
				t.Errorf("%q any=%v: got %d matches, want %d", query, any, len(got), len(want))
			}
			best(want)
			if got := b.top(query, any, 10); !slices.Equal(got, want[:min(10, len(want))]) {
				t.Errorf("%q any=%v: got %v, want %v", query, any, got, want[:min(10, len(want))])
			}
		}
	}
}

func TestSpans(t *testing.T) {
	grams := analyzer(t, "BLANK", ast.AnalyzerFilter{Name: "LOWERCASE"},
		ast.AnalyzerFilter{Name: "NGRAM", Min: 2, Max: 3})
	stems := analyzer(t, "BLANK CLASS PUNCT", ast.AnalyzerFilter{Name: "SNOWBALL", Language: "ENGLISH"})
	for _, tc := range []struct {
		a            *Analyzer
		text, query  string
		words, parts string
	}{
		{grams, "abcd xbc", "bc", "<abcd> <xbc>", "a<bc>d x<bc>"},
		{grams, "abcd xbc", "abc", "<abcd> xbc", "<abc>d xbc"},
		{stems, "The skies are dying; café naïve skies", "sky dying naïve",
			"The <skies> are <dying>; café <naïve> <skies>", "The <ski>es are <dyi>ng; café <naïv>e <ski>es"},
		{stems, "a1 b,c", "a1 ,", "<a><1> b<,>c", "<a><1> b<,>c"},
	} {
		q := NewQuery(tc.a, tc.query, false)
		if got := Highlight(tc.text, q.Spans(tc.a, tc.text, false), "<", ">"); got != tc.words {
			t.Errorf("%q in %q: got %s, want %s", tc.query, tc.text, got, tc.words)
		}
		if got := Highlight(tc.text, q.Spans(tc.a, tc.text, true), "<", ">"); got != tc.parts {
			t.Errorf("%q in %q, parts: got %s, want %s", tc.query, tc.text, got, tc.parts)
		}
	}
}

func FuzzBlock(f *testing.F) {
	f.Add(uint64(9), appendBlock(nil, []posting{{7, 1, 2}, {9, 3, 4}}))
	f.Fuzz(func(t *testing.T, last uint64, raw []byte) {
		b, ok := openBlock(last, raw)
		if !ok {
			return
		}
		ps, ok := b.postings(nil)
		if ok && len(ps) != b.count {
			t.Errorf("got %d postings, want %d", len(ps), b.count)
		}
	})
}

func FuzzStored(f *testing.F) {
	f.Add(appendStored(nil, 7, &Document{Length: 3, Terms: []TermCount{{"a", 1}, {"b", 2}}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		x := &Index{Name: "ft"}
		d, err := x.decodeStored(raw)
		if err != nil {
			return
		}
		if again, err := x.decodeStored(appendStored(nil, d.doc, &d.Document)); err != nil ||
			!slices.Equal(again.Terms, d.Terms) {
			t.Errorf("got %v %v, want %v", again, err, d)
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	w := newWords(1)
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = w.text(50)
	}
	b.ReportAllocs()
	for b.Loop() {
		ix := newBench(b)
		build := ix.x.Build(&ix.texts)
		for id, s := range texts {
			ix.check(build.Add(ix.a, key.AppendRecordKey(nil, value.Int(int64(id))), []string{s}))
		}
		ix.check(build.Finish())
	}
	b.ReportMetric(float64(b.N)*float64(len(texts))/b.Elapsed().Seconds(), "docs/s")
}

func BenchmarkPut(b *testing.B) {
	w := newWords(1)
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = w.text(50)
	}
	ix := newBench(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		ix.put(i, texts[i%len(texts)])
		i++
	}
}

func benchmarkQuery(b *testing.B, query string, any bool, k int) {
	w := newWords(1)
	ix := newBench(b)
	build := ix.x.Build(&ix.texts)
	for id := range 20000 {
		ix.check(build.Add(ix.a, key.AppendRecordKey(nil, value.Int(int64(id))), []string{w.text(50)}))
	}
	ix.check(build.Finish())
	b.ReportAllocs()
	for b.Loop() {
		s, err := ix.x.Search(NewQuery(ix.a, query, any))
		ix.check(err)
		if k > 0 {
			_, err = s.Top(k)
			ix.check(err)
			continue
		}
		for s.Next() {
			_ = s.Score()
		}
		ix.check(s.Err())
	}
}

func BenchmarkTopOr(b *testing.B)  { benchmarkQuery(b, "w20 w50 w700", true, 10) }
func BenchmarkTopAnd(b *testing.B) { benchmarkQuery(b, "w20 w50", false, 10) }
func BenchmarkAllOr(b *testing.B)  { benchmarkQuery(b, "w20 w50 w700", true, 0) }

// TestTermsOfAllDocuments: searches for terms that all documents have, beside others, find what a plain look finds,
// also when a document without them comes and goes.
func TestTermsOfAllDocuments(t *testing.T) {
	b, plain := newBench(t), &naive{texts: map[int]string{}}
	rnd := rand.New(rand.NewPCG(3, 3))
	put := func(id int, text string) {
		b.put(id, text)
		if _, ok := plain.texts[id]; !ok {
			plain.ids = append(plain.ids, id)
		}
		plain.texts[id] = text
	}
	same := func(when string) {
		t.Helper()
		for _, query := range []string{"the", "the of", "the red", "red the blue of", "the none", "the the red red"} {
			for _, any := range []bool{false, true} {
				got, want := b.found(query, any), plain.found(query, any)
				if !slices.Equal(got, want) {
					t.Errorf("%s: %q finds %v, want %v", when, query, got, want)
				}
			}
		}
	}
	for id := range 300 {
		text := "the of the"
		for _, w := range []string{"red", "blue", "green"} {
			text += strings.Repeat(" "+w, rnd.IntN(3))
		}
		put(id, text)
	}
	same("all have them")
	put(300, "red blue")
	same("one lacks them")
	b.check(b.x.Remove(value.Int(300)))
	plain.ids = plain.ids[:300]
	delete(plain.texts, 300)
	same("it is gone")
	put(7, "of red")
	same("one lacks one of them")
}

// TestQueriesOfManyTerms: windows are smaller for many terms; what is found is the same.
func TestQueriesOfManyTerms(t *testing.T) {
	b, plain := newBench(t), &naive{texts: map[int]string{}}
	build := b.x.Build(&b.texts)
	w := newWords(3)
	for id := range 400 {
		text := w.text(w.r.IntN(200)) + "every"
		plain.put(id, text)
		b.check(build.Add(b.a, key.AppendRecordKey(nil, value.Int(int64(id))), []string{text}))
	}
	b.check(build.Finish())
	for id := 390; id < 410; id++ { // beside the blocks
		plain.put(id, "every w1 w1 w2")
		b.put(id, "every w1 w1 w2")
	}
	for _, terms := range []int{64, 300, 700} {
		query := "every "
		for i := range terms {
			query += fmt.Sprintf("w%d ", i)
		}
		for _, any := range []bool{false, true} {
			want := plain.found(query, any)
			if got := b.found(query, any); !slices.Equal(got, want) {
				t.Errorf("%d terms, any=%v: got %d matches, want %d", terms, any, len(got), len(want))
			}
			best(want)
			if got := b.top(query, any, 10); !slices.Equal(got, want[:min(10, len(want))]) {
				t.Errorf("%d terms, any=%v: got %v, want %v", terms, any, got, want[:min(10, len(want))])
			}
		}
	}
}

// TestHugeDocuments: one with a single word half a million times, and one of a hundred thousand different words.
func TestHugeDocuments(t *testing.T) {
	b := newBench(t)
	var different strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&different, "v%d ", i)
	}
	b.put(1, strings.Repeat("a ", 500_000))
	b.put(2, different.String()+"a")
	b.put(3, "")
	for query, want := range map[string][]int{"a": {1, 2}, "a v99999": {2}, "v7 v70000 v5": {2}, "v100000": nil} {
		var got []int
		for _, h := range b.found(query, false) {
			got = append(got, h.id)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", query, got, want)
		}
	}
	b.check(b.x.Remove(value.Int(2)))
	if got := b.found("v70000", false); len(got) != 0 {
		t.Errorf("what is removed is found: %v", got)
	}
}
