package fn

import (
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Method is all functions that go by one method name; the kind of the receiver chooses among them.
type Method struct {
	Name   string
	byKind [value.KindClosure + 1]*Func
}

// MethodForm is a way to write a function as a method.
type MethodForm struct {
	Name string
	Any  bool         // on values of any kind
	On   []value.Kind // else on these
}

// For is the function that m names on receivers of kind k.
func (m *Method) For(k value.Kind) (*Func, bool) {
	f := m.byKind[k]
	return f, f != nil
}

// Call runs m on args[0], the receiver, with the rest as arguments.
func (m *Method) Call(h Host, args []value.Value) (value.Value, error) {
	f := m.byKind[args[0].Kind()]
	if f == nil {
		return value.None, errs.Internal("Method '%s' cannot be called on value of type '%s'", m.Name, typeName(args[0]))
	}
	return f.call(Call{Func: f, Host: h, Method: m}, args)
}

// NoMethod is the error of calling a method that does not exist on a value of receiver's kind.
func NoMethod(name string, receiver value.Value) error {
	return errs.Internal("There was a problem running the %s() function. no such method found for the %s type",
		name, typeName(receiver))
}

// addMethod registers the method form of an entry.
func (t *Table) addMethod(f *Func, e entry) {
	if e.on == 0 || e.on&noMethod != 0 {
		return
	}
	name := e.as
	if name == "" {
		name = methodName(e.sig)
	}
	m := t.methods[name]
	if m == nil {
		m = &Method{Name: name}
		t.methods[name] = m
	}
	form := MethodForm{Name: name, Any: e.on == anyKind}
	for k := range m.byKind {
		if !e.on.has(value.Kind(k)) || m.byKind[k] != nil && form.Any {
			continue
		}
		m.byKind[k] = f
		form.On = append(form.On, value.Kind(k))
	}
	f.Methods = append(f.Methods, form)
}
