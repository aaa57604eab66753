package pgwire

import (
	"context"
	"slices"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/catalog"
	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// readSchema reads what the client may see of its database, by INFO and with its own rights.
func (c *conn) readSchema(ctx context.Context) (*catalog.Schema, error) {
	ns, db := c.session.Place()
	s := &catalog.Schema{Database: ns + "/" + db}
	if ns == "" {
		return &catalog.Schema{}, nil
	}
	info := func(text string, vars *value.Object) (value.Value, error) {
		run := c.session.Execute
		if c.tx.tx != nil {
			run = c.tx.tx.Execute
		}
		res, err := run(ctx, text, vars)
		if err != nil {
			return value.None, err
		}
		if res[0].Err != nil {
			return value.None, res[0].Err
		}
		return res[0].Value, nil
	}
	if v, err := info("INFO FOR NS STRUCTURE", nil); err == nil {
		for _, d := range list(v, "databases") {
			s.Databases = append(s.Databases, ns+"/"+field(d, "name"))
		}
	}
	if !slices.Contains(s.Databases, s.Database) {
		s.Databases = append(s.Databases, s.Database)
	}
	if db == "" {
		return s, nil
	}
	v, err := info("INFO FOR DB STRUCTURE", nil)
	if err != nil {
		return nil, err
	}
	for _, t := range list(v, "tables") {
		detail, err := info("INFO FOR TABLE "+value.QuoteIdent(field(t, "name"))+" STRUCTURE", nil)
		if err != nil {
			return nil, err
		}
		s.Tables = append(s.Tables, tableOf(t, detail))
	}
	slices.SortFunc(s.Tables, func(a, b *catalog.Table) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range list(v, "functions") {
		s.Functions = append(s.Functions, functionOf(f))
	}
	for _, q := range list(v, "sequences") {
		s.Sequences = append(s.Sequences, field(q, "name"))
	}
	for _, u := range list(v, "users") {
		roles, _ := u.Object().Get("roles")
		s.Users = append(s.Users, catalog.User{Name: field(u, "name"), Owner: strings.Contains(roles.Text(), "OWNER")})
	}
	for _, t := range s.Tables {
		if t.Open {
			c.sample(ctx, t)
		}
	}
	return s, nil
}

func list(v value.Value, name string) []value.Value {
	if v.Kind() != value.KindObject {
		return nil
	}
	l, _ := v.Object().Get(name)
	if l.Kind() != value.KindArray {
		return nil
	}
	return l.Elems()
}

// field is a field of an object as a text, "" where it is not there.
func field(v value.Value, name string) string {
	if v.Kind() != value.KindObject {
		return ""
	}
	f, _ := v.Object().Get(name)
	switch f.Kind() {
	case value.KindString:
		return f.Str()
	case value.KindNone, value.KindNull:
		return ""
	}
	return f.Text()
}

// tableOf makes a relation of a table: the id is its first column, then come the ends of a relation, then its fields.
func tableOf(t, detail value.Value) *catalog.Table {
	out := &catalog.Table{Name: field(t, "name"), Comment: field(t, "comment"), View: field(t, "view"), Open: field(t,
		"schemafull") != "true"}
	out.Columns = append(out.Columns, &catalog.Column{Name: "id", OID: pgtype.Text, NotNull: true})
	fields := slices.Clone(list(detail, "fields"))
	place := func(v value.Value) int { return slices.Index([]string{"in", "out"}, field(v, "name")) }
	slices.SortStableFunc(fields, func(a, b value.Value) int {
		pa, pb := place(a), place(b)
		switch {
		case pa >= 0 && pb >= 0:
			return pa - pb
		case pa >= 0:
			return -1
		case pb >= 0:
			return 1
		}
		return 0
	})
	for _, f := range fields {
		name := field(f, "name")
		if strings.ContainsAny(name, ".[*") || name == "id" {
			continue
		}
		out.Columns = append(out.Columns, columnOf(strings.Trim(name, "`"), f))
	}
	out.Indexes = append(out.Indexes, &catalog.Index{Name: out.Name + "_pkey", Columns: []int{1}, Exprs: []string{""},
		Unique: true, Primary: true, Method: "btree"})
	for _, ix := range list(detail, "indexes") {
		out.Indexes = append(out.Indexes, indexOf(out, ix))
	}
	slices.SortFunc(out.Indexes, func(a, b *catalog.Index) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func columnOf(name string, f value.Value) *catalog.Column {
	col := &catalog.Column{Name: name, OID: pgtype.JSONB, Comment: field(f, "comment"), Check: field(f, "assert")}
	col.Default = field(f, "default")
	if computed := field(f, "computed"); computed != "" {
		col.Default, col.Computed = computed, true
	}
	if kind := field(f, "kind"); kind != "" {
		if t, err := parse.Type(kind); err == nil {
			col.OID, col.NotNull, col.Ref = columnType(t)
			col.Link, col.Texts = holds(t)
		}
	}
	return col
}

// scalarTypes are the types of columns by the types of fields.
var scalarTypes = map[value.TypeKind]pgtype.OID{value.TypeBool: pgtype.Bool, value.TypeInt: pgtype.Int8,
	value.TypeFloat:   pgtype.Float8,
	value.TypeDecimal: pgtype.Numeric, value.TypeNumber: pgtype.Numeric, value.TypeString: pgtype.Text,
	value.TypeDatetime: pgtype.Timestamptz,
	value.TypeDuration: pgtype.Interval, value.TypeUUID: pgtype.UUID, value.TypeBytes: pgtype.Bytea,
	value.TypeRecord: pgtype.Text}

// columnType is the type of a column for that of a field. ref is the one table whose records it links to.
func columnType(t *value.Type) (oid pgtype.OID, notNull bool, ref string) {
	notNull = true
	var of []*value.Type
	for _, alt := range alternatives(t) {
		if alt.Kind == value.TypeNone || alt.Kind == value.TypeNull || alt.Kind == value.TypeAny {
			notNull = false
			if alt.Kind != value.TypeAny {
				continue
			}
		}
		of = append(of, alt)
	}
	if len(of) == 0 {
		return pgtype.JSONB, false, ""
	}
	for i, alt := range of {
		one := pgtype.OID(pgtype.JSONB)
		switch {
		case alt.Kind == value.TypeLiteral && alt.Literal.Kind() == value.KindString:
			one = pgtype.Text
		case alt.Kind == value.TypeArray || alt.Kind == value.TypeSet:
			if alt.Elem != nil {
				if e, _, _ := columnType(alt.Elem); e != pgtype.JSONB && pgtype.ArrayOf(e) != 0 && !pgtype.IsArray(e) {
					one = pgtype.ArrayOf(e)
				}
			}
		case scalarTypes[alt.Kind] != 0:
			one = scalarTypes[alt.Kind]
		}
		if i > 0 && one != oid {
			return pgtype.JSONB, notNull, ""
		}
		oid = one
	}
	if len(of) == 1 && of[0].Kind == value.TypeRecord && len(of[0].Tables) == 1 {
		ref = of[0].Tables[0]
	}
	return oid, notNull, ref
}

// holds reports whether a type has records among its values, and whether it has texts alone, but for what is no value.
func holds(t *value.Type) (links, texts bool) {
	texts = true
	for _, alt := range alternatives(t) {
		switch {
		case alt.Kind == value.TypeNone, alt.Kind == value.TypeNull:
		case alt.Kind == value.TypeString, alt.Kind == value.TypeLiteral && alt.Literal.Kind() == value.KindString:
		default:
			texts = false
			links = links || alt.Kind == value.TypeRecord
		}
	}
	return links, texts
}

func indexOf(t *catalog.Table, ix value.Value) *catalog.Index {
	out := &catalog.Index{Name: field(ix, "name"), Method: "btree"}
	kind := field(ix, "index")
	switch word, _, _ := strings.Cut(kind, " "); word {
	case "UNIQUE":
		out.Unique = true
	case "", "COUNT":
	case "FULLTEXT", "SEARCH":
		out.Method = "fulltext"
	default:
		out.Method = strings.ToLower(word)
	}
	for _, col := range list(ix, "cols") {
		name := col.Text()
		if col.Kind() == value.KindString {
			name = col.Str()
		}
		n := slices.IndexFunc(t.Columns, func(c *catalog.Column) bool { return c.Name == name }) + 1
		out.Columns = append(out.Columns, n)
		out.Exprs = append(out.Exprs, name)
	}
	return out
}

func functionOf(f value.Value) *catalog.Function {
	out := &catalog.Function{Name: field(f, "name"), Source: field(f, "block"), Comment: field(f, "comment"),
		Returns: pgtype.JSONB}
	if t, err := parse.Type(field(f, "returns")); err == nil && field(f, "returns") != "" {
		out.Returns, _, _ = columnType(t)
	}
	for _, a := range list(f, "args") {
		if a.Len() != 2 {
			continue
		}
		oid, name, kind := pgtype.JSONB, a.Elems()[0], a.Elems()[1]
		if name.Kind() != value.KindString || kind.Kind() != value.KindString {
			continue
		}
		if t, err := parse.Type(kind.Str()); err == nil {
			oid, _, _ = columnType(t)
		}
		out.Args, out.Types = append(out.Args, name.Str()), append(out.Types, oid)
	}
	return out
}

// sampled is how many records of a table without a schema are looked at for its columns.
const sampled = 100

// sample adds the fields that the first records of a table have.
func (c *conn) sample(ctx context.Context, t *catalog.Table) {
	run := c.session.Execute
	if c.tx.tx != nil {
		run = c.tx.tx.Execute
	}
	res, err := run(ctx, "SELECT * FROM "+value.QuoteIdent(t.Name)+" LIMIT "+itoa(sampled), nil)
	if err != nil || res[0].Err != nil || res[0].Value.Kind() != value.KindArray {
		return // its records cannot be read: the defined fields are all that is known
	}
	s := shapeOf(res[0].Value.Elems(), nil)
	if s.single {
		return
	}
	for _, col := range s.cols {
		known := func(k *catalog.Column) bool { return k.Name == col.name }
		if !slices.ContainsFunc(t.Columns, known) {
			t.Columns = append(t.Columns, &catalog.Column{Name: col.name, OID: col.oid})
		}
	}
}

// alternatives are the types that a union is of.
func alternatives(t *value.Type) []*value.Type {
	if t.Kind != value.TypeUnion {
		return []*value.Type{t}
	}
	var out []*value.Type
	for _, alt := range t.Alts {
		out = append(out, alternatives(alt)...)
	}
	return out
}
