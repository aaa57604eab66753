package parse

import (
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// TestWordsAsNamesAreReadBack: for any name of a table, a field or a key, the text of a definition that names it is
// read back as what it was.
func TestWordsAsNamesAreReadBack(t *testing.T) {
	words := append([]string{"NaN", "Infinity", "nan", "infinity", "1a", "1", "e5", "1e5", "_", "a b", "é", "`", "\\",
		"u", "d", "r", "f", "b", "s", "rand", "ulid", "uuid", "fn", "ml", "silo", ""}, keywordNames[:]...)
	for _, w := range words {
		for _, word := range []string{w, strings.ToLower(w)} {
			id := value.RecordOf(&value.RecordID{Table: word, Key: value.Str(word)})
			for name, x := range map[string]ast.Expr{
				"record id": &ast.RecordID{Table: word, Key: &ast.Literal{Value: value.Str(word)}},
				"constant": &ast.Literal{
					Value: value.Array(id, value.ObjectOf(value.NewObject(value.Field{Name: word, Value: id})))},
				"table": &ast.Table{Name: word},
			} {
				q := &ast.Query{Stmts: []ast.Statement{
					&ast.DefineField{Name: &ast.Idiom{Parts: []ast.Part{&ast.PartField{Name: "x"}}},
						Table: ast.Name{Ident: "t"}, Value: x}}}
				text := ast.Text(q)
				back, err := Query(text, Options{})
				if err != nil {
					t.Errorf("%s %q: %s: %v", name, word, text, err)
				} else if again := ast.Text(back); again != text {
					t.Errorf("%s %q: %s is read as %s", name, word, text, again)
				}
			}
		}
	}
}
