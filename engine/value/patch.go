package value

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/textpatch"
)

// Patch applies an array of JSON-patch operations (add, remove, replace, change, copy, move, test) to
// v. A step of a path is the name of a field; over an array it goes to every element. Only an add whose
// last step is an index or "-" inserts into an array; an add to an array itself appends, an array element by
// element. What a path does not reach stays as it is.
func Patch(v, ops Value) (Value, error) { return PatchSeen(v, v, ops) }

// PatchSeen is Patch for someone who sees seen where v is: what copy, move, test and change read is read there.
func PatchSeen(v, seen, ops Value) (Value, error) {
	if ops.kind != KindArray {
		return None, errPatch("Patch operations should be an array of objects")
	}
	steps := make([]patchStep, ops.Len())
	for i, op := range ops.Elems() {
		var err error
		if steps[i], err = parsePatchStep(op); err != nil {
			return None, err
		}
	}
	for _, s := range steps {
		s, err := s.read(seen)
		if err != nil {
			return None, err
		}
		v, seen = s.apply(v), s.apply(seen)
		if Exceeds(v, mostPatched) || Exceeds(seen, mostPatched) {
			return None, TooHeavy(mostPatched) // a copy of the whole into itself doubles it
		}
	}
	return v, nil
}

// mostPatched is the weight that operations may give a value.
const mostPatched = 1 << 30

func errPatch(why string) error {
	return errs.Validation("The JSON Patch contains invalid operations. Failed to parse JSON patch structure: %s", why)
}

// patchStep is one operation.
type patchStep struct {
	op         string
	path, from []string
	value      Value
}

func parsePatchStep(v Value) (patchStep, error) {
	var s patchStep
	if v.kind != KindObject {
		return s, errPatch("Patch operations should be an array of objects")
	}
	o := v.Object()
	op, ok := o.Get("op")
	if !ok {
		return s, errPatch("Key 'op' missing")
	}
	if op.kind != KindString {
		return s, errPatch("Key 'op' not a string")
	}
	path, ok := o.Get("path")
	if !ok {
		return s, errPatch("Key 'path' missing")
	}
	s.op, s.path = op.Str(), pathSteps(path)
	switch s.op {
	case "remove":
	case "add", "replace", "change", "test":
		if s.value, ok = o.Get("value"); !ok {
			return s, errPatch("Key 'from' missing") // upstream's own words
		}
	case "copy", "move":
		from, ok := o.Get("from")
		if !ok {
			return s, errPatch("Key 'from' missing")
		}
		s.from = pathSteps(from)
	default:
		return s, errPatch("Invalid operation '" + s.op + "'")
	}
	return s, nil
}

func pathSteps(v Value) []string {
	return strings.Split(strings.TrimLeft(ToString(v), "/"), "/")
}

// read is the step with what it reads of v: the value to be set.
func (s patchStep) read(v Value) (patchStep, error) {
	switch s.op {
	case "copy", "move":
		s.value = getPath(v, s.from)
	case "test":
		if got := getPath(v, s.path); !Equal(got, s.value) {
			return s, errs.Internal("Given test operation failed for JSON Patch. Expected `%s`, but got `%s` instead.", s.value, got)
		}
	case "change":
		old := getPath(v, s.path)
		if old.kind != KindString || s.value.kind != KindString {
			s.op = "test" // changes nothing
			return s, nil
		}
		text, err := textpatch.Apply(old.Str(), s.value.Str())
		if err != nil {
			return s, errPatch(err.Error())
		}
		s.value = Str(text)
	}
	return s, nil
}

// apply does a step that has been read.
func (s patchStep) apply(v Value) Value {
	switch s.op {
	case "add":
		return s.add(v)
	case "remove":
		return removePath(v, s.path)
	case "move":
		return setPath(removePath(v, s.from), s.path, s.value)
	case "test":
		return v
	}
	return setPath(v, s.path, s.value)
}

func (s patchStep) add(v Value) Value {
	parent, last := s.path[:len(s.path)-1], s.path[len(s.path)-1]
	if list := getPath(v, parent); list.kind == KindArray && (last == "-" || isIndex(last)) {
		at := list.Len()
		if n, err := strconv.Atoi(last); err == nil {
			at = min(n, at)
		}
		return setPath(v, parent, ArrayOf(slices.Insert(slices.Clone(list.Elems()), at, s.value)))
	}
	if last == "-" || isIndex(last) { // into what is no array: the value takes its place
		return setPath(v, parent, s.value)
	}
	if list := getPath(v, s.path); list.kind == KindArray {
		return setPath(v, s.path, joinArrays(list, asArray(s.value)))
	}
	return setPath(v, s.path, s.value)
}

func isIndex(s string) bool {
	_, err := strconv.ParseUint(s, 10, 31)
	return err == nil
}

// getPath is the value at path, of every element of an array; NONE where there is nothing.
func getPath(v Value, path []string) Value {
	if len(path) == 0 {
		return v
	}
	switch v.kind {
	case KindObject:
		f, _ := v.Object().Get(path[0])
		return getPath(f, path[1:])
	case KindArray:
		return arrayOfAll(v.Elems(), func(e Value) Value { return getPath(e, path) })
	}
	return None
}

// setPath is v with the value at path set, in every element of an array. Missing objects are made;
// other kinds are left alone.
func setPath(v Value, path []string, to Value) Value {
	if len(path) == 0 {
		return to
	}
	switch v.kind {
	case KindNone, KindNull:
		return ObjectOf(NewObject(Field{path[0], setPath(None, path[1:], to)}))
	case KindObject:
		f, _ := v.Object().Get(path[0])
		return ObjectOf(v.Object().With(path[0], setPath(f, path[1:], to)))
	case KindArray:
		return arrayOfAll(v.Elems(), func(e Value) Value {
			if e.IsNullish() {
				return e
			}
			return setPath(e, path, to)
		})
	}
	return v
}

// removePath is v without the field at path, in every element of an array.
func removePath(v Value, path []string) Value {
	switch v.kind {
	case KindObject:
		o := v.Object()
		if len(path) == 1 {
			return ObjectOf(o.Without(path[0]))
		}
		if f, ok := o.Get(path[0]); ok {
			return ObjectOf(o.With(path[0], removePath(f, path[1:])))
		}
	case KindArray:
		return arrayOfAll(v.Elems(), func(e Value) Value { return removePath(e, path) })
	}
	return v
}
