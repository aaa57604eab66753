package value

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/textpatch"
)

// Patch applies an array of JSON-patch operations (add, remove, replace, change, copy, move, test) to
// v. A step of a path is the name of a field; over an array it goes to every element. Only an add whose
// last step is an index or "-" inserts into an array; an add to an array itself appends, an array element by
// element. What a path does not reach stays as it is.
//
// The operations copy, move, test and change read from seen: v as the caller may see it. goOn is asked before each
// operation and while one works; an error ends all.
func Patch(v, seen, ops Value, goOn func() error) (Value, error) {
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
		steps[i].apply(whole)
		if view != whole {
			steps[i].apply(view)
		}
		if whole.weight() > mostPatched || view.weight() > mostPatched {
			return None, TooHeavy(mostPatched) // a copy of the whole into itself doubles it
		}
	}
	return whole.value(), nil
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
		if old.kind != KindString || s.value.kind != KindString {
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
func (s *patchStep) apply(d *draft) {
	switch s.op {
	case "add":
		s.add(d)
	case "remove":
		d.remove(s.path)
	case "move":
		d.remove(s.from)
		d.set(s.path, s.value)
	case "test":
	default:
		d.set(s.path, s.value)
	}
}

func (s *patchStep) add(d *draft) {
	list, at, items := s.path, math.MaxInt, asArray(s.value).Elems()
	if last := s.path[len(s.path)-1]; last == "-" || isIndex(last) {
		if n, err := strconv.Atoi(last); err == nil {
			at = n
		}
		list, items = s.path[:len(s.path)-1], []Value{s.value}
	}
	if d.spreads(list) { // the list of all that is there takes the place of each
		all := draft{v: d.get(list)}
		all.insert(at, items...)
		d.set(list, all.value())
		return
	}
	d.change(list, func(found *draft) {
		if found.v.kind == KindArray {
			found.insert(at, items...)
		} else {
			*found = draft{v: s.value}
		}
	})
}

func isIndex(s string) bool {
	_, err := strconv.ParseUint(s, 10, 31)
	return err == nil
}
