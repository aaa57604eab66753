package record

import (
	"strconv"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Patchable refuses the operations copy, move and test of a PATCH (see value.Patch) whose pointer reaches a field that
// system users alone may select, one around it, or one inside of it. It is for callers whom permissions hold for.
// goOn is asked before each operation, and its error ends all.
//
// SECURITY: it asks the definitions alone, so it tells nothing of the record. A field that only a condition hides reads
// as NONE: to refuse it would tell a hidden value from one that is not there.
func Patchable(tb *catalog.Table, ops value.Value, goOn func() error) error {
	var shut []*catalog.Field
	for _, f := range tb.Fields {
		if f.Define.Permissions.Select.Kind == ast.PermissionNone {
			shut = append(shut, f)
		}
	}
	if len(shut) == 0 || ops.Kind() != value.KindArray {
		return nil
	}
	for _, op := range ops.Elems() {
		if err := goOn(); err != nil {
			return err
		}
		pointer, ok := pointerRead(op)
		if !ok {
			continue
		}
		steps := strings.Split(strings.TrimLeft(pointer, "/"), "/")
		for _, f := range shut {
			if reaches(f.Path, steps) {
				return errs.NotAllowed("You don't have permission to read '%s' by PATCH", pointer)
			}
		}
	}
	return nil
}

// pointerRead is the pointer that an operation reads its value from; false where it reads none, or is none.
func pointerRead(op value.Value) (string, bool) {
	if op.Kind() != value.KindObject {
		return "", false
	}
	name, _ := op.Object().Get("op")
	key := "from"
	switch value.ToString(name) {
	case "copy", "move":
	case "test":
		key = "path"
	default:
		return "", false
	}
	pointer, ok := op.Object().Get(key)
	return value.ToString(pointer), ok
}

// reaches reports whether a pointer leads to the field at a path, to something around it, or to something inside of it.
// Positions in a pointer may be left out, as the steps to all elements in a path may: one name goes to every element.
func reaches(path []catalog.Step, pointer []string) bool {
	switch {
	case len(path) == 0 || len(pointer) == 0:
		return true
	case !path[0].All && isPlace(pointer[0]) && reaches(path, pointer[1:]):
		return true
	case path[0].Name == pointer[0] && path[0].Named():
		return reaches(path[1:], pointer[1:])
	case path[0].Named() && !path[0].Index:
		return false
	}
	return reaches(path[1:], pointer) || path[0].All && reaches(path[1:], pointer[1:])
}

// isPlace reports whether a step of a pointer may be a position in a list.
func isPlace(step string) bool {
	_, err := strconv.ParseUint(step, 10, 64)
	return err == nil || step == "-"
}
