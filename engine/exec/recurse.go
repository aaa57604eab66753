package exec

import (
	"context"
	"errors"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// maxRecursion is the deepest level of a recursive path.
const maxRecursion = 256

// recursion is one .{min..max}(path) at work.
type recursion struct {
	min, max int
	open     bool // no upper bound was written
	path     []ast.Part
}

// recurse evaluates .{…} on v: rest is the path of the recursion unless it brought its own in
// parentheses, in which case rest goes on from its result.
func (r *Run) recurse(ctx context.Context, env *Env, v value.Value, x *ast.Recurse,
	rest []ast.Part) (value.Value, error) {
	rec := recursion{path: rest}
	if x.Path != nil {
		rec.path = x.Path.Parts
	} else {
		rec.path, rest = repeated(rest)
	}
	if err := rec.bounds(x); err != nil {
		return value.None, err
	}
	out, err := r.recursed(ctx, env, v, x, &rec)
	if err != nil || len(rest) == 0 {
		return out, err
	}
	return r.walk(ctx, env, out, rest, false)
}

func (r *Run) recursed(ctx context.Context, env *Env, v value.Value, x *ast.Recurse,
	rec *recursion) (_ value.Value, err error) {
	if len(rec.path) == 0 {
		return value.None, nil
	}
	if _, alone := rec.path[0].(*ast.PartRepeat); alone && len(rec.path) == 1 { // there is nothing to repeat
		if !v.IsNullish() {
			err = allRecords(v)
		}
		return v, err
	}
	if ast.Repeats(rec.path) {
		if x.Instruction != "" {
			return value.None, errs.Internal("Cannot construct a recursion plan when an instruction is provided")
		}
		return r.growTree(ctx, env, v, rec)
	}
	switch x.Instruction {
	case "collect":
		return r.collect(ctx, env, v, rec, x.Inclusive)
	case "path":
		return r.paths(ctx, env, v, rec, x.Inclusive, value.None)
	case "shortest":
		target, err := r.Eval(ctx, env, x.Target)
		if err != nil {
			return value.None, err
		}
		if target.IsNone() { // there is no way to nothing
			return value.None, nil
		}
		if target.Kind() != value.KindRecord {
			return value.None, errs.Internal("Expected a record ID during recursive graph traversal, but found `%s`", target.Brief())
		}
		return r.paths(ctx, env, v, rec, x.Inclusive, target)
	}
	return r.deepest(ctx, env, v, rec)
}

func (rec *recursion) bounds(x *ast.Recurse) error {
	rec.min, rec.max = 1, maxRecursion
	if !x.OpenMin {
		if x.Min < 1 {
			return errs.Internal("Found %d for bound but expected at least 1.", x.Min)
		}
		if x.Min > maxRecursion {
			return errs.Internal("Found %d for bound but expected %d at most.", x.Min, maxRecursion)
		}
		rec.min = int(x.Min)
	}
	switch {
	case x.Exact:
		rec.max = rec.min
	case x.OpenMax:
		rec.open = true
	default:
		if x.Max < 1 {
			return errs.Internal("Found %d for bound but expected at least 1.", x.Max)
		}
		if x.Max > maxRecursion {
			return errs.Internal("Found %d for bound but expected %d at most.", x.Max, maxRecursion)
		}
		rec.max = int(x.Max)
	}
	return nil
}

// step walks the path once and brings the result into order: inner arrays are flattened, missing
// values dropped. ended is true where there is nothing further.
func (r *Run) step(ctx context.Context, env *Env, v value.Value,
	rec *recursion) (next value.Value, ended bool, err error) {
	if err := r.Tick(ctx); err != nil {
		return value.None, false, err
	}
	if next, err = r.walk(ctx, env, v, rec.path, false); err != nil {
		return value.None, false, err
	}
	if next.IsNullish() {
		return value.None, true, nil
	}
	if next.Kind() != value.KindArray {
		return next, false, nil
	}
	flat := make([]value.Value, 0, next.Len())
	for _, e := range inside.Flatten(next).Elems() {
		if !e.IsNullish() {
			flat = append(flat, e)
		}
	}
	if len(flat) > maxLevel {
		return value.None, false, errs.Internal("Exceeded the idiom recursion limit of %d.", maxLevel)
	}
	return value.ArrayOf(flat), len(flat) == 0, nil
}

// maxLevel is how many values one level of a recursion may hold: over a circle of edges they can double with each
// level.
const maxLevel = 1 << 17

func notARecord(v value.Value) error {
	return errs.Internal("Expected a record ID during recursive graph traversal, but found `%s`", v.Brief())
}

// allRecords refuses anything but a record or an array of records.
func allRecords(v value.Value) error {
	if v.Kind() == value.KindRecord {
		return nil
	}
	if v.Kind() != value.KindArray {
		return notARecord(v)
	}
	for _, e := range v.Elems() {
		if e.Kind() != value.KindRecord {
			return notARecord(v)
		}
	}
	return nil
}

// deepest is the default: the value at the greatest depth that leads anywhere.
func (r *Run) deepest(ctx context.Context, env *Env, v value.Value, rec *recursion) (value.Value, error) {
	for depth := 1; ; depth++ {
		next, ended, err := r.step(ctx, env, v, rec)
		if err != nil {
			return value.None, err
		}
		if !ended {
			if err := allRecords(next); err != nil {
				return value.None, err
			}
			if value.Equal(next, v) {
				next, ended = value.None, true
			}
		}
		switch {
		case ended && (depth == 1 || depth <= rec.min):
			return next, nil
		case ended:
			return v, nil
		case depth == rec.max && !rec.open:
			if depth < rec.min {
				return value.None, nil
			}
			return next, nil
		case depth == maxRecursion:
			return value.None, errs.Internal("Exceeded the idiom recursion limit of %d.", maxRecursion)
		}
		v = next
	}
}

// records makes v a list of records.
func records(v value.Value) []value.Value {
	if v.Kind() == value.KindArray {
		return v.Elems()
	}
	return []value.Value{v}
}

// collect is +collect: every record found from min to max, once, breadth first.
func (r *Run) collect(ctx context.Context, env *Env, v value.Value, rec *recursion,
	inclusive bool) (value.Value, error) {
	defer r.Mem.Rewind(r.Mem.Mark())
	var out []value.Value
	var sum held
	seen := map[string]bool{}
	add := func(v value.Value) (bool, error) {
		k := v.Text()
		if seen[k] {
			return false, nil
		}
		seen[k] = true
		out = append(out, v)
		return true, sum.keep(r, value.Str(k))
	}
	level := records(v)
	if inclusive {
		for _, e := range level {
			if _, err := add(e); err != nil {
				return value.None, err
			}
		}
	}
	for depth := 1; depth <= rec.max && len(level) > 0; depth++ {
		var next []value.Value
		ahead := record.Ahead{}
		for i, from := range level {
			if err := r.reach(ctx, &ahead, level[i:], rec.path); err != nil {
				return value.None, err
			}
			found, ended, err := r.step(ctx, env, from, rec)
			if err != nil {
				return value.None, err
			}
			if ended {
				continue
			}
			for _, e := range records(found) {
				if e.Kind() != value.KindRecord {
					return value.None, notARecord(e)
				}
				fresh := depth < rec.min
				if !fresh {
					if fresh, err = add(e); err != nil {
						return value.None, err
					}
				}
				if !fresh {
					continue
				}
				if err := sum.keep(r, e); err != nil {
					return value.None, err
				}
				next = append(next, e)
			}
		}
		level = next
	}
	return value.ArrayOf(out), nil
}

// trail is a path under way, shared tail first.
type trail struct {
	at   value.Value
	up   *trail
	hops int
}

// ends are the values that trails end at, to read ahead by; none where the store is here.
func (r *Run) ends(level []*trail) (at []value.Value) {
	for i := 0; i < len(level) && r.Tx.Prefetches(); i++ {
		at = append(at, level[i].at)
	}
	return at
}

// trailSize is the memory of a trail, in bytes.
const trailSize = 64

func (t *trail) list(inclusive bool) value.Value {
	n := t.hops
	if inclusive {
		n++
	}
	out := make([]value.Value, n)
	for i := n - 1; i >= 0; i-- {
		out[i] = t.at
		t = t.up
	}
	return value.ArrayOf(out)
}

// paths is +path, every path that can not go on, and with a target +shortest, the first to reach it.
func (r *Run) paths(ctx context.Context, env *Env, v value.Value, rec *recursion, inclusive bool,
	target value.Value) (value.Value, error) {
	defer r.Mem.Rewind(r.Mem.Mark())
	shortest := !target.IsNone()
	var done []value.Value
	var sum held
	var level []*trail
	for _, e := range records(v) {
		level = append(level, &trail{at: e})
	}
	visited := map[string]bool{}
	for depth := 1; depth <= rec.max && len(level) > 0; depth++ {
		var next []*trail
		ahead, from := record.Ahead{}, r.ends(level)
		for i, t := range level {
			if err := r.reach(ctx, &ahead, from[min(i, len(from)):], rec.path); err != nil {
				return value.None, err
			}
			found, ended, err := r.step(ctx, env, t.at, rec)
			if err != nil {
				return value.None, err
			}
			if ended {
				if t.hops > 0 && t.hops >= rec.min && !shortest {
					done = append(done, t.list(inclusive))
					if err := sum.keep(r, done[len(done)-1]); err != nil {
						return value.None, err
					}
				}
				continue
			}
			for _, e := range records(found) {
				if e.Kind() != value.KindRecord {
					return value.None, notARecord(e)
				}
				n := &trail{at: e, up: t, hops: t.hops + 1}
				if shortest {
					if depth >= rec.min && value.Equal(e, target) {
						return n.list(inclusive), nil
					}
					if visited[e.Text()] {
						continue
					}
					visited[e.Text()] = true
				}
				next = append(next, n)
				if err := r.Mem.Charge(trailSize); err != nil {
					return value.None, err
				}
			}
			if most := min(r.Ex.Limits.Rows, maxLevel); len(next)+len(done) > most {
				return value.None, tooLarge(most)
			}
		}
		level = next
	}
	if shortest && len(level) == 0 {
		return value.None, nil
	}
	if rec.max < rec.min {
		return value.ArrayOf(done), nil
	}
	for _, t := range level {
		done = append(done, t.list(inclusive))
		if err := sum.keep(r, done[len(done)-1]); err != nil {
			return value.None, err
		}
	}
	return value.ArrayOf(done), nil
}

// tree is a recursion whose path holds .@: each .@ puts the whole path in its place, one level deeper.
type tree struct {
	rec   *recursion
	depth int
}

// errShort says that a branch of a tree ended before the least depth. The nearest list that the branch stands in leaves
// it out; where there is none the recursion has no value. It never leaves growTree.
var errShort = errors.New("a branch ends before the least depth")

// repeated is the path that a recursion repeats: up to a .@, what is behind it goes on from the result.
func repeated(parts []ast.Part) (path, rest []ast.Part) {
	for i, p := range parts {
		if _, ok := p.(*ast.PartRepeat); ok {
			return parts[:i+1], parts[i+1:]
		}
	}
	return parts, nil
}

func (r *Run) growTree(ctx context.Context, env *Env, v value.Value, rec *recursion) (value.Value, error) {
	if v.IsNullish() {
		return v, nil
	}
	if v.Kind() == value.KindArray && !slices.ContainsFunc(v.Elems(), func(e value.Value) bool {
		return !e.IsNullish()
	}) {
		return value.Array(), nil
	}
	outer := r.tree
	defer func() { r.tree = outer }()
	r.tree = &tree{rec: rec, depth: 1}
	w, err := r.walk(ctx, env, v, rec.path, false)
	if errors.Is(err, errShort) {
		return value.None, nil
	}
	return w, err
}

// descend evaluates the path on v, one level deeper; at the greatest depth v stays as it is.
func (t *tree) descend(ctx context.Context, r *Run, env *Env, v value.Value) (value.Value, error) {
	if v.IsNullish() {
		return value.None, t.short(true)
	}
	if v.Kind() != value.KindArray {
		if v.Kind() != value.KindRecord {
			return value.None, notARecord(v)
		}
		w, err := t.node(ctx, r, env, v)
		if err == nil {
			err = t.short(w.IsNone())
		}
		return w, err
	}
	from := make([]value.Value, 0, v.Len())
	for _, e := range inside.Flatten(v).Elems() {
		if e.IsNullish() {
			continue
		}
		if e.Kind() != value.KindRecord {
			return value.None, notARecord(e)
		}
		from = append(from, e)
	}
	out, sum, ahead := make([]value.Value, 0, len(from)), held(0), record.Ahead{}
	for i, e := range from {
		w, err := value.None, error(nil)
		if t.depth < t.rec.max {
			err = r.reach(ctx, &ahead, from[i:], t.rec.path)
		}
		if err == nil {
			w, err = t.node(ctx, r, env, e)
		}
		if err == nil {
			err = sum.add(r, w)
		}
		switch {
		case errors.Is(err, errShort):
		case err != nil:
			return value.None, err
		case w.Kind() == value.KindArray:
			out = append(out, w.Elems()...)
		case !w.IsNone():
			out = append(out, w)
		}
	}
	return value.ArrayOf(out), t.short(len(out) == 0)
}

// short is errShort where nothing is found before the least depth.
func (t *tree) short(nothing bool) error {
	if nothing && t.depth < t.rec.min {
		return errShort
	}
	return nil
}

// node evaluates the path on one record.
func (t *tree) node(ctx context.Context, r *Run, env *Env, v value.Value) (value.Value, error) {
	if err := r.Tick(ctx); err != nil {
		return value.None, err
	}
	if t.depth == t.rec.max {
		return v, nil
	}
	t.depth++
	v, err := r.walk(ctx, env, v, t.rec.path, false)
	t.depth--
	return v, err
}
