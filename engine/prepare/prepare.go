// Package prepare looks over parsed texts before they run: which statements may write, which form a block, and how much
// memory a text keeps.
package prepare

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/plan"
)

// Script is a parsed text, ready to run by any number of sessions at once.
type Script struct {
	Stmts  []Statement
	Option bool // OPTION is among them
	Weight int  // about how many bytes it takes, its text included
}

// Statement is a statement with what is known of it before it runs.
type Statement struct {
	Stmt   ast.Statement
	Writes bool // it may write
	Reads  bool // it writes nothing but in closures, which may not

	Block int // of a BEGIN: how many statements it is with those up to its COMMIT, both included; 0 where there is none
}

// What a parsed text is taken to weigh for each byte of it, where it is short, and else for each of its nodes.
const (
	shortText  = 1 << 10
	byteWeight = 16
	nodeWeight = 96
)

// Weigh notes how many bytes s, which was read from text, keeps in memory, roughly. A long text is walked: "1,1,1,…"
// takes 30 times its length, one long string no more than that.
func (s *Script) Weigh(text string) { s.Weight = weight(text, s) }

// MostWeight is about the most that a script read from text keeps in memory, in bytes: hostile texts take twice that.
func MostWeight(text string) int { return len(text) * byteWeight }

func weight(text string, s *Script) int {
	if len(text) <= shortText {
		return MostWeight(text)
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

// Of looks over the statements of a parsed text. The script has no weight yet.
func Of(q *ast.Query) *Script {
	s := &Script{Stmts: make([]Statement, len(q.Stmts))}
	for i, st := range q.Stmts {
		s.Stmts[i] = Statement{Stmt: st, Writes: plan.MayWrite(st), Reads: !plan.WritesOpenly(st)}
		if _, ok := st.(*ast.Option); ok {
			s.Option = true
		}
	}
	findBlocks(s.Stmts)
	return s
}

// findBlocks notes at each BEGIN how far its block goes.
func findBlocks(stmts []Statement) {
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
