package value

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/textpatch"
)

// Patch applies an array of JSON-patch operations (RFC 6902: add, remove, replace, copy, move, test; and change) to v.
// A step of a path is the name of a field, or over an array the position of an element (RFC 6901); the name of a field
// over an array goes to every element. An add, copy or move to a position inserts before it, or at the end where there
// is no element; a replace of one that is not there is an error. An add to an array itself appends, an array element by
// element. What else a path does not reach stays as it is.
//
// The operations copy, move, test and change read from seen: v as the caller may see it. In an array that is hidden
// there nothing has a position: an insert still happens, and any other operation by a position does nothing. A move of
// what is hidden as a whole leaves it where it is. goOn is asked before each operation and while one works; an error
// ends all. A set is like an array whose elements have the positions of their order; it has its order again, and equal
// elements once, when all is done.
func Patch(v, seen, ops Value, goOn func() error) (Value, error) {
	if ops.Kind() != KindArray {
		return None, errPatch("Patch operations should be an array of objects")
	}
	steps := make([]patchStep, ops.Len())
	for i, op := range ops.Elems() {
		var err error
		if steps[i], err = parsePatchStep(op); err != nil {
			return None, err
		}
	}
	whole := &draft{v: v}
	view := whole
	if v != seen {
		view = &draft{v: seen}
	}
	for i := range steps {
		if err := goOn(); err != nil {
			return None, err
		}
		if err := steps[i].read(view, goOn); err != nil {
			return None, err
		}
		hidden := view != whole && steps[i].hidden(whole, view)
		steps[i].stays = view != whole && isNothing(steps[i].value)
		if err := steps[i].apply(view); err != nil {
			return None, err
		}
		if view != whole && !hidden {
			if err := steps[i].apply(whole); err != nil {
				return None, err
			}
		}
		if whole.weight() > mostPatched || view.weight() > mostPatched {
			return None, TooHeavy(mostPatched) // a copy of the whole into itself doubles it
		}
	}
	return whole.value(), nil
}

// isNothing reports whether v is NONE, or a list of nothing else.
func isNothing(v Value) bool {
	something := func(e Value) bool { return !e.IsNone() }
	return v.IsNone() || v.Kind() == KindArray && !slices.ContainsFunc(v.Elems(), something)
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
	stays      bool // of a move: what it found is NONE, and so is for its caller what may be hidden there
}

func parsePatchStep(v Value) (patchStep, error) {
	var s patchStep
	if v.Kind() != KindObject {
		return s, errPatch("Patch operations should be an array of objects")
	}
	o := v.Object()
	op, ok := o.Get("op")
	if !ok {
		return s, errPatch("Key 'op' missing")
	}
	if op.Kind() != KindString {
		return s, errPatch("Key 'op' not a string")
	}
	path, ok := o.Get("path")
	if !ok {
		return s, errPatch("Key 'path' missing")
	}
	var err error
	if s.path, err = pathSteps(path); err != nil {
		return s, err
	}
	switch s.op = op.Str(); s.op {
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
		if s.from, err = pathSteps(from); err != nil {
			return s, err
		}
		if n := len(s.from); n < len(s.path) && slices.Equal(s.from, s.path[:n]) {
			return s, errPatch("The path of '" + s.op + "' lies inside its own 'from'")
		}
	default:
		return s, errPatch("Invalid operation '" + s.op + "'")
	}
	return s, nil
}

func pathSteps(v Value) ([]string, error) {
	path := strings.TrimLeft(ToString(v), "/")
	if strings.Count(path, "/") >= levels {
		return nil, errs.TooDeep()
	}
	return strings.Split(path, "/"), nil
}

// hidden reports whether how the step ends in whole would depend on the length of an array there that view, which is
// whole as the caller may see it, does not show. An insert alone succeeds at any position.
//
// SECURITY: a failure would tell how many elements there are.
func (s *patchStep) hidden(whole, view *draft) bool {
	if s.op == "remove" || s.op == "test" {
		return false // they do not fail
	}
	inserts := s.op != "replace" && s.op != "change"
	return whole.hides(view, s.path, inserts)
}

func (d *draft) hides(view *draft, path []string, inserts bool) bool {
	for ; len(path) > 0; path = path[1:] {
		switch {
		case d.v.Kind() == KindObject:
			d = d.peek(path[0])
			if view.v.Kind() == KindObject {
				view = view.peek(path[0])
			} else {
				view = &draft{}
			}
		case !d.isList():
			return false
		case !view.isList() || view.len() != d.len():
			return slices.ContainsFunc(path, isPosition) && !(inserts && len(path) == 1)
		case isPosition(path[0]):
			e, _ := d.elem(path[0])
			if e == nil {
				return false
			}
			seen, _ := view.elem(path[0])
			d, view = e, seen
		default:
			for i := range d.len() {
				if d.at(i).hides(view.at(i), path, inserts) {
					return true
				}
			}
			return false
		}
	}
	return false
}

func isPosition(step string) bool {
	_, ok := placeIn(step, 0)
	return ok
}

// read completes the step with what it reads of d: the value to be set.
func (s *patchStep) read(d *draft, goOn func() error) error {
	switch s.op {
	case "copy", "move":
		s.value = d.get(s.from)
	case "test":
		if got := d.get(s.path); !Equal(got, s.value) {
			return errs.Internal("Given test operation failed for JSON Patch. Expected `%s`, but got `%s` instead.", s.value, got)
		}
	case "change":
		old := d.get(s.path)
		if old.Kind() != KindString || s.value.Kind() != KindString {
			s.op = "test" // changes nothing
			return nil
		}
		text, err := textpatch.Apply(old.Str(), s.value.Str(), goOn)
		if errors.Is(err, textpatch.ErrInput) {
			return errPatch(err.Error())
		}
		if err != nil {
			return err
		}
		s.value = Str(text)
	}
	return nil
}

// apply does a step that has been read.
func (s *patchStep) apply(d *draft) error {
	switch s.op {
	case "add", "copy":
		return s.put(d)
	case "remove":
		return d.remove(s.path)
	case "move":
		if !s.stays {
			if err := d.remove(s.from); err != nil {
				return err
			}
		}
		return s.put(d)
	case "test":
		return nil
	}
	return d.set(s.path, s.value)
}

// put sets the field at the path, or inserts before the position that the path names.
func (s *patchStep) put(d *draft) error {
	list, last := s.path[:len(s.path)-1], s.path[len(s.path)-1]
	if _, ok := placeIn(last, 0); ok {
		if d.spreads(list) {
			return errs.Validation("The JSON Patch contains invalid operations. "+
				"The path '/%s' leads to every element of an array, not to one position", strings.Join(s.path, "/"))
		}
		return d.change(list, func(found *draft) error { return found.place(last, s.value) })
	}
	if s.op != "add" {
		return d.set(s.path, s.value)
	}
	items := asArray(s.value).Elems()
	if d.spreads(s.path) { // the list of all that is there takes the place of each
		all := draft{v: d.get(s.path)}
		all.insert(math.MaxInt, items...)
		return d.set(s.path, all.value())
	}
	return d.change(s.path, func(found *draft) error {
		if found.v.Kind() == KindArray {
			found.insert(math.MaxInt, items...)
		} else {
			*found = draft{v: s.value}
		}
		return nil
	})
}

// place puts v at a step that could be a position: into an array before the element there, into an object as a field.
// What is neither gives way to v.
func (d *draft) place(step string, v Value) error {
	switch d.v.Kind() {
	case KindArray, KindSet:
		i, _ := placeIn(step, d.len())
		d.insert(i, v)
	case KindObject:
		return d.set([]string{step}, v)
	default:
		*d = draft{v: v}
	}
	return nil
}
