package exec

import (
	"context"
	"sort"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/column"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/ml"
	"github.com/nacredb/nacre/engine/model"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/processors"
)

// projector makes output rows of documents.
type projector struct {
	r      *Run
	env    *Env       // its document is changed for each row
	value  *projected // of SELECT VALUE; else nil
	fields []projected
	all    bool // * is among the fields
	alone  bool // * is the only field
	slots  []int
	flat   bool // every field has a name of its own at the top: slots has their order
	passes bool // documents that are no objects go through as they are
	once   once // sub-selects that say the same for every row
}

// projected is one field of a projection.
type projected struct {
	all    bool
	path   []string // where it goes
	x      ast.Expr
	fields *ast.Call // type::field(…) or type::fields(…), which name themselves
	spread bool      // @.{ … } without a name: its fields stand beside the others

	compiled compiled
}

// projector compiles a projection list for rows in env.
func (r *Run) projector(env *Env, p *ast.Projections) *projector {
	out := &projector{r: r, env: env}
	for i := range p.Fields {
		if x := p.Fields[i].X; x != nil && !plan.IsNames(x) {
			for sub, kept := range r.onceIn(x) {
				if out.once == nil {
					out.once = once{}
				}
				out.once[sub] = kept
			}
		}
	}
	if p.Value {
		out.value = &projected{x: p.Fields[0].X}
		return out
	}
	out.passes = true
	for i := range p.Fields {
		f := &p.Fields[i]
		if f.All {
			out.all = true
			out.fields = append(out.fields, projected{all: true})
			continue
		}
		pf := projected{x: f.X, path: column.Alias(f.Alias)}
		if pf.path == nil {
			if c, ok := f.X.(*ast.Call); ok && SelfNaming(c) {
				pf.fields = c
			}
			pf.spread = column.OfRecord(f.X)
			pf.path = column.Of(f.X)
		}
		out.passes = out.passes && plan.IsName(f.X)
		out.fields = append(out.fields, pf)
	}
	out.alone = out.all && len(out.fields) == 1
	out.flat = out.flatten()
	return out
}

// asWritten has nothing compiled: the rows are too few for it.
func (p *projector) asWritten() {
	for i := range p.fields {
		p.fields[i].compiled.rows = -1
	}
}

// exprs are the expressions of a projection; nil stands for *.
func (p *projector) exprs() []ast.Expr {
	if p.value != nil {
		return []ast.Expr{p.value.x}
	}
	xs := make([]ast.Expr, len(p.fields))
	for i := range p.fields {
		xs[i] = p.fields[i].x
	}
	return xs
}

func SelfNaming(c *ast.Call) bool {
	return c.Kind == ast.CallBuiltin && (c.Path == "type::field" || c.Path == "type::fields")
}

// flatten finds the order of the fields in the output, where all have distinct names of one part.
func (p *projector) flatten() bool {
	if p.all {
		return false
	}
	p.slots = make([]int, len(p.fields))
	for i := range p.fields {
		if len(p.fields[i].path) != 1 || p.fields[i].fields != nil || p.fields[i].spread {
			return false
		}
		p.slots[i] = i
	}
	sort.Slice(p.slots, func(i, j int) bool {
		return p.fields[p.slots[i]].path[0] < p.fields[p.slots[j]].path[0]
	})
	for i := 1; i < len(p.slots); i++ {
		if p.fields[p.slots[i]].path[0] == p.fields[p.slots[i-1]].path[0] {
			return false
		}
	}
	return true
}

// row makes the output of one document.
func (p *projector) row(ctx context.Context, doc value.Value) (value.Value, error) {
	if doc.Kind() == value.KindGeometry {
		return p.geometry(ctx, doc)
	}
	if p.alone || p.passes && doc.Kind() != value.KindObject {
		return doc, nil
	}
	p.env.SetDoc(doc)
	if p.value != nil {
		return p.eval(ctx, p.value, doc)
	}
	if p.flat {
		o, out := value.MakeObject(len(p.slots))
		sum := held(0)
		for i, slot := range p.slots {
			f := &p.fields[slot]
			v, err := p.eval(ctx, f, doc)
			if err == nil {
				err = sum.add(p.r, v)
			}
			if err != nil {
				return value.None, err
			}
			out[i] = value.Field{Name: f.path[0], Value: v}
		}
		return value.ObjectOf(o), nil
	}
	return p.r.checked(p.nested(ctx, doc))
}

// eval is a field of the output of a document, which env has.
func (p *projector) eval(ctx context.Context, f *projected, doc value.Value) (value.Value, error) {
	if v, ok := f.compiled.value(ctx, p.r, p.env, f.x, doc); ok {
		return v, nil
	}
	return p.once.within(ctx, p.r, p.env, f.x)
}

// geometry is row for a geometry: its fields are those of its GeoJSON.
func (p *projector) geometry(ctx context.Context, doc value.Value) (value.Value, error) {
	p.env.SetDoc(doc)
	if p.value != nil {
		return p.eval(ctx, p.value, doc)
	}
	o := value.ObjectOf(doc.Geometry().Object())
	if p.alone {
		return o, nil
	}
	return p.nested(ctx, o)
}

// nested is row for lists with *, with paths or with names that occur twice; later fields win.
func (p *projector) nested(ctx context.Context, doc value.Value) (value.Value, error) {
	out := value.ObjectOf(nil)
	if p.all && doc.Kind() == value.KindObject {
		out = doc
	}
	for i := range p.fields {
		f := &p.fields[i]
		if f.all {
			continue
		}
		if f.fields != nil {
			var err error
			if out, err = p.r.spread(ctx, p.env, out, f.fields); err != nil {
				return value.None, err
			}
			continue
		}
		v, err := p.eval(ctx, f, doc)
		if err != nil {
			return value.None, err
		}
		if f.spread && v.Kind() == value.KindObject {
			for _, own := range v.Object().Fields() {
				out = inside.Set(out, []string{own.Name}, own.Value)
			}
			continue
		}
		out = inside.Set(out, f.path, v)
	}
	return out, nil
}

// spread puts the fields that type::field(s) names into a result under their own names.
func (r *Run) spread(ctx context.Context, env *Env, out value.Value, x *ast.Call) (value.Value, error) {
	ids, _, err := r.FieldPaths(ctx, env, x)
	if err != nil {
		return value.None, err
	}
	for _, id := range ids {
		v, err := r.idiom(ctx, env, id)
		if err != nil {
			return value.None, err
		}
		out = inside.Set(out, column.Path(id.Parts), v)
	}
	return out, nil
}

// FieldPaths parses the arguments of type::field(s).
func (r *Run) FieldPaths(ctx context.Context, env *Env, x *ast.Call) (ids []*ast.Idiom, many bool, err error) {
	args, err := r.evalAll(ctx, env, x.Args)
	if err != nil {
		return nil, false, err
	}
	if len(args) != 1 {
		return nil, false, errs.Internal("Incorrect arguments for function %s(). Expected 1 argument", x.Path)
	}
	texts := args
	if many = x.Path == "type::fields"; many {
		if args[0].Kind() != value.KindArray {
			return nil, false, errs.Internal("Incorrect arguments for function %s(). Argument 1 was the wrong type. Expected `array<string>` but found `%s`", x.Path, args[0].Brief())
		}
		texts = args[0].Elems()
	}
	for _, t := range texts {
		if t.Kind() != value.KindString {
			text := "Expected `string` but found `" + t.Brief() + "`"
			if many {
				text += " when coercing an element of `array<string>`"
			}
			return nil, false, errs.Internal("Incorrect arguments for function %s(). Argument 1 was the wrong type. %s", x.Path, text)
		}
		id, err := r.Ex.ReadPath(t.Str())
		if err != nil {
			return nil, false, errs.Internal("Invalid field path '%s': %s", t.Str(), err)
		}
		ids = append(ids, id)
	}
	return ids, many, nil
}

type modelRows struct { // of a projection that calls models, see model.Ahead
	rows
	p     *projector
	ahead *model.Ahead
}

// withModels puts a modelRows under a projection that calls models.
func (r *Run) withModels(in rows, p *projector) rows {
	if r.Tx.Writable() || r.Ex.PlanOff.Has(plan.ModelBatch) {
		return in
	}
	s := &modelRows{rows: in, p: p}
	if s.ahead = model.NewAhead(s, &r.models, r.Ex.Models, r.Tx, p.exprs()); s.ahead == nil {
		return in
	}
	return s
}

func (s *modelRows) next(ctx context.Context) (value.Value, bool, error) {
	return s.ahead.Next(ctx, s.rows.next)
}

func (s *modelRows) close() {
	s.ahead.Close()
	s.rows.close()
}

func (s *modelRows) Find(ctx context.Context, x *ast.Call) (*model.Bound, error) {
	return s.p.r.findModel(ctx, x)
}

func (s *modelRows) Beside() bool {
	return !s.p.r.Ex.PlanOff.Has(plan.ParallelScan) && processors.Count() > 1
}

func (s *modelRows) Call(ctx context.Context) ml.Call { return s.p.r.modelCall(ctx) }

func (s *modelRows) Argument(ctx context.Context, doc value.Value, x ast.Expr) (value.Value, error) {
	s.p.env.SetDoc(doc)
	return s.p.r.Eval(ctx, s.p.env, x)
}
