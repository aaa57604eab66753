package rpc

import (
	"context"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/ml"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// runFunction calls a function by name: run [name, version?, args?].
func runFunction(ctx context.Context, k *call) (wire.Response, error) {
	p, err := k.params(1, 3, "Expected (name:string, version:string, args:array)")
	if err != nil {
		return wire.Response{}, err
	}
	if p[0].Kind() != value.KindString {
		return wire.Response{}, errs.InvalidParams("Expected name to be string, got %s", debugText(p[0]))
	}
	if p[1].Kind() != value.KindString && !p[1].IsNullish() {
		return wire.Response{}, errs.InvalidParams("Expected version to be string, got Some(%s)", debugText(p[1]))
	}
	var args []value.Value
	switch {
	case p[2].Kind() == value.KindArray:
		args = p[2].Elems()
	case !p[2].IsNullish():
		return wire.Response{}, errs.InvalidParams("Expected args to be array, got Some(%s)", debugText(p[2]))
	}
	name := p[0].Str()
	if strings.HasPrefix(name, "ml::") {
		if p[1].IsNullish() {
			return wire.Response{}, errs.InvalidParams("Expected version to be set for model function")
		}
		name += "<" + p[1].Str() + ">"
	}
	if k.tx != nil {
		return k.runInside(ctx, name, args)
	}
	v, err := k.session.engine.Call(ctx, name, args)
	return answer(v), err
}

// runInside calls a function inside the request's transaction, as a statement. Only a plain path of names may
// stand in its text; the arguments are bound.
func (k *call) runInside(ctx context.Context, name string, args []value.Value) (wire.Response, error) {
	if !plainPath(name) && !modelPath(name) {
		return wire.Response{}, errs.Internal("Unknown function '%s' - not found in function registry", name)
	}
	text := append([]byte("RETURN "), name...)
	fields := make([]value.Field, len(args))
	for i, arg := range args {
		v := "_" + strconv.Itoa(i)
		fields[i] = value.Field{Name: v, Value: arg}
		text = append(append(text, "(,"[min(i, 1)], '$'), v...)
	}
	if len(args) == 0 {
		text = append(text, '(')
	}
	return k.statement(ctx, string(append(text, ')')), value.NewObject(fields...), false)
}

// modelPath reports whether name is that of a model, with its version.
func modelPath(name string) bool {
	path, version, ok := strings.Cut(strings.TrimPrefix(name, "ml::"), "<")
	if !ok || !strings.HasPrefix(name, "ml::") || !ml.ValidName(path) || !strings.HasSuffix(version, ">") {
		return false
	}
	_, err := ml.ParseVersion(strings.TrimSuffix(version, ">"))
	return err == nil
}

// plainPath reports whether name is names of letters, digits and underscores joined by "::".
func plainPath(name string) bool {
	for part := range strings.SplitSeq(name, "::") {
		if part == "" {
			return false
		}
		for _, c := range []byte(part) {
			if c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
				return false
			}
		}
	}
	return true
}
