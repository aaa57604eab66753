package column_test

import (
	"slices"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/column"
	"github.com/nacredb/nacre/engine/parse"
)

func expr(t *testing.T, text string) ast.Expr {
	t.Helper()
	x, err := parse.Expr(text, parse.Options{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return x
}

func TestOf(t *testing.T) {
	for text, want := range map[string][]string{
		"name":                {"name"},
		"(name)":              {"name"},
		"address.city":        {"address", "city"},
		"tags[0]":             {"tags"},
		"tags[0].name":        {"tags", "name"},
		"->knows":             {"->knows"},
		"->knows->person":     {"->knows", "->person"},
		"<-knows.at":          {"<-knows", "at"},
		"$param":              {"param"},
		"count()":             {"count"},
		"math::sum(a)":        {"math::sum"},
		"fn::mine(1)":         {"fn::mine"},
		"1 + 2":               {"1 + 2"},
		"person:1":            {"person:1"},
		"$param.name":         {"$param", "name"},
		"count().name":        {"count", "name"},
		"'text'":              {"'text'"},
		"[1, 2]":              {"[1, 2]"},
		"ml::price<1.0.0>(a)": {"ml::price<1.0.0>"},
	} {
		if got := column.Of(expr(t, text)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestAlias(t *testing.T) {
	if got := column.Alias(nil); got != nil {
		t.Errorf("no alias: got %q", got)
	}
	id, ok := expr(t, "a.b").(*ast.Idiom)
	if !ok {
		t.Fatal("a.b is no idiom")
	}
	if got := column.Alias(id); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q", got)
	}
}
