package fulltext

import (
	"io/fs"
	"sync"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/index/numbers"
)

// Library is what all users of full-text indexes of one store share: document numbers, compiled analyzers and the files
// that these may read. It is safe for concurrent use.
type Library struct {
	Numbers numbers.Source
	// Files holds the files of mapper filters; nil: none. SECURITY: whoever may define analyzers can read them.
	Files fs.FS

	mu       sync.Mutex // guards compiled; a leaf lock
	compiled map[*ast.DefineAnalyzer]*Analyzer
}

// maxCompiled is how many compiled analyzers are kept.
const maxCompiled = 256

// Analyzer compiles a definition, once: definitions never change.
func (l *Library) Analyzer(def *ast.DefineAnalyzer) (*Analyzer, error) {
	if a := l.known(def); a != nil {
		return a, nil
	}
	a, err := Compile(def, l.Files)
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

func (l *Library) known(def *ast.DefineAnalyzer) *Analyzer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.compiled[def]
}
