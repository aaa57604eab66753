//go:build linux || windows || cgo

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/dump/physical"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/tikv"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/internal/vectors"
)

var onCluster = flag.Bool("cluster", false, "run all of testdata/lang on a cluster, not only a share")

// openCluster opens an engine on a prefix of its own in a cluster on loopback.
func openCluster(t testing.TB) (*engine.Engine, *tikv.Store) { return openSteady(t, catalog.Steady) }

// openUnsure opens one where each statement has to ask for the versions of definitions, as after a pause.
func openUnsure(t testing.TB) (*engine.Engine, *tikv.Store) { return openSteady(t, nil) }

func openSteady(t testing.TB, steady func(key []byte) bool) (*engine.Engine, *tikv.Store) {
	c, prefix := stub.Shared(t)
	st, err := tikv.Open(context.Background(), tikv.Options{PD: []string{c.PD}, Prefix: prefix,
		Counter: record.MayCount, Steady: steady})
	if err != nil {
		t.Fatal(err)
	}
	return openStore(t, st), st
}

// clusterShare is how many files of testdata/lang there are for each that runs on a cluster without -cluster.
const clusterShare = 8

// TestLanguageOnCluster runs a share of the files of testdata/lang on a cluster, or with -cluster all.
func TestLanguageOnCluster(t *testing.T) {
	root := vectors.Path(t, "testdata", "lang")
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".surql" {
			return err
		}
		// found/graph.surql walks 131,072 paths, with a request for each step: it takes minutes.
		if files++; files%clusterShare != 0 && !*onCluster || strings.HasSuffix(path, filepath.FromSlash("found/graph.surql")) {
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		t.Run(strings.TrimSuffix(filepath.ToSlash(name), ".surql"), func(t *testing.T) {
			t.Parallel()
			f := readLang(t, path)
			f.run(t, func(t testing.TB) *engine.Engine { e, _ := openCluster(t); return e }, false, path)
		})
		return nil
	})
	if err != nil || files < clusterShare {
		t.Fatalf("%d files: %v", files, err)
	}
}

// trips are requests to stores; beside of them are reads that went out together with another one.
type trips struct{ reads, prewrites, validations, commits, beside uint64 }

func tripsOf(st *tikv.Store) trips {
	n := st.Trips()
	return trips{n.Reads.Load(), n.Prewrites.Load(), n.Validations.Load(), n.Commits.Load(), n.Together()}
}

// leastTrips is the least that f takes in several calls, after a first one that fills the caches. Others are at work
// beside it: a process looks every 200 ms for what others have changed.
func leastTrips(st *tikv.Store, f func()) (least trips) {
	f()
	for i := range 8 {
		before := tripsOf(st)
		f()
		after := tripsOf(st)
		got := trips{after.reads - before.reads, after.prewrites - before.prewrites,
			after.validations - before.validations, after.commits - before.commits, after.beside - before.beside}
		if i == 0 || got.sum() < least.sum() {
			least = got
		}
	}
	return least
}

func (n trips) sum() uint64 { return n.reads + n.prewrites + n.validations + n.commits }

// TestTripsOfStatements holds the number of requests that statements make.
func TestTripsOfStatements(t *testing.T) {
	e, st := openUnsure(t)
	s := e.RootSession()
	runTrips(t, st, s)
	// Who is signed in asks in the same request whether that still holds.
	mustDo(t, s, "DEFINE USER u ON ROOT PASSWORD 'p' ROLES OWNER")
	other := e.Session()
	if err := other.SigninBasic(context.Background(), "u", "p", "", ""); err != nil {
		t.Fatal(err)
	}
	mustDo(t, other, "USE NS test DB test; RETURN 1")
	if got := leastTrips(st, func() { mustDo(t, other, "SELECT * FROM person:1") }); got != (trips{reads: 1}) {
		t.Errorf("a point read of a signed-in user: %+v", got)
	}
}

// TestTripsOfBusyServers: who has just seen the versions of definitions neither asks for them nor validates them, once
// no change has been announced for a second.
func TestTripsOfBusyServers(t *testing.T) {
	e, st := openCluster(t)
	s := e.RootSession()
	mustDo(t, s, "USE NS test DB test; DEFINE TABLE plain; DEFINE TABLE person; DEFINE INDEX age ON person FIELDS age; "+
		"FOR $i IN 0..30 { CREATE person SET id = $i, age = $i % 10 }; CREATE plain:1")
	time.Sleep(1100 * time.Millisecond)
	for text, want := range map[string]trips{
		"CREATE plain SET name = 'a'":           {prewrites: 1, commits: 1},
		"UPDATE plain:1 SET name = rand::id()":  {reads: 1, prewrites: 1, commits: 1},
		"SELECT * FROM plain:1":                 {reads: 1},
		"SELECT * FROM person WHERE age = 3":    {reads: 2},
		"SELECT VALUE age FROM person LIMIT 10": {reads: 1},
	} {
		if got := leastTrips(st, func() { mustDo(t, s, text) }); got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

func runTrips(t *testing.T, st *tikv.Store, s *engine.Session) {
	do := func(text string) { t.Helper(); mustDo(t, s, text) }
	do("USE NS test DB test; DEFINE TABLE person; DEFINE FIELD age ON person TYPE int; " +
		"DEFINE INDEX age ON person FIELDS age; DEFINE TABLE plain; DEFINE FIELD name ON plain TYPE string")
	do("CREATE plain:1 SET name = 'a'")
	do("FOR $i IN 0..300 { CREATE person SET id = $i, age = $i % 10, pad = 'x' }")
	do("CREATE person:500 SET age = 1, friends = array::range(0, 20).map(|$i| type::record('person', $i)); " +
		"FOR $i IN 0..20 { RELATE person:500->knows->(type::record('person', $i)) }")
	do("DEFINE ANALYZER a TOKENIZERS blank; DEFINE TABLE doc; DEFINE INDEX t ON doc FIELDS t FULLTEXT ANALYZER a BM25; " +
		"DEFINE INDEX v ON doc FIELDS v HNSW DIMENSION 2")
	do("FOR $i IN 0..40 { CREATE doc SET id = $i, t = 'word ' + <string> $i, v = [$i, 1] }")
	for _, tc := range []struct {
		text string
		want trips
	}{
		{"SELECT * FROM person:1", trips{reads: 1}},
		{"SELECT * FROM person WHERE age = 3", trips{reads: 3, beside: 1}}, // thirty records
		{"SELECT * FROM person WHERE age = 3 LIMIT 1", trips{reads: 3, beside: 1}},
		{"CREATE plain SET name = 'a'", trips{prewrites: 1, validations: 1, commits: 1}},
		{"CREATE person SET age = 2", trips{prewrites: 1, validations: 1, commits: 1}},
		{"CREATE plain SET name = rand::id() RETURN NONE", trips{prewrites: 1, validations: 1, commits: 1}},
		{"UPDATE plain:1 SET name = rand::id()", trips{reads: 1, prewrites: 1, validations: 1, commits: 1}},
		{"RETURN 1", trips{}},
		// Twenty links, hits and steps: the records are read together.
		{"SELECT VALUE friends.age FROM ONLY person:500", trips{reads: 2}},
		{"SELECT * FROM ONLY person:500 FETCH friends", trips{reads: 2}},
		{"SELECT * FROM [person:1, person:2, person:3, person:4]", trips{reads: 1}},
		{"SELECT VALUE ->knows->person.age FROM ONLY person:500", trips{reads: 3}},
		{"SELECT id, age FROM doc WHERE v <|10,40|> [1, 2]", trips{reads: 3, beside: 1}},
		{"SELECT id, t, search::score(1) AS s FROM doc WHERE t @1@ 'word' ORDER BY s DESC LIMIT 10", trips{reads: 8, beside: 2}},
		{"SELECT * FROM doc WHERE t @@ 'word'", trips{reads: 10, beside: 2}}, // forty hits, in two parts
		{"SELECT * FROM doc WHERE t @@ 'word' LIMIT 3", trips{reads: 8, beside: 2}},
		{"SELECT VALUE id FROM doc WHERE t @@ 'word'", trips{reads: 8, beside: 2}},
	} {
		got := leastTrips(st, func() { do(tc.text) })
		if got != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.text, got, tc.want)
		}
	}
}

// TestDefinitionsAreNeverOld: a statement goes by definitions, and by an identity, that its server has seen before,
// and asks with its first request whether they hold. What another server has acknowledged holds at once all the same.
func TestDefinitionsAreNeverOld(t *testing.T) {
	c, prefix := stub.Shared(t)
	var of [2]*engine.Engine
	for i := range of {
		st, err := tikv.Open(context.Background(), tikv.Options{PD: []string{c.PD}, Prefix: prefix,
			Counter: record.MayCount, Steady: catalog.Steady})
		if err != nil {
			t.Fatal(err)
		}
		of[i] = openStore(t, st)
	}
	a, b := of[0].RootSession(), of[1].RootSession()
	mustDo(t, a, "USE NS test DB test; DEFINE TABLE t; DEFINE FIELD n ON t VALUE 0;"+
		"DEFINE TABLE lost; CREATE t:1; CREATE t:2; DEFINE FUNCTION fn::n() { 0 }")
	mustDo(t, b, "USE NS test DB test")
	for n := range 40 {
		mustDo(t, a, fmt.Sprintf("DEFINE FIELD OVERWRITE n ON t VALUE %d; DEFINE FUNCTION OVERWRITE fn::n() { %d }", n, n))
		for text, want := range map[string]string{
			"(CREATE ONLY t).n":                                 fmt.Sprint(n),
			"CREATE ONLY t RETURN VALUE n":                      fmt.Sprint(n),
			"UPDATE ONLY t:1 RETURN VALUE n":                    fmt.Sprint(n),
			"SELECT VALUE fn::n() FROM ONLY t:2":                fmt.Sprint(n),
			"SELECT VALUE fn::n() FROM [1]":                     fmt.Sprintf("[%d]", n),
			"SELECT VALUE fn::n() FROM t LIMIT 1":               fmt.Sprintf("[%d]", n),
			"INSERT INTO t { id: rand::ulid() } RETURN VALUE n": fmt.Sprintf("[%d]", n),
		} {
			if got := mustDo(t, b, text).Text(); got != want {
				t.Fatalf("after %d definitions %s gave %s, want %s", n, text, got, want)
			}
		}
	}
	for n := range 10 {
		mustDo(t, a, fmt.Sprintf("DEFINE USER u%d ON ROOT PASSWORD 'p' ROLES EDITOR", n))
		u := of[1].Session()
		if err := u.SigninBasic(context.Background(), fmt.Sprintf("u%d", n), "p", "", ""); err != nil {
			t.Fatal(err)
		}
		mustDo(t, u, "USE NS test DB test; SELECT * FROM t:1; CREATE t")
		mustDo(t, a, fmt.Sprintf("REMOVE USER u%d ON ROOT", n))
		text := []string{"SELECT * FROM t:1", "CREATE lost SET n = 1"}[n%2]
		if v, err := tryDo(u, text); err == nil {
			t.Fatalf("a removed user was answered: %s", v.Text())
		}
	}
	if n := mustDo(t, a, "count(SELECT * FROM lost)").Int(); n != 0 {
		t.Errorf("removed users have written %d records", n)
	}
	// A writer that goes by what it has seen meets a definition which is made meanwhile.
	mustDo(t, a, "DEFINE TABLE m; DEFINE FIELD old ON m VALUE true; DEFINE FIELD new ON m VALUE false")
	var wg sync.WaitGroup
	var told atomic.Bool
	for range 2 {
		s := of[1].RootSession()
		mustDo(t, s, "USE NS test DB test")
		wg.Go(func() {
			for range 60 {
				was := told.Load()
				v, err := tryDo(s, "CREATE ONLY m RETURN VALUE new")
				if err == nil && was && v.Text() != "true" {
					t.Error("a record was made by the definition of before, which its server had been told is not so")
				}
			}
		})
	}
	mustDo(t, a, "DEFINE FIELD OVERWRITE new ON m VALUE true")
	told.Store(true)
	wg.Wait()
}

// TestBackupOfACluster: a backup is of one timestamp while two processes write, and a file that is made of it has all
// that was there then.
func TestBackupOfACluster(t *testing.T) {
	c, prefix := stub.Shared(t)
	open := func() *engine.Engine {
		st, err := tikv.Open(context.Background(), tikv.Options{PD: []string{c.PD}, Prefix: prefix,
			Counter: record.MayCount, Steady: catalog.Steady})
		if err != nil {
			t.Fatal(err)
		}
		return openStore(t, st)
	}
	a, b := open(), open()
	const accounts, total = 300, 300 * 100
	mustDo(t, a.RootSession(), "USE NS test DB test; DEFINE TABLE acc; DEFINE INDEX n ON acc FIELDS n; "+
		fmt.Sprintf("FOR $i IN 0..%d { CREATE acc SET id = $i, n = 100 }", accounts))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var moved atomic.Int64
	for i, e := range []*engine.Engine{a, b} {
		s := e.RootSession()
		mustDo(t, s, "USE NS test DB test")
		wg.Go(func() {
			for n := i; ; n += 7 {
				select {
				case <-stop:
					return
				default:
				}
				text := fmt.Sprintf("BEGIN; UPDATE acc:%d SET n -= 1; UPDATE acc:%d SET n += 1; CREATE move; COMMIT",
					n%accounts, (n*31+1)%accounts)
				if _, err := tryDo(s, text); err == nil {
					moved.Add(1)
				}
			}
		})
	}
	for end := time.Now().Add(30 * time.Second); moved.Load() < 10; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is written")
		}
	}
	var backup bytes.Buffer
	_, err := a.Backup(context.Background(), &backup, physical.BackupOptions{})
	after := moved.Load()
	close(stop)
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "store")
	if _, err := physical.RestoreStream(context.Background(), &backup, path, physical.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	report, err := engine.Check(context.Background(), path, nil)
	if err != nil || len(report.Findings) > 0 {
		t.Errorf("the file: %+v, %v", report, err)
	}
	e := openAt(t, path)
	defer e.Close(context.Background())
	s := e.RootSession()
	mustDo(t, s, "USE NS test DB test")
	for text, want := range map[string]int64{
		"math::sum(SELECT VALUE n FROM acc)":                  total,
		"count(SELECT * FROM acc WITH NOINDEX WHERE n < 100)": mustDo(t, s, "count(SELECT * FROM acc WHERE n < 100)").Int(),
		"(SELECT count() FROM move GROUP ALL)[0].count":       mustDo(t, s, "count(SELECT VALUE id FROM move)").Int(),
	} {
		if got := mustDo(t, s, text); got.Int() != want {
			t.Errorf("%s: got %s, want %d", text, got.Text(), want)
		}
	}
	if n := mustDo(t, s, "count(SELECT VALUE id FROM move)").Int(); n < 10 || n > after+2 { // a commit of each may be untold
		t.Errorf("%d moves, at least 10 and at most %d were there", n, after)
	}
}

// collector is a writer that has the cluster collect what is old once it gets something, and goes on when the client
// knows of it.
type collector struct {
	bytes.Buffer
	once    sync.Once
	collect func()
}

// Write implements io.Writer.
func (c *collector) Write(p []byte) (int, error) {
	c.once.Do(c.collect)
	return c.Buffer.Write(p)
}

// TestBackupTooOld: a backup that takes longer than the cluster keeps what it reads says so, and what it has written
// does not pass for a backup.
func TestBackupTooOld(t *testing.T) {
	if testing.Short() {
		t.Skip("the client looks for the safe point every ten seconds")
	}
	c := stub.Start(t)
	st, err := tikv.Open(context.Background(), tikv.Options{PD: []string{c.PD},
		Counter: record.MayCount, Steady: catalog.Steady})
	if err != nil {
		t.Fatal(err)
	}
	e := openStore(t, st)
	s := e.RootSession()
	mustDo(t, s, "USE NS test DB test; DEFINE TABLE t")
	for range 24 { // more than a backup reads ahead of its writer
		mustDo(t, s, "CREATE t SET noise = array::range(0, 16).map(|$i| rand::string(65000)) RETURN NONE")
	}
	w := &collector{collect: func() {
		sn, err := st.Begin(context.Background())
		if err != nil {
			t.Error(err)
			return
		}
		defer sn.Release()
		if said := c.Order(t, "/safepoints"); !strings.Contains(said, "nacre-backup-") {
			t.Errorf("nothing holds what the backup reads: %s", said)
		}
		c.Order(t, "/safepoint", "ts", fmt.Sprint(uint64(sn.Version())+1))
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if _, _, err := sn.Get([]byte("a")); errors.Is(err, kv.ErrTooOld) {
				return
			}
		}
		t.Error("the client does not hear of the safe point")
	}}
	if _, err := e.Backup(context.Background(), w, physical.BackupOptions{}); !errors.Is(err, kv.ErrTooOld) {
		t.Errorf("the backup: %v", err)
	}
	if said := c.Order(t, "/safepoints"); strings.Contains(said, "nacre-backup-") {
		t.Errorf("what the backup has read is still held: %s", said)
	}
	if m, err := physical.Verify(context.Background(), &w.Buffer, nil); err == nil {
		t.Errorf("what it has written passes for a backup: %+v", m)
	}
}

// TestRemovalReadsNoRecords: REMOVE TABLE of a table that may hold edges takes a few requests, however many records it
// has: who reads them all the time would be in the way of a commit that validates them. What its edges have left
// elsewhere is not seen from then on, and goes in the background.
func TestRemovalReadsNoRecords(t *testing.T) {
	e, st := openCluster(t)
	s := e.RootSession()
	mustDo(t, s, "USE NS main DB main; CREATE a:1, a:2; INSERT INTO e (SELECT VALUE { v: $this } FROM array::range(0, 1500)) RETURN NONE")
	mustDo(t, s, "INSERT RELATION INTO e (SELECT VALUE { in: a:1, out: a:2 } FROM array::range(0, 500)) RETURN NONE")
	if v := mustDo(t, s, "RETURN a:1->e.len()"); v.Text() != "500" {
		t.Fatalf("made %s edges", v.Text())
	}
	before := tripsOf(st)
	mustDo(t, s, "REMOVE TABLE e")
	after := tripsOf(st)
	if n := after.validations - before.validations; n > 3 {
		t.Errorf("%d requests that validate", n)
	}
	mustDo(t, s, "RELATE a:1->e:1->a:2")
	if v := mustDo(t, s, "RETURN [a:1->e, a:2<-e, a:1->?]"); v.Text() != "[[e:1], [e:1], [e:1]]" {
		t.Errorf("edges: %s", v.Text())
	}
	for end := time.Now().Add(time.Minute); keys(t, e) > 200; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d keys are left", keys(t, e))
		}
	}
}

// TestCreateWaitsForNoSnapshot: a CREATE that reads nothing goes by a timestamp that was asked for in advance.
func TestCreateWaitsForNoSnapshot(t *testing.T) {
	e, st := openCluster(t)
	s := e.RootSession()
	mustDo(t, s, "USE NS test DB test; DEFINE TABLE plain")
	mustDo(t, s, "BEGIN; CREATE plain; COMMIT") // it asks first: now it is known what to presume
	least := uint64(2)
	for range 20 {
		before := st.Trips().Stamps.Load()
		mustDo(t, s, "CREATE plain SET name = 'a'")
		least = min(least, st.Trips().Stamps.Load()-before)
	}
	if least != 0 {
		t.Errorf("each waits for %d timestamps", least)
	}
}
