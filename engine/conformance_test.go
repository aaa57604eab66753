package engine_test

import (
	"flag"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nacredb/nacre/internal/vectors"
)

var (
	vectorFiles = flag.String("files", "", "vector files to run, by part of their path, separated by commas; empty: all")
	vectorWays  = flag.String("ways", "", "ways to run them, by part of their name, separated by commas; empty: all")
	vectorShow  = flag.Int("show", 0, "unlisted failures to print per file and way")
	vectorOnly  = flag.String("vector", "", "the only vectors to run, by name, separated by commas")
)

// TestConformance runs the recorded vectors on both stores, by the engine's own sessions and by a client over a WebSocket.
// All must pass. With -short every tenth vector runs in the ways after the
// first; that holds always for the hashes of passwords, which are slow and know neither store nor wire.
func TestConformance(t *testing.T) {
	var totals tally
	t.Run("files", func(t *testing.T) {
		for _, name := range vectors.Files(t) {
			if !wanted(name, *vectorFiles) || name == "statements/known_bugs" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				all := vectors.Load(t, name)
				for i, w := range conformanceWays {
					if !wanted(w.name, *vectorWays) || *vectorRenew != "" && i > 0 {
						continue
					}
					t.Run(w.name, func(t *testing.T) {
						runs := picked(all, func(v *vectors.Vector) bool { return i > 0 && (testing.Short() || passwordHash.MatchString(v.SQL)) })
						if len(runs) == 0 {
							return
						}
						d := w.open(t)
						failed := runVectors(t, runs, d)
						if *vectorRenew != "" {
							renew(t, name, runs, failed, d)
							return
						}
						settle(t, failed)
						dir, _, _ := strings.Cut(name, "/")
						totals.add(dir+", "+w.name, len(runs)-len(failed), len(runs))
					})
				}
			})
		}
	})
	totals.log(t)
}

// passwordHash matches calls that take long on purpose.
var passwordHash = regexp.MustCompile(`crypto::(argon2|bcrypt|pbkdf2|scrypt)`)

// picked are the vectors to run: all that are stable, or the one of -vector. Of those that sample takes every tenth runs,
// the same ones each time.
func picked(all []vectors.Vector, sample func(*vectors.Vector) bool) []*vectors.Vector {
	var out []*vectors.Vector
	for i := range all {
		v := &all[i]
		if v.Volatile || *vectorOnly != "" && !slices.Contains(strings.Split(*vectorOnly, ","), v.Name) {
			continue
		}
		h := fnv.New32a()
		h.Write([]byte(v.Name))
		if sample(v) && h.Sum32()%10 != 0 {
			continue
		}
		out = append(out, v)
	}
	return out
}

// wanted reports whether name holds one of the parts that a flag lists.
func wanted(name, parts string) bool {
	return parts == "" || slices.ContainsFunc(strings.Split(parts, ","), func(part string) bool { return strings.Contains(name, part) })
}

// tally counts what passed.
type tally struct {
	mu     sync.Mutex // guards counts
	counts map[string][2]int
}

func (c *tally) add(name string, passed, all int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string][2]int{}
	}
	sum := c.counts[name]
	c.counts[name] = [2]int{sum[0] + passed, sum[1] + all}
}

func (c *tally) log(t *testing.T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, sum := range c.counts {
		t.Logf("%-32s %5d of %5d, %.2f %%", name, sum[0], sum[1], 100*float64(sum[0])/float64(sum[1]))
	}
}

// runVectors runs vectors and gives the names of those that failed. -show prints some.
func runVectors(t *testing.T, run []*vectors.Vector, door door) (failed []string) {
	shown := 0
	for _, v := range run {
		problem := problemOf(v, door)
		if problem == "" {
			continue
		}
		failed = append(failed, v.Name)
		if shown < *vectorShow {
			shown++
			t.Logf("%s: %s\n    %s\n    %s", v.Name, clip(v.Setup, 160), v.SQL, clip(problem, 700))
		}
	}
	return failed
}

// settle demands that no vector failed.
func settle(t *testing.T, failed []string) {
	if len(failed) > 0 {
		t.Errorf("%d vectors are answered differently: %s (-show 9 prints them)", len(failed), strings.Join(failed, " "))
	}
}

// clip keeps a report readable.
func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}
