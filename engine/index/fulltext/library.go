package fulltext

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/index/numbers"
	"github.com/nacredb/nacre/engine/kv"
)

// Library holds the state that all users of a store's full-text indexes share: document numbers, compiled analyzers and
// the files that these may read. It is safe for concurrent use.
//
// It owns a goroutine per index that has gathered many changes, which folds them into blocks and ends. Close stops them
// and waits.
type Library struct {
	Numbers numbers.Source

	store  kv.Store
	files  Files
	log    *slog.Logger
	ctx    context.Context // of the goroutines
	cancel context.CancelFunc

	counts sync.Pool // of *counts, for builds: those of the parts of one remember the words of the parts before

	mu       sync.Mutex // guards all below; a leaf lock
	compiled map[*ast.DefineAnalyzer]*Analyzer
	changed  map[place]*gathered
	folding  sync.WaitGroup
}

// gathered is how many changes have come to an index since it was folded.
type gathered struct {
	changes int
	working bool
}

// Limits of what is kept.
const (
	maxCompiled = 256
	maxGathered = 1 << 16
)

// foldAfter is how many changes an index gathers before they are folded.
const foldAfter = 1 << 16

// NewLibrary makes the library of a store. files opens the files of mapper filters; nil: none. SECURITY: users who
// may define analyzers can read them.
func NewLibrary(store kv.Store, files Files, log *slog.Logger) *Library {
	l := &Library{store: store, files: files, log: log, changed: map[place]*gathered{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Compile makes the analyzer of a definition that may never be used.
func (l *Library) Compile(def *ast.DefineAnalyzer) (*Analyzer, error) { return Compile(def, l.files) }

// Analyzer compiles a definition, once: definitions never change.
func (l *Library) Analyzer(def *ast.DefineAnalyzer) (*Analyzer, error) {
	if a := l.known(def); a != nil {
		return a, nil
	}
	a, err := Compile(def, l.files)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.compiled == nil || len(l.compiled) >= maxCompiled {
		l.compiled = map[*ast.DefineAnalyzer]*Analyzer{}
	}
	l.compiled[def] = a
	return a, nil
}

// takeCounts takes what counts terms out of counts.
func (l *Library) takeCounts() *counts {
	if c, ok := l.counts.Get().(*counts); ok {
		return c
	}
	return &counts{}
}

func (l *Library) known(def *ast.DefineAnalyzer) *Analyzer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.compiled[def]
}

// Changed says that x was written to: once its transaction is committed, the changes count.
func (l *Library) Changed(x *Index) {
	if n, bare := x.changes, x.bare(); n > 0 {
		x.changes = 0
		x.Tx.OnCommit(func(kv.Version) { l.gather(bare, n) })
	}
}

// Seen says that an index is in use: what it had gathered before this process is looked at, once.
func (l *Library) Seen(x *Index) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed[x.place] == nil {
		l.count(x.bare(), 0)
	}
}

// gather counts changes, and has them folded when there are many.
func (l *Library) gather(x Index, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(x, n)
}

// count is gather with l.mu held.
func (l *Library) count(x Index, n int) {
	g := l.changed[x.place]
	if g == nil {
		if len(l.changed) >= maxGathered {
			clear(l.changed) // what is at work counts anew
		}
		g = &gathered{}
		l.changed[x.place] = g
		if l.ctx.Err() == nil {
			l.folding.Go(func() { l.survey(x) })
		}
	}
	g.changes += n
	if g.changes < foldAfter || g.working || l.ctx.Err() != nil {
		return
	}
	g.working, g.changes = true, 0
	l.folding.Go(func() { l.fold(&x, g) })
}

// survey counts the changes that an index has stored: those of processes before this one were counted nowhere.
func (l *Library) survey(x Index) {
	n, err := x.unfolded(l.ctx, l.store)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			l.log.Error("count the changes of a full-text index", "index", x.Name, "error", err)
		}
		return
	}
	l.gather(x, n)
}

func (l *Library) fold(x *Index, g *gathered) {
	err := x.Fold(l.ctx, l.store)
	if err != nil && !errors.Is(err, context.Canceled) {
		l.log.Error("fold the changes of a full-text index", "index", x.Name, "error", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	g.working = false
}

// Close stops what is at work and waits for it.
func (l *Library) Close() {
	l.cancel()
	l.folding.Wait()
}
