package index

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// indexOptions say how hard to hit the building of indexes.
type indexOptions struct {
	cycles, records, writers int
	harness.RunOptions
}

func flags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	var o indexOptions
	fs.IntVar(&o.cycles, "cycles", 50, "kills")
	fs.IntVar(&o.records, "records", 25_000, "records of the table: more than are indexed inside of a transaction")
	fs.IntVar(&o.writers, "writers", 4, "clients that write")
	o.Flags(fs, "")
	return func(ctx context.Context, out io.Writer) error { return indexes(ctx, out, o) }
}

// indexer kills a server while it builds indexes.
type indexer struct {
	indexOptions
	out  io.Writer
	path string
	rnd  *rand.Rand
	took time.Duration // what building all indexes takes when nothing comes between
	ends map[string]int

	mu     sync.Mutex      // guards what follows; a leaf lock
	gone   map[string]bool // indexes that were removed in this cycle: they need not be there at any time of it
	looks  int             // answers of indexes that were looked at while the server was beaten
	beside int             // of them, those of an index whose successor was being built
}

// builtIndexes are one of each kind, with a question to it.
var builtIndexes = []struct {
	name, define, ask, plain string // plain: what a scan must answer the same to as the index to ask
}{
	{"byKind", "FIELDS kind", "SELECT VALUE id FROM t WHERE kind = 5 ORDER BY id", "SELECT VALUE id FROM t WITH NOINDEX WHERE kind = 5 ORDER BY id"},
	{"byPair", "FIELDS kind, n", "SELECT VALUE id FROM t WHERE kind = 7 AND n > 100 ORDER BY id",
		"SELECT VALUE id FROM t WITH NOINDEX WHERE kind = 7 AND n > 100 ORDER BY id"},
	{"byTag", "FIELDS tags", "SELECT VALUE id FROM t WHERE tags CONTAINS 3 ORDER BY id",
		"SELECT VALUE id FROM t WITH NOINDEX WHERE tags CONTAINS 3 ORDER BY id"},
	{"byNumber", "FIELDS n UNIQUE", "SELECT VALUE id FROM t WHERE n > 5 AND n < 9000 ORDER BY id",
		"SELECT VALUE id FROM t WITH NOINDEX WHERE n > 5 AND n < 9000 ORDER BY id"},
	{"all", "COUNT", "RETURN (SELECT count() FROM t GROUP ALL)[0].count", "RETURN count(SELECT VALUE id FROM t)"},
	{"some", "COUNT WHERE kind = 5", "RETURN (SELECT count() FROM t WHERE kind = 5 GROUP ALL)[0].count",
		"RETURN count(SELECT VALUE id FROM t WITH NOINDEX WHERE kind = 5)"},
	{"byText", "FIELDS text FULLTEXT ANALYZER plain BM25", "SELECT VALUE id FROM t WHERE text @@ 'word5' ORDER BY id",
		"SELECT VALUE id FROM t WITH NOINDEX WHERE 'word5' IN string::words(text) ORDER BY id"},
	{"near", "FIELDS v HNSW DIMENSION 8", "", ""},
}

// misfit is a definition that the records do not fit.
const misfit = "FIELDS kind UNIQUE"

// misfits is what writers are refused with until the building of a misfit has failed: of a kind, which is below 97.
var misfits = regexp.MustCompile("^Database index `\\w+` already contains \\d\\d?, ")

// forced is a question that only the index of the name may answer.
func forced(name, question string) string {
	return strings.Replace(question, "FROM t", "FROM t WITH INDEX "+name, 1)
}

// indexes runs the suite.
func indexes(ctx context.Context, out io.Writer, o indexOptions) error {
	dir, done, err := o.Scratch("index")
	if err != nil {
		return err
	}
	defer done()
	x := &indexer{indexOptions: o, out: out, path: filepath.Join(dir, "store"), rnd: rand.New(rand.NewPCG(o.Seed, 9)),
		ends: map[string]int{},
		gone: map[string]bool{}}
	fmt.Fprintf(out, "index: %d kills, %d records, %d writers, seed %d\n", o.cycles, o.records, o.writers, o.Seed)
	began := time.Now()
	if err := x.prepare(ctx); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	for i := range o.cycles {
		if err := x.cycle(ctx); err != nil {
			return fmt.Errorf("cycle %d: %w", i, err)
		}
		if (i+1)%10 == 0 {
			fmt.Fprintf(out, "%d kills in %v\n", i+1, time.Since(began).Round(time.Second))
		}
	}
	x.ends["answers while indexes were built"], x.ends["of them of an index that is replaced"] = x.looks, x.beside
	for _, end := range slices.Sorted(maps.Keys(x.ends)) {
		fmt.Fprintf(out, "%-44s %d\n", end, x.ends[end])
	}
	return nil
}

func (x *indexer) dsn() string { return "bolt://" + x.path + "?sync=never" }

// begin starts a server that checkpoints often, and connects to it.
func (x *indexer) begin(ctx context.Context) (*harness.Server, *client.Client, error) {
	s, err := harness.Start(ctx, x.dsn(), "NACRE_FAILPOINT_LIMITS=checkpoint-keys=20000,segment=4194304")
	if err != nil {
		return nil, nil, err
	}
	cl, err := s.Connect(ctx, "index", "index")
	if err != nil {
		return nil, nil, errors.Join(err, s.Kill())
	}
	return s, cl, nil
}

// prepare fills the table, and takes the time that building takes.
func (x *indexer) prepare(ctx context.Context) error {
	s, cl, err := x.begin(ctx)
	if err != nil {
		return err
	}
	text := "DEFINE ANALYZER plain TOKENIZERS blank FILTERS lowercase; DEFINE TABLE t;"
	for from := 0; from < x.records && err == nil; from += 1000 {
		var b strings.Builder
		b.WriteString(text + "INSERT INTO t [")
		for i := from; i < min(x.records, from+1000); i++ {
			fmt.Fprintf(&b, "%s,", record(i, i))
		}
		b.WriteString("] RETURN NONE")
		_, err = harness.Ask(ctx, cl, b.String())
		text = ""
	}
	if err == nil {
		began := time.Now()
		if err = x.define(ctx, cl); err == nil {
			_, err = x.wait(ctx, cl)
		}
		x.took = time.Since(began)
		fmt.Fprintf(x.out, "all indexes take %v\n", x.took.Round(time.Millisecond))
	}
	return errors.Join(err, cl.Close(), s.Stop())
}

// record is one of the table; n is unique.
func record(id, n int) string {
	return fmt.Sprintf("{ id: %d, n: %d, kind: %d, tags: [%d, %d], text: 'word%d and word%d of many%d or some%d in odd%d by far%d at top%d to end%d', v: [%d, %d, %d, %d, %d, %d, %d, %d] }",
		id, n, n%97, n%7, n%11+100, n%50, n%31, n%1999, n%701, n%83, n%503, n%211, n%997, n%7, n%11, n%13, n%17, n%19,
		n%23, n%29, n%31)
}

// define begins to build every index, those that are there anew.
func (x *indexer) define(ctx context.Context, cl *client.Client) error {
	for _, i := range x.rnd.Perm(len(builtIndexes)) {
		ix := builtIndexes[i]
		if ix.name == "byText" && x.took > 0 && x.rnd.IntN(3) > 0 {
			continue // it stays, and gathers changes until they are folded
		}
		text := fmt.Sprintf("DEFINE INDEX OVERWRITE %s ON t %s CONCURRENTLY", ix.name, ix.define)
		switch x.rnd.IntN(8) {
		case 0, 1: // the old one stays until the new one takes its place
			text = strings.TrimSuffix(text, " CONCURRENTLY")
		case 2:
			x.remove(ix.name)
			text = fmt.Sprintf("REMOVE INDEX IF EXISTS %s ON t; DEFINE INDEX %[1]s ON t %s CONCURRENTLY", ix.name, ix.define)
		case 3: // what can not be built leaves the old one, here until it is replaced after all
			if x.took > 0 {
				first := fmt.Sprintf("DEFINE INDEX OVERWRITE %s ON t %s CONCURRENTLY", ix.name, misfit)
				if text = first + ";" + text; x.rnd.IntN(2) == 0 {
					text = first
				}
			}
		}
		if _, err := harness.Ask(ctx, cl, text); err != nil {
			return err
		}
	}
	return nil
}

// remove notes that an index goes.
func (x *indexer) remove(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gone[name] = true
}

// removed reports whether an index need not be there.
func (x *indexer) removed(name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.gone[name]
}

// look queries each index that was not removed: it must give the same answer as a scan in the same transaction.
func (x *indexer) look(ctx context.Context, cl *client.Client) error {
	for _, ix := range builtIndexes {
		if ix.ask == "" {
			continue
		}
		// A plan does not show that a number was read.
		plain, counts := strings.CutPrefix(ix.plain, "RETURN ")
		text := fmt.Sprintf("INFO FOR INDEX %s ON t; [%s, %s]", ix.name, strings.TrimPrefix(ix.ask, "RETURN "), plain)
		if !counts {
			text = fmt.Sprintf("BEGIN; INFO FOR INDEX %s ON t; [(%s), (%s)]; EXPLAIN %s; COMMIT", ix.name, ix.ask,
				plain, forced(ix.name, ix.ask))
		}
		answers, err := cl.Query(ctx, text, nil)
		if err == nil {
			err = harness.FirstError(answers)
		}
		switch {
		case err != nil && (harness.IsConflict(err) ||
			x.removed(ix.name) && strings.Contains(err.Error(), "does not exist")):
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", text, err)
		}
		if !counts {
			answers = answers[1:]
			if plan := answers[2].Value.Text(); !strings.Contains(plan, "index: "+ix.name) && !x.removed(ix.name) {
				return fmt.Errorf("index %s, %s, is not used: %s", ix.name, answers[0].Value.Text(), plan)
			}
		}
		status, both := answers[0].Value.Text(), answers[1].Value.Elems()
		if !value.Equal(both[0], both[1]) && !x.removed(ix.name) { // a search for words needs an index
			return fmt.Errorf("index %s, %s: %s and %s have different answers at one time", ix.name, status, ix.ask, ix.plain)
		}
		x.mu.Lock()
		x.looks++
		if !x.gone[ix.name] && !strings.Contains(status, "'ready'") {
			x.beside++
		}
		x.mu.Unlock()
	}
	return nil
}

// read looks at the indexes until the server is gone.
func (x *indexer) read(ctx context.Context, s *harness.Server, stop chan struct{}) error {
	cl, err := s.Connect(ctx, "index", "index")
	if err != nil {
		return harness.UnlessStopped(stop, err)
	}
	defer cl.Close()
	for {
		if err := x.look(ctx, cl); err != nil {
			return harness.ConnectionLost(err)
		}
		select {
		case <-stop:
			return nil
		default:
		}
	}
}

// statuses is how far the indexes are: a status for each, "" for one that is not there.
func (x *indexer) statuses(ctx context.Context, cl *client.Client) (map[string]string, error) {
	out := map[string]string{}
	for _, ix := range builtIndexes {
		answers, err := cl.Query(ctx, "INFO FOR INDEX "+ix.name+" ON t", nil)
		if err != nil {
			return nil, err
		}
		if answers[0].Err != nil {
			out[ix.name] = ""
			continue
		}
		b, _ := answers[0].Value.Object().Get("building")
		status, _ := b.Object().Get("status")
		reason, _ := b.Object().Get("error")
		if out[ix.name] = status.Str(); status.Str() == "error" &&
			!(reason.Kind() == value.KindString && misfits.MatchString(reason.Str())) {
			return nil, fmt.Errorf("index %s: %s", ix.name, b.Text())
		}
	}
	return out, nil
}

// wait waits until all indexes that are there are ready, and gives their statuses of before.
func (x *indexer) wait(ctx context.Context, cl *client.Client) (before map[string]string, err error) {
	ctx, stop := context.WithTimeout(ctx, 5*time.Minute)
	defer stop()
	for {
		now, err := x.statuses(ctx, cl)
		if err != nil {
			return nil, err
		}
		if before == nil {
			before = now
		}
		if !slices.ContainsFunc(slices.Collect(maps.Values(now)), func(s string) bool {
			return s != "ready" &&
				s != "" && s != "error"
		}) {
			return before, nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// replaceMisfits looks at the indexes that could not be replaced, and replaces them.
func (x *indexer) replaceMisfits(ctx context.Context, cl *client.Client) error {
	now, err := x.statuses(ctx, cl)
	if err != nil {
		return err
	}
	if err := x.look(ctx, cl); err != nil {
		return err
	}
	for name, status := range now {
		if status != "error" {
			continue
		}
		x.ends["index that could not be replaced"]++
		if _, err := harness.Ask(ctx, cl,
			fmt.Sprintf("DEFINE INDEX OVERWRITE %s ON t %s", name, x.definition(name))); err != nil {
			return err
		}
	}
	return nil
}

// cycle builds all indexes under writers, kills the server in the midst of it, perhaps once more while it goes on, and
// holds what is there in the end to what a scan finds.
func (x *indexer) cycle(ctx context.Context) error {
	s, cl, err := x.begin(ctx)
	if err != nil {
		return err
	}
	x.gone = map[string]bool{}
	if err := x.beaten(ctx, s, func() error { return x.define(ctx, cl) }); err != nil {
		return err
	}
	x.ends["kills"]++
	if x.rnd.IntN(3) == 0 {
		if s, _, err = x.begin(ctx); err != nil {
			return err
		}
		if err := x.beaten(ctx, s, func() error { return nil }); err != nil {
			return err
		}
		x.ends["kills while building went on"]++
	}
	if s, cl, err = x.begin(ctx); err != nil {
		return err
	}
	err = x.look(ctx, cl)
	if err != nil {
		return errors.Join(err, s.Kill())
	}
	before, err := x.wait(ctx, cl)
	if err == nil {
		err = x.replaceMisfits(ctx, cl)
	}
	if err == nil {
		for name, status := range before {
			if status == "" {
				status = "not there"
			}
			x.ends["index found "+status+" after a kill"]++
			if status == "not there" {
				_, err = harness.Ask(ctx, cl, fmt.Sprintf("DEFINE INDEX %s ON t %s", name, x.definition(name)))
			}
			if err != nil {
				break
			}
		}
	}
	if err == nil {
		err = x.compare(ctx, cl)
	}
	if err != nil {
		return errors.Join(err, s.Kill())
	}
	return errors.Join(cl.Close(), s.Stop(), x.check(ctx))
}

func (x *indexer) definition(name string) string {
	for _, ix := range builtIndexes {
		if ix.name == name {
			return ix.define
		}
	}
	return ""
}

// beaten does something under writers and kills the server at a random time, then checks the files.
func (x *indexer) beaten(ctx context.Context, s *harness.Server, do func() error) error {
	var clients sync.WaitGroup
	stop := make(chan struct{})
	errs := make([]error, x.writers+2)
	for w := range x.writers {
		seed := x.rnd.Uint64()
		clients.Go(func() { errs[w] = x.write(ctx, s, seed, stop) })
	}
	after := time.Duration(x.rnd.Int64N(int64(x.took)))
	clients.Go(func() { errs[x.writers] = harness.UnlessStopped(stop, do()) })
	clients.Go(func() { errs[x.writers+1] = x.read(ctx, s, stop) })
	select {
	case <-time.After(after):
	case <-s.Exited:
		return fmt.Errorf("the server ended by itself; it said:\n%s", s.Said())
	}
	close(stop)
	err := s.Kill()
	clients.Wait()
	return errors.Join(append(errs, err, x.check(ctx))...)
}

// write changes records until the server is gone.
func (x *indexer) write(ctx context.Context, s *harness.Server, seed uint64, stop chan struct{}) error {
	cl, err := s.Connect(ctx, "index", "index")
	if err != nil {
		return harness.UnlessStopped(stop, err)
	}
	defer cl.Close()
	rnd := rand.New(rand.NewPCG(seed, 3))
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		id, fresh := rnd.IntN(x.records), 1_000_000+rnd.IntN(1<<40)
		text := fmt.Sprintf("DELETE t:%d", id)
		switch rnd.IntN(4) {
		case 0:
			text = "INSERT INTO t " + record(x.records+rnd.IntN(x.records), fresh)
		case 1:
			text = fmt.Sprintf("UPSERT t:%d CONTENT %s", id, record(id, fresh))
		case 2:
			text = fmt.Sprintf("BEGIN; UPDATE t:%d SET kind = %d, tags += 3; UPSERT t:%d CONTENT %s; COMMIT", id, rnd.IntN(97), id+1, record(id+1, fresh))
		}
		answers, err := cl.Query(ctx, text, nil)
		if err == nil {
			err = harness.FirstError(answers)
		}
		if err != nil && !harness.IsConflict(err) && !strings.Contains(err.Error(), "already exists") &&
			!misfits.MatchString(err.Error()) {
			if err := harness.UnlessStopped(stop, err); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
			return nil
		}
	}
}

// check is nacre check.
func (x *indexer) check(ctx context.Context) error {
	rep, err := engine.Check(ctx, x.path, nil)
	if err != nil {
		return err
	}
	x.ends["checks"]++
	if !rep.Clean() {
		return fmt.Errorf("check: %d findings, the first: %s: %s", rep.Found, rep.Findings[0].Kind,
			rep.Findings[0].Text)
	}
	return nil
}

// compare holds the answers of all indexes to those of scans.
func (x *indexer) compare(ctx context.Context, cl *client.Client) error {
	for _, ix := range builtIndexes {
		if ix.ask == "" {
			continue
		}
		got, err := harness.Ask(ctx, cl, ix.ask+";"+ix.plain)
		if err != nil {
			return err
		}
		if !value.Equal(got[0], got[1]) {
			return fmt.Errorf("index %s: %s and %s have different answers", ix.name, ix.ask, ix.plain)
		}
		x.ends["answers equal to those of scans"]++
	}
	return x.compareVectors(ctx, cl)
}

// leastRecall is how many of the ten nearest records must be found on average.
const leastRecall = 0.95

func (x *indexer) compareVectors(ctx context.Context, cl *client.Client) error {
	const queries = 10
	found := 0
	for range queries {
		q := fmt.Sprintf("[%d, %d, %d, %d, %d, %d, %d, %d]", x.rnd.IntN(7), x.rnd.IntN(11), x.rnd.IntN(13),
			x.rnd.IntN(17), x.rnd.IntN(19), x.rnd.IntN(23),
			x.rnd.IntN(29), x.rnd.IntN(31))
		got, err := harness.Ask(ctx, cl, fmt.Sprintf(`SELECT VALUE vector::distance::euclidean(v, %s) FROM t WHERE v <|10,150|> %[1]s;
			SELECT VALUE vector::distance::euclidean(v, %[1]s) FROM t WHERE v <|10,EUCLIDEAN|> %[1]s`, q))
		if err != nil {
			return err
		}
		far := 0.0
		for _, d := range got[1].Elems() {
			far = max(far, d.Float())
		}
		for _, d := range got[0].Elems() {
			if d.Float() <= far {
				found++
			}
		}
	}
	x.ends["nearest records looked for"] += 10 * queries
	x.ends["nearest records found"] += found
	if float64(found) < leastRecall*10*queries {
		return fmt.Errorf("of %d nearest records %d are found", 10*queries, found)
	}
	return nil
}
