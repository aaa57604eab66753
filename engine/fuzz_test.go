package engine_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/internal/footprint"
	"github.com/nacredb/nacre/internal/vectors"
)

// fuzzLimits are what the bound of 64 MiB is held under: an array of so many elements is 8 MiB.
var fuzzLimits = engine.Limits{
	Rows: 1 << 16, Array: 1 << 18, Text: 4 << 20, Answer: 8 << 20, TxBytes: 8 << 20,
	QueryTimeout: 200 * time.Millisecond, TxTimeout: time.Second,
}

// fuzzPlace is what the statements of a fuzzed text find.
const fuzzPlace = `
DEFINE TABLE t SCHEMALESS CHANGEFEED 1h; DEFINE FIELD n ON t TYPE option<int | string> DEFAULT 1; DEFINE FIELD c ON t COMPUTED n;
DEFINE INDEX i ON t FIELDS n; DEFINE EVENT e ON t WHEN $event = 'DELETE' THEN (CREATE log SET at = $before);
DEFINE TABLE v AS SELECT count() AS c, n FROM t GROUP BY n; DEFINE TABLE k TYPE RELATION IN t OUT t;
DEFINE ANALYZER an TOKENIZERS blank; DEFINE INDEX ft ON t FIELDS s FULLTEXT ANALYZER an BM25; DEFINE INDEX hn ON t FIELDS x HNSW DIMENSION 2;
DEFINE FUNCTION fn::f($x: any) { RETURN fn::f($x) }; DEFINE PARAM $p VALUE 1; DEFINE SEQUENCE q;
CREATE t:1 SET n = 1, s = 'a b', x = [0, 1], o = { a: [1, { b: 2 }] }, l = t:2; CREATE t:2 SET n = 2, s = 'b', x = [1, 0]; RELATE t:1->k:1->t:2; RELATE t:2->k:2->t:1;
`

// fuzzSeeds are texts to start from: among them some of the recorded vectors.
func fuzzSeeds(f *testing.F) {
	for _, s := range []string{
		"RETURN fn::f(1)", "SELECT *, ->k->t AS p FROM t WHERE n > 0 GROUP BY n ORDER BY n LIMIT 1", "RETURN t:1.{..}->k->t", "UPDATE t SET n += 1 RETURN DIFF",
		"FOR $i IN 0..1000000000 { CREATE |t:1..9999999| }", "RETURN string::repeat('a', 1000000000)", "RETURN [1..3000000, 1..3000000]", "SLEEP 1h",
		"RETURN array::range(0, 40).fold([1], |$a, $i| $a + $a)", "RETURN array::range(0, 40).fold('a', |$a, $i| $a + $a)",
		"RETURN array::range(0, 40).fold([1], |$a, $i| array::concat($a, $a))", "RETURN array::range(0, 60).fold([1], |$a, $i| [$a, $a, $a])", "LET $x = array::range(0, 60).fold([1], |$a, $i| { a: $a, b: $a }); RETURN $x",
		"LET $a = 'a'; FOR $i IN 0..100 { LET $a = $a + $a }", "SELECT * FROM t WHERE s @1@ 'a' AND x <|2,40|> [1, 1]", "BEGIN; DELETE t; SHOW CHANGES FOR TABLE t SINCE 0; CANCEL",
		"DEFINE FIELD OVERWRITE n ON t VALUE (UPDATE t SET n = 1); UPDATE t", "RETURN array::combine(1..3000, 1..3000)", "SELECT count() FROM t, t, t GROUP ALL EXPLAIN ANALYZE",
	} {
		f.Add(s)
	}
	for _, name := range vectors.Files(f) {
		if !strings.HasPrefix(name, "statements/") {
			continue
		}
		for n, v := range vectors.Load(f, name) {
			if n%8 == 0 && !strings.Contains(v.SQL, "crypto::") { // hashes are slow on purpose
				f.Add(v.Setup + v.SQL)
			}
		}
	}
}

// FuzzExecute holds that no text makes the engine panic, hang or hold more than 64 MiB beyond the text.
func FuzzExecute(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		footprint.Within(30*time.Second, text, func() {
			over := footprint.Over(64<<20+uint64(len(text)), func() { runFuzzed(t, text) })
			if over > 0 {
				t.Fatalf("a text of %d bytes takes %d MiB: %q", len(text), over>>20, text)
			}
		})
	})
}

// runFuzzed runs text against a small database of its own. What it answers does not matter; what panics below a statement
// is logged.
func runFuzzed(t *testing.T, text string) {
	caps := auth.DefaultCapabilities()
	caps.Experimental.Allow = auth.NewSet("files")
	caps.Functions.Deny = auth.NewSet("crypto::argon2", "crypto::bcrypt", "crypto::scrypt", "crypto::pbkdf2", "http", "sleep")
	var log strings.Builder
	e, err := engine.Open(context.Background(), "memory", engine.Options{
		NoDefaults: true, Capabilities: caps, Limits: fuzzLimits, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Error(err)
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	defer func() {
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
		if strings.Contains(log.String(), "panic") {
			t.Errorf("%q: %s", text, log.String())
		}
	}()
	s, place := e.RootSession(), "test"
	if err := s.Use(ctx, &place, &place); err != nil {
		t.Error(err)
		return
	}
	if _, err := s.Execute(ctx, fuzzPlace, nil); err != nil {
		t.Error(err)
		return
	}
	res, err := s.Execute(ctx, text, nil)
	if err != nil {
		return
	}
	for _, r := range res {
		if r.Err == nil {
			_ = r.Value.Text()
		}
	}
}
