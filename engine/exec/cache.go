package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/plan"
)

// Script is a parsed text, ready to run by any number of sessions at once.
type Script struct {
	Stmts  []Prepared
	Option bool // OPTION is among them
	Weight int  // about how many bytes it takes, its text included
}

// Prepared is a statement with what is known of it before it runs.
type Prepared struct {
	Stmt   ast.Statement
	Writes bool // it may write

	Block int // of a BEGIN: how many statements it is with those up to its COMMIT, both included; 0 where there is none
}

// What a parsed text is taken to weigh for each byte of it, where it is short, and else for each of its nodes.
const (
	shortText  = 1 << 10
	byteWeight = 16
	nodeWeight = 96
)

// weigh is about how many bytes the parsed text s keeps in memory. A long text is walked: "1,1,1,…" takes 30 times its
// length, one long string no more than that.
func weigh(text string, s *Script) int {
	if len(text) <= shortText {
		return len(text) * byteWeight
	}
	nodes := len(s.Stmts)
	for i := range s.Stmts {
		ast.Inspect(s.Stmts[i].Stmt, func(any) bool {
			nodes++
			return true
		})
	}
	return len(text) + nodes*nodeWeight
}

// Parse gives the script of a text, from the cache where it is there. It ends when ctx does.
func (ex *Executor) Parse(ctx context.Context, text string) (*Script, error) {
	if s, ok := ex.cache.Get(text); ok {
		return s, nil
	}
	q, err := ex.ParseQuery(text, ctx.Err)
	if err != nil {
		return nil, err
	}
	s := Prepare(q)
	if s.Weight = weigh(text, s); len(text) <= ex.Limits.CacheText {
		ex.cache.Put(text, s, s.Weight)
	}
	return s, nil
}

// ParseAs is Parse for a text in another language, which parse reads. The script has its weight already.
func (ex *Executor) ParseAs(language, text string, parse func(text string) (*Script, error)) (*Script, error) {
	key := "\x00" + language + "\x00" + text
	if s, ok := ex.cache.Get(key); ok {
		return s, nil
	}
	s, err := parse(text)
	if err != nil {
		return nil, err
	}
	if len(text) <= ex.Limits.CacheText {
		ex.cache.Put(key, s, s.Weight)
	}
	return s, nil
}

// Prepare looks over the statements of a parsed text.
func Prepare(q *ast.Query) *Script {
	s := &Script{Stmts: make([]Prepared, len(q.Stmts))}
	for i, st := range q.Stmts {
		s.Stmts[i] = Prepared{Stmt: st, Writes: plan.MayWrite(st)}
		if _, ok := st.(*ast.Option); ok {
			s.Option = true
		}
	}
	findBlocks(s.Stmts)
	return s
}

// findBlocks notes at each BEGIN how far its block goes.
func findBlocks(stmts []Prepared) {
	begin := -1
	for i := range stmts {
		switch stmts[i].Stmt.(type) {
		case *ast.Begin:
			begin = i
		case *ast.Cancel:
			begin = -1
		case *ast.Commit:
			if begin >= 0 {
				stmts[begin].Block = i + 1 - begin
			}
			begin = -1
		}
	}
}
