package define

import (
	"context"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/live"
	"github.com/nacredb/nacre/engine/nodes"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/processors"
)

// info is INFO FOR …: the definitions of a level, as texts or (STRUCTURE) taken apart.
func (r *run) info(ctx context.Context, env *exec.Env, s *ast.Info) (value.Value, error) {
	switch s.Level {
	case ast.InfoRoot:
		return r.infoRoot(s.Structure)
	case ast.InfoNamespace:
		return r.infoNamespace(s.Structure)
	case ast.InfoTable:
		return r.infoTable(ctx, env, s)
	case ast.InfoUser:
		return r.infoUser(ctx, env, s)
	case ast.InfoIndex:
		return r.infoIndex(ctx, env, s)
	}
	at, err := r.Version(ctx, env, s.Version)
	if err != nil {
		return value.None, err
	}
	return r.infoDatabase(s.Structure, at)
}

// listing is the definitions of one kind in a scope: an object of texts by name, or an array of structures.
func (r *run) listing(s catalog.Scope, kind ast.DefKind, structure bool, at uint64) (value.Value, error) {
	var defs []*catalog.Def
	var err error
	if at != 0 {
		defs, err = r.Cat.DefsAt(s, kind, at)
	} else {
		defs, err = r.Cat.Defs(s, kind)
	}
	if err != nil {
		return value.None, err
	}
	defs = redacted(defs)
	if structure && kind == ast.DefField && r.Sess != nil && r.Sess.Defined {
		slices.SortStableFunc(defs, (*catalog.Def).Defined)
		return shapes(defs), nil
	}
	return listed(defs, structure), nil
}

// shapes are definitions taken apart, in their order.
func shapes(defs []*catalog.Def) value.Value {
	out := make([]value.Value, len(defs))
	for i, d := range defs {
		out[i] = structureOf(d)
	}
	return value.ArrayOf(out)
}

// redacted are definitions as INFO shows them: without password hashes, for OWNERs too. Who has a hash can try
// passwords on it without being limited. Exports, which an OWNER restores users from, do not come through here.
func redacted(defs []*catalog.Def) []*catalog.Def {
	out := make([]*catalog.Def, len(defs))
	for i, d := range defs {
		out[i] = d
		if u, ok := d.Stmt.(*ast.DefineUser); ok && u.PassHash != "" {
			user, def := *u, *d
			user.PassHash = auth.Redacted
			def.Stmt = &user
			out[i] = &def
		}
	}
	return out
}

func listed(defs []*catalog.Def, structure bool) value.Value {
	if structure {
		defs = slices.Clone(defs)
		slices.SortStableFunc(defs, func(a,
			b *catalog.Def) int {
			return strings.Compare(listedField(a), listedField(b))
		})
		return shapes(defs)
	}
	fields := make([]value.Field, len(defs))
	for i, d := range defs {
		fields[i] = value.Field{Name: listedName(defs, i), Value: value.Str(shownText(d))}
	}
	return value.ObjectOf(value.NewObject(fields...))
}

// listedName is the key of a definition in a list. That of a model has no version where there is only one.
func listedName(defs []*catalog.Def, i int) string {
	if name := modelName(defs, i); name != "" && name != modelName(defs, i-1) && name != modelName(defs, i+1) {
		return name
	}
	return listedField(defs[i])
}

// listedField is the name of a definition. That of a field quotes what is no identifier, and no reserved word.
func listedField(d *catalog.Def) string {
	f, ok := d.Stmt.(*ast.DefineField)
	if !ok || f.Name == nil {
		return d.Name
	}
	first, ok := f.Name.Parts[0].(*ast.PartField)
	if quoted := value.QuoteIdent; ok && value.IsReserved(first.Name) && strings.HasPrefix(d.Name, quoted(first.Name)) {
		return first.Name + d.Name[len(quoted(first.Name)):]
	}
	return d.Name
}

// modelName is the name of model i without its version; "" for what is no model.
func modelName(defs []*catalog.Def, i int) string {
	if i >= 0 && i < len(defs) {
		if m, ok := defs[i].Stmt.(*ast.DefineModel); ok {
			return m.Name
		}
	}
	return ""
}

// shownText is the text of a definition as users may see it.
func shownText(d *catalog.Def) string {
	if a, ok := d.Stmt.(*ast.DefineAccess); ok {
		return ast.Text(redactAccess(a))
	}
	text := ast.Text(d.Stmt)
	if d.Kind == ast.DefConfig {
		text = strings.TrimPrefix(text, "DEFINE CONFIG ")
	}
	return text
}

// nothing is an empty listing.
func nothing(structure bool) value.Value {
	if structure {
		return value.Array()
	}
	return value.ObjectOf(nil)
}

// report gathers the listings of some kinds under their names, as they were at a version (0: now).
func (r *run) report(s catalog.Scope, structure bool, at uint64, kinds []listKind,
	more ...value.Field) (value.Value, error) {
	fields := make([]value.Field, 0, len(kinds)+len(more))
	for _, k := range kinds {
		v, err := r.listing(s, k.kind, structure, at)
		if err != nil {
			return value.None, err
		}
		fields = append(fields, value.Field{Name: k.name, Value: v})
	}
	return value.ObjectOf(value.NewObject(append(fields, more...)...)), nil
}

type listKind struct {
	name string
	kind ast.DefKind
}

func (r *run) infoRoot(structure bool) (value.Value, error) {
	if err := r.Auth.Allow(auth.View, ast.BaseRoot, auth.ResourceAny); err != nil {
		return value.None, err
	}
	config, err := r.systemConfig()
	if err != nil {
		return value.None, err
	}
	defaults, err := r.shownDefaults()
	if err != nil {
		return value.None, err
	}
	members, err := r.nodes(structure)
	if err != nil {
		return value.None, err
	}
	return r.report(catalog.Scope{}, structure, 0,
		[]listKind{{"accesses", ast.DefAccess}, {"namespaces", ast.DefNamespace}, {"users", ast.DefUser}},
		value.Field{Name: "config", Value: config},
		value.Field{Name: "defaults", Value: defaults},
		value.Field{Name: "nodes", Value: members},
		value.Field{Name: "system", Value: systemInfo()})
}

// systemInfo returns the properties of the machine that the process knows. Load and processor use are not measured: 0.
func systemInfo() value.Value {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}}
	metrics.Read(samples)
	bytes := func(i int) value.Value { return value.Int(int64(samples[i].Value.Uint64())) }
	zero := value.Float(0)
	return value.ObjectOf(value.NewObject(
		value.Field{Name: "available_parallelism", Value: value.Int(int64(processors.Count()))},
		value.Field{Name: "cpu_usage", Value: zero},
		value.Field{Name: "load_average", Value: value.Array(zero, zero, zero)},
		value.Field{Name: "memory_allocated", Value: bytes(0)},
		value.Field{Name: "memory_usage", Value: bytes(1)},
		value.Field{Name: "physical_cores", Value: value.Int(int64(runtime.NumCPU()))}))
}

func (r *run) infoNamespace(structure bool) (value.Value, error) {
	if err := r.Auth.Allow(auth.View, ast.BaseNamespace, auth.ResourceAny); err != nil {
		return value.None, err
	}
	ns, err := r.Namespace()
	if err != nil {
		return value.None, err
	}
	return r.report(ns.Inner(), structure, 0,
		[]listKind{{"accesses", ast.DefAccess}, {"databases", ast.DefDatabase}, {"users", ast.DefUser}})
}

func (r *run) infoDatabase(structure bool, at uint64) (value.Value, error) {
	if err := r.Auth.Allow(auth.View, ast.BaseDatabase, auth.ResourceAny); err != nil {
		return value.None, err
	}
	db, err := r.Database()
	if err != nil {
		return value.None, err
	}
	return r.report(db.Inner(), structure, at, []listKind{{"accesses", ast.DefAccess}, {"analyzers", ast.DefAnalyzer},
		{"apis", ast.DefAPI}, {"buckets", ast.DefBucket}, {"configs", ast.DefConfig}, {"functions", ast.DefFunction},
		{"models", ast.DefModel}, {"modules", ast.DefModule}, {"params", ast.DefParam}, {"sequences", ast.DefSequence},
		{"tables", ast.DefTable}, {"users", ast.DefUser}})
}

// infoTable answers empty lists for a table that is not defined.
func (r *run) infoTable(ctx context.Context, env *exec.Env, s *ast.Info) (value.Value, error) {
	if err := r.Auth.Allow(auth.View, ast.BaseDatabase, auth.ResourceAny); err != nil {
		return value.None, err
	}
	db, err := r.Database()
	if err != nil {
		return value.None, err
	}
	name, err := r.name(ctx, env, *s.Name, "table")
	if err != nil {
		return value.None, err
	}
	version, err := r.Version(ctx, env, s.Version)
	if err != nil {
		return value.None, err
	}
	if version != 0 {
		return r.infoTableAt(db, name, s.Structure, version)
	}
	tb, err := r.Cat.Table(db, name)
	if err != nil {
		return value.None, err
	}
	if tb == nil {
		return emptyTable(s.Structure), nil
	}
	var views []*catalog.Def
	for _, v := range tb.Views {
		d, err := r.Cat.Def(db.Inner(), ast.DefTable, v)
		if err != nil {
			return value.None, err
		}
		if d != nil {
			views = append(views, d)
		}
	}
	lives, err := r.lives(ctx, tb, s.Structure)
	if err != nil {
		return value.None, err
	}
	return r.report(tb.Inner(), s.Structure, 0, tableKinds(),
		value.Field{Name: "lives", Value: lives},
		value.Field{Name: "tables", Value: listed(views, s.Structure)})
}

// tableKinds are the kinds of definitions that INFO FOR TABLE lists.
func tableKinds() []listKind {
	return []listKind{{"events", ast.DefEvent}, {"fields", ast.DefField}, {"indexes", ast.DefIndex}}
}

// emptyTable is INFO FOR TABLE of a table that is not defined.
func emptyTable(structure bool) value.Value {
	none := nothing(structure)
	return value.ObjectOf(value.NewObject(value.Field{Name: "events", Value: none},
		value.Field{Name: "fields", Value: none},
		value.Field{Name: "indexes", Value: none}, value.Field{Name: "lives", Value: none},
		value.Field{Name: "tables", Value: none}))
}

// infoTableAt is INFO FOR TABLE as it was at a version; the table may be gone since. Live queries have no past.
func (r *run) infoTableAt(db *catalog.Database, name string, structure bool, version uint64) (value.Value, error) {
	tb, names, err := r.Cat.TableAt(db, name, version)
	if err != nil {
		return value.None, err
	}
	if tb == nil {
		return emptyTable(structure), nil
	}
	var views []*catalog.Def
	for _, name := range names {
		v, _, err := r.Cat.TableAt(db, name, version)
		if err != nil {
			return value.None, err
		}
		if v != nil {
			views = append(views, v)
		}
	}
	s := db.Inner()
	s.TB = tb.ID
	return r.report(s, structure, version, tableKinds(), value.Field{Name: "lives", Value: nothing(structure)},
		value.Field{Name: "tables", Value: listed(views, structure)})
}

// lives are the live queries on a table: their texts by id, or a list of both.
func (r *run) lives(ctx context.Context, tb *catalog.Table, structure bool) (value.Value, error) {
	rows, err := r.livesElsewhere(ctx, tb)
	if err != nil {
		return value.None, err
	}
	for _, s := range r.Ex.Hub.List(live.Table{NS: tb.Scope.NS, DB: tb.Scope.DB, TB: tb.ID}) {
		rows = append(rows, value.ObjectOf(value.ObjectOfSorted([]value.Field{
			{Name: "id", Value: value.UUIDOf(s.ID)}, {Name: "query", Value: value.Str(s.Text)}})))
	}
	slices.SortFunc(rows, value.Compare)
	if structure {
		return value.ArrayOf(rows), nil
	}
	fields := make([]value.Field, len(rows))
	for i, row := range rows {
		id, _ := row.Object().Get("id")
		query, _ := row.Object().Get("query")
		fields[i] = value.Field{Name: id.UUID().String(), Value: query}
	}
	return value.ObjectOf(value.NewObject(fields...)), nil
}

// livesElsewhere are those of other servers, which are asked only where one of them watches the table.
func (r *run) livesElsewhere(ctx context.Context, tb *catalog.Table) (rows []value.Value, err error) {
	p := r.Ex.Process
	if p == nil {
		return nil, nil
	}
	watched, err := nodes.Watched(r.Tx, tb.Scope.DB)
	if err != nil || !watched.HasOther(p.ID(), tb.ID) {
		return nil, err
	}
	field := func(name string, id uint32) value.Field { return value.Field{Name: name, Value: value.Int(int64(id))} }
	lists, _, err := p.Ask(ctx, nodes.AskLives, field("ns", tb.Scope.NS), field("db", tb.Scope.DB), field("tb", tb.ID))
	for _, l := range lists {
		for _, row := range l.Elems() {
			if row.Kind() != value.KindObject {
				continue
			}
			if id, _ := row.Object().Get("id"); id.Kind() == value.KindUUID {
				rows = append(rows, row)
			}
		}
	}
	return rows, err
}

func (r *run) infoUser(ctx context.Context, env *exec.Env, s *ast.Info) (value.Value, error) {
	base := s.Base
	if base == ast.BaseNone {
		switch {
		case r.Auth.DB != "":
			base = ast.BaseDatabase
		case r.Auth.NS != "":
			base = ast.BaseNamespace
		default:
			base = ast.BaseRoot
		}
	}
	if err := r.Auth.Allow(auth.View, base, auth.ResourceActor); err != nil {
		return value.None, err
	}
	scope, err := r.Level(base)
	if err != nil {
		return value.None, err
	}
	name, err := r.name(ctx, env, *s.Name, "user")
	if err != nil {
		return value.None, err
	}
	d, err := r.Cat.Def(scope, ast.DefUser, name)
	if err != nil {
		return value.None, err
	}
	if d == nil {
		return value.None, r.ActorError("user", name, base, "does not exist")
	}
	d = redacted([]*catalog.Def{d})[0]
	if s.Structure {
		return structureOf(d), nil
	}
	return value.Str(shownText(d)), nil
}

// infoIndex tells how far the building of an index is.
func (r *run) infoIndex(ctx context.Context, env *exec.Env, s *ast.Info) (value.Value, error) {
	if err := r.Auth.Allow(auth.View, ast.BaseDatabase, auth.ResourceAny); err != nil {
		return value.None, err
	}
	db, err := r.Database()
	if err != nil {
		return value.None, err
	}
	table, err := r.name(ctx, env, *s.Table, "table")
	if err != nil {
		return value.None, err
	}
	name, err := r.name(ctx, env, *s.Name, "index")
	if err != nil {
		return value.None, err
	}
	tb, err := r.Cat.Table(db, table)
	if err != nil {
		return value.None, err
	}
	var ix *catalog.Index
	if tb != nil {
		ix = tb.LastDefined(name)
	}
	if ix == nil {
		return value.None, exec.DoesNotExist("index", name)
	}
	building, err := r.building(tb, ix)
	if err != nil {
		return value.None, err
	}
	return value.ObjectOf(value.NewObject(value.Field{Name: "building", Value: value.ObjectOf(building)})), nil
}

// building is how far the building of an index is. Nothing is ever pending: writers keep an index that is built.
func (r *run) building(tb *catalog.Table, ix *catalog.Index) (*value.Object, error) {
	status := func(s string) value.Field { return value.Field{Name: "status", Value: value.Str(s)} }
	number := func(name string, n int64) value.Field { return value.Field{Name: name, Value: value.Int(n)} }
	b := ix.Build
	switch b.State {
	case catalog.Failed:
		return value.NewObject(value.Field{Name: "error", Value: value.Str(b.Reason)}, status("error")), nil
	case catalog.Ready:
		return value.NewObject(number("initial", b.Initial), number("pending", 0), status("ready"),
			number("updated", b.Updated)), nil
	}
	j, err := r.Cat.Job(catalog.JobOf(tb, ix))
	if err != nil {
		return nil, err
	}
	if j == nil || j.Done == 0 {
		return value.NewObject(status("started")), nil
	}
	return value.NewObject(number("initial", j.Done), number("pending", 0), status("indexing")), nil
}
