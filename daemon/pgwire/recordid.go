package pgwire

import (
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// recordOf is the record that an id names: a whole one of this table, or its key.
func (r *tableRelation) recordOf(id value.Value) (value.Value, error) {
	var text string
	if id.Kind() == value.KindString {
		text = id.Str()
	} else {
		text = id.Text()
	}
	if v, ok := simpleID(r.t.Name, text); ok {
		return v, nil
	}
	if v, ok := wholeID(r.t.Name, text); ok {
		if v.Record().Table != r.t.Name {
			return value.None, sqlstate.New(sqlstate.InvalidText, "%q is no record of table %q", text, r.t.Name)
		}
		return v, nil
	}
	if v, err := parse.RecordID(value.QuoteIdent(r.t.Name) + ":" + text); err == nil && v.Kind() == value.KindRecord {
		return v, nil
	}
	return value.Record(r.t.Name, value.Str(text)), nil
}

// link is the record that a column with links names by v, a string.
func (r *tableRelation) link(name string, v value.Value) (value.Value, error) {
	text := v.Str()
	if v, err := parse.RecordID(text); err == nil {
		return v, nil
	}
	for _, col := range r.t.Columns {
		if v, ok := looseID(col.Ref, text); ok && col.Name == name {
			return v, nil
		}
	}
	return value.None, sqlstate.New(sqlstate.InvalidText, "column %q needs the id of a record, such as %s:1", name,
		r.t.Name)
}

// looseID is the record of a table that a text names whose key would need quotes: table:550e8400-e29b-….
func looseID(table, text string) (value.Value, bool) {
	key, ok := strings.CutPrefix(text, table+":")
	if !ok || key == "" || table == "" || value.QuoteIdent(table) != table {
		return value.None, false
	}
	return value.Record(table, value.Str(key)), true
}

// wholeID is the record that a text names with its table. Where the key would need quotes it is one of table.
func wholeID(table, text string) (value.Value, bool) {
	rest, ok := strings.CutPrefix(text, table)
	if ok && strings.HasPrefix(rest, ":") && value.QuoteIdent(table) == table {
		if rec, ok := simpleID(table, rest[1:]); ok {
			return rec, true
		}
	}
	if rec, err := parse.RecordID(text); err == nil && rec.Kind() == value.KindRecord {
		return rec, true
	}
	return looseID(table, text)
}

// spellID is the id of the record of a table that a text names, or the text.
func spellID(table, text string) string {
	if rec, ok := wholeID(table, text); ok {
		return rec.Text()
	}
	return text
}

// simpleID is the record of a key that is a name without quotes: a letter, then letters, digits and underscores, or a
// number that is written as numbers are.
func simpleID(table, key string) (value.Value, bool) {
	if key == "" || len(key) > 64 {
		return value.None, false
	}
	word := key[0] == '_' || key[0]|0x20 >= 'a' && key[0]|0x20 <= 'z'
	for i := 0; i < len(key); i++ {
		c := key[i]
		switch {
		case c >= '0' && c <= '9':
		case word && (c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'):
		default:
			return value.None, false
		}
	}
	if word {
		return value.Record(table, value.Str(key)), true
	}
	if len(key) > 18 || key[0] == '0' && len(key) > 1 {
		return value.None, false
	}
	n := int64(0)
	for i := 0; i < len(key); i++ {
		n = 10*n + int64(key[i]-'0')
	}
	return value.Record(table, value.Int(n)), true
}
