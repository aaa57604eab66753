package exec

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/prepare"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

func TestGeneratedKeys(t *testing.T) {
	ex := New(Config{})
	defer ex.Hub.Close()
	seen := map[string]bool{}
	for range 1000 {
		for kind, size := range map[string]int{"rand": 20, "ulid": 26} {
			k := ex.NewKey(kind).Str()
			if len(k) != size || seen[k] {
				t.Fatalf("%s key %q", kind, k)
			}
			seen[k] = true
		}
		u := ex.NewKey("uuid").UUID()
		if u[6]>>4 != 7 || u[8]>>6 != 2 {
			t.Fatalf("%s is no version 7 UUID", u)
		}
	}
	at := time.UnixMilli(1)
	ex.Clock = func() time.Time { return at }
	first := ex.NewKey("ulid").Str()
	at = time.UnixMilli(2)
	if then := ex.NewKey("ulid").Str(); first >= then {
		t.Errorf("%s is not before %s", first, then)
	}
}

func TestEnvLooksOutwards(t *testing.T) {
	base := NewEnv(record.Param{Name: "a", Value: value.Int(1)}, record.Param{Name: "b", Value: value.Int(2)})
	row := base.WithDoc(value.Str("outer"))
	inner := row.Child(record.Param{Name: "a", Value: value.Int(3)}).WithDoc(value.Str("inner"))
	for name, want := range map[string]int64{"a": 3, "b": 2} {
		if v, ok := inner.Lookup(name); !ok || v.Int() != want {
			t.Errorf("$%s is %s, want %d", name, v, want)
		}
	}
	if _, ok := inner.Lookup("c"); ok {
		t.Error("$c is defined")
	}
	if inner.This().Str() != "inner" || inner.Parent().Str() != "outer" || base.HasDoc() {
		t.Errorf("this is %s, parent is %s", inner.This(), inner.Parent())
	}
	inner.Set("b", value.Int(9))
	if v, _ := base.Lookup("b"); v.Int() != 2 {
		t.Error("an inner frame changed an outer one")
	}
}

func TestMayWrite(t *testing.T) {
	read := &ast.Select{Projections: &ast.Projections{Fields: []ast.Projection{{All: true}}},
		From: []ast.Expr{&ast.Table{Name: "t"}}}
	call := &ast.Call{Kind: ast.CallCustom, Path: "f"}
	inside := &ast.ExprStmt{X: &ast.Closure{Body: &ast.Subquery{Stmt: &ast.Create{}}}}
	for _, tc := range []struct {
		name string
		stmt ast.Statement
		want bool
	}{
		{"select", read, false},
		{"create in a closure", inside, true},
		{"a call before a select",
			&ast.Return{X: &ast.Array{Elems: []ast.Expr{call, &ast.Subquery{Stmt: read}}}}, true},
		{"return of a select", &ast.Return{X: &ast.Subquery{Stmt: read}}, false},
		{"create", &ast.Create{}, true},
		{"return of a create", &ast.Return{X: &ast.Subquery{Stmt: &ast.Create{}}}, true},
		{"custom function", &ast.Return{X: call}, true},
		{"custom function in a WHERE", &ast.Select{Projections: read.Projections, From: read.From, Where: call}, true},
		{"custom function in a FETCH", &ast.Select{Projections: read.Projections, From: read.From,
			Fetch: []ast.Expr{call}}, true},
		{"delete in a graph step", &ast.ExprStmt{X: &ast.Idiom{Parts: []ast.Part{
			&ast.PartGraph{Graph: &ast.Graph{Where: &ast.Subquery{Stmt: &ast.Delete{}}}}}}}, true},
		{"closure from elsewhere",
			&ast.ExprStmt{X: &ast.Idiom{Parts: []ast.Part{&ast.PartStart{X: &ast.Param{Name: "f"}},
				&ast.PartCall{}}}}, true},
		{"define", &ast.DefineTable{}, true},
		{"use", &ast.Use{}, true},
	} {
		if got := plan.MayWrite(tc.stmt); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
		byClosures := tc.stmt == inside || tc.name == "closure from elsewhere"
		if got, want := plan.WritesOpenly(tc.stmt), tc.want && !byClosures; got != want {
			t.Errorf("%s, without its closures: got %v, want %v", tc.name, got, want)
		}
	}
}

// TestParsedWritesAreBounded: statements that write weigh as much in the cache of texts as what is made of them takes.
func TestParsedWritesAreBounded(t *testing.T) {
	parse := func(string, func() error) (*ast.Query, error) {
		return &ast.Query{Stmts: []ast.Statement{&ast.Insert{}}}, nil
	}
	ex := New(Config{ParseQuery: parse, Limits: Limits{CacheBytes: 1 << 20}})
	defer ex.Hub.Close()
	text := func(i int) string { return fmt.Sprintf("INSERT INTO t [%s%d]", strings.Repeat("1,", 10_000), i) }
	kept := 0
	for i := range 100 {
		if _, err := ex.Parse(t.Context(), text(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		if _, ok := ex.cache.Get(text(i)); ok {
			kept++
		}
	}
	if most := 1 << 20 / prepare.MostWeight(text(0)); kept == 0 || kept > most {
		t.Errorf("%d texts of %d bytes are kept, want 1 to %d", kept, len(text(0)), most)
	}
}
