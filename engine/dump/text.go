// Package dump writes a database as statements that import takes back.
//
// The text is canonical: the same data and definitions give the same bytes, so that export → import →
// export is a fixed point. It comes from one snapshot and needs memory for one statement only. The
// caller decides who may export what.
package dump

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Selection says what an export holds. Tables lists tables by name; AllTables has them all.
type Selection struct {
	Users, Accesses, Params, Functions, Analyzers, Sequences bool
	APIs, Buckets, Configs, Records                          bool
	Models                                                   bool // their definitions, without their files
	Versions                                                 bool // of records: only on a store that keeps its past
	AllTables                                                bool
	Tables                                                   []string
	// Part is called before the text of each table: what is written from then on is a text of its own. May be nil.
	Part func(table string) error
}

// The size of one INSERT: whichever comes first.
const (
	rowsPerInsert  = 1000
	bytesPerInsert = 1 << 20
)

// writer is one export at work. The first failure is kept in err; later writes do nothing.
type writer struct {
	w   *bufio.Writer
	err error
	buf []byte // of the INSERT under way
}

// Text writes the database of gate to w. A table of opt.Tables that does not exist is an error, before anything is
// written.
func Text(ctx context.Context, w io.Writer, cat *catalog.View, gate *record.Gate, opt Selection) error {
	tables, err := selected(cat, gate.DB, opt)
	if err != nil {
		return err
	}
	out := &writer{w: bufio.NewWriterSize(w, 256<<10)}
	out.section("OPTION")
	out.line("OPTION IMPORT;")
	scope := gate.DB.Inner()
	for _, s := range []struct {
		title string
		kind  ast.DefKind
		on    bool
	}{
		{"USERS", ast.DefUser, opt.Users}, {"ACCESSES", ast.DefAccess, opt.Accesses},
		{"PARAMS", ast.DefParam, opt.Params},
		{"FUNCTIONS", ast.DefFunction, opt.Functions}, {"ANALYZERS", ast.DefAnalyzer, opt.Analyzers},
		{"SEQUENCES", ast.DefSequence, opt.Sequences}, {"BUCKETS", ast.DefBucket, opt.Buckets},
		{"APIS", ast.DefAPI, opt.APIs}, {"MODELS", ast.DefModel, opt.Models},
		{"CONFIGS", ast.DefConfig, opt.Configs},
	} {
		if !s.on {
			continue
		}
		defs, err := cat.Defs(scope, s.kind)
		if err != nil {
			return err
		}
		if s.kind == ast.DefSequence {
			if defs, err = startingNext(gate.Tx, defs); err != nil {
				return err
			}
		}
		if len(defs) > 0 {
			out.section(s.title)
			out.defs(defs)
		}
	}
	for _, tb := range tables {
		out.part(tb.Name, opt.Part)
		out.table(tb)
		if opt.Records && out.err == nil {
			out.section("TABLE DATA: " + tb.Name)
			if opt.Versions {
				out.versions(ctx, gate, tb)
			} else {
				out.records(ctx, gate, tb)
			}
		}
	}
	if out.err != nil {
		return fmt.Errorf("export: %w", out.err)
	}
	if err := out.w.Flush(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// startingNext lets sequences START where they are, so that no number is given again after an import.
func startingNext(tx *txn.Tx, defs []*catalog.Def) ([]*catalog.Def, error) {
	out := make([]*catalog.Def, len(defs))
	for i, d := range defs {
		out[i] = d
		next, ok, err := catalog.SequenceNext(tx, d)
		if err != nil {
			return nil, err
		}
		if def, sequence := d.Stmt.(*ast.DefineSequence); ok && sequence {
			moved := *def
			moved.Start = &ast.Literal{Value: value.Int(next)}
			out[i] = &catalog.Def{Stmt: &moved}
		}
	}
	return out, nil
}

// selected are the tables to export, by name, edges last; a view stands behind the tables that it reads.
func selected(cat *catalog.View, db *catalog.Database, opt Selection) ([]*catalog.Table, error) {
	if !opt.AllTables && len(opt.Tables) == 0 {
		return nil, nil
	}
	all, err := cat.Tables(db)
	if err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	if !opt.AllTables {
		for _, name := range opt.Tables {
			if !slices.ContainsFunc(all, func(tb *catalog.Table) bool { return tb.Name == name }) {
				return nil, errs.TableNotFound(name)
			}
		}
		all = slices.DeleteFunc(all, func(tb *catalog.Table) bool { return !slices.Contains(opt.Tables, tb.Name) })
	}
	slices.SortStableFunc(all, func(a, b *catalog.Table) int { return relationLast(a) - relationLast(b) })
	return sourcesFirst(all), nil
}

// relationLast puts edges behind the records that they join: where they are ENFORCED the reference looks for those.
func relationLast(tb *catalog.Table) int {
	if tb.Define.Kind == ast.TableRelation {
		return 1
	}
	return 0
}

// sourcesFirst keeps the order of tables but for views, which come after what they are made of.
func sourcesFirst(tables []*catalog.Table) []*catalog.Table {
	views := map[string][]string{} // source → views
	for _, tb := range tables {
		views[tb.Name] = tb.Views
	}
	waits := map[string]int{}
	for _, list := range views {
		for _, v := range list {
			waits[v]++
		}
	}
	out := make([]*catalog.Table, 0, len(tables))
	var place func(tb *catalog.Table)
	byName := map[string]*catalog.Table{}
	for _, tb := range tables {
		byName[tb.Name] = tb
	}
	place = func(tb *catalog.Table) {
		out = append(out, tb)
		for _, v := range tb.Views {
			if waits[v]--; waits[v] == 0 && byName[v] != nil {
				place(byName[v])
			}
		}
	}
	for _, tb := range tables {
		if tb.Define.View == nil || waits[tb.Name] == 0 && !slices.Contains(out, tb) {
			place(tb)
		}
	}
	return out
}

func (w *writer) line(parts ...string) {
	for _, p := range append(parts, "\n") {
		if w.err == nil {
			_, w.err = w.w.WriteString(p)
		}
	}
}

// part begins a text of its own for a table, where the export is to have one for each.
func (w *writer) part(table string, begin func(string) error) {
	if begin == nil || w.err != nil {
		return
	}
	if w.err = w.w.Flush(); w.err == nil {
		w.err = begin(table)
	}
	w.section("OPTION")
	w.line("OPTION IMPORT;")
}

func (w *writer) section(title string) {
	const rule = "-- ------------------------------"
	w.line(rule)
	w.line("-- ", strings.ReplaceAll(title, "\n", " "))
	w.line(rule)
	w.line()
}

// defs writes definitions, one a line.
func (w *writer) defs(defs []*catalog.Def) {
	for _, d := range defs {
		w.line(ast.Text(d.Stmt), ";")
	}
	w.line()
}

// table writes the definition of a table and of everything on it.
func (w *writer) table(tb *catalog.Table) {
	w.section("TABLE: " + tb.Name)
	w.line(ast.Text(tb.Define), ";")
	w.line()
	for _, f := range tb.Fields {
		w.line(fieldText(tb, f), ";")
	}
	w.line()
	for _, ix := range tb.Wanted() {
		w.line(ast.Text(ix.Define), ";")
	}
	w.line()
	for _, ev := range tb.Events {
		w.line(ast.Text(ev.Define), ";")
	}
	w.line()
}

// fieldText is the definition of a field. What the table or an outer field defines by itself (the ends of a relation,
// the elements of a typed array) is there already when its own line is read: that line overwrites.
func fieldText(tb *catalog.Table, f *catalog.Field) string {
	implied := tb.Define.Kind == ast.TableRelation && (f.Name == "in" || f.Name == "out") ||
		strings.HasSuffix(f.Name, ".*")
	if !implied {
		return ast.Text(f.Define)
	}
	def := *f.Define
	def.Mode = ast.ModeOverwrite
	return ast.Text(&def)
}

// records writes the records of a table as INSERT and, for edges, INSERT RELATION statements.
func (w *writer) records(ctx context.Context, gate *record.Gate, tb *catalog.Table) {
	rows, edges := 0, false
	end := func() {
		if rows > 0 && w.err == nil {
			w.buf = append(w.buf, " ];\n"...)
			_, w.err = w.w.Write(w.buf)
		}
		w.buf, rows = w.buf[:0], 0
	}
	err := gate.EachStored(ctx, tb, func(doc value.Value, edge bool) error {
		if edge != edges || rows == rowsPerInsert || len(w.buf) >= bytesPerInsert {
			end()
			edges = edge
		}
		switch {
		case rows > 0:
			w.buf = append(w.buf, ", "...)
		case edge:
			w.buf = append(w.buf, "INSERT RELATION [ "...)
		default:
			w.buf = append(w.buf, "INSERT [ "...)
		}
		w.buf = appendLiteral(w.buf, doc)
		rows++
		return w.err
	})
	end()
	if w.err == nil {
		w.err = err
	}
	w.line()
}
