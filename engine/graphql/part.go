package graphql

import (
	"context"
	gast "github.com/vektah/gqlparser/v2/ast"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// Answer is the result of some root fields of an operation.
type Answer struct {
	Data     []byte // the members of data, in JSON, without braces
	Null     bool   // a field failed that cannot be null: data is null as a whole
	Failures []*Failure
	Plans    int  // statements that ran for it
	Own      bool // it holds for the session that asked alone, or came from outside of the database
}

// Part is root fields of an operation that run together in one transaction, as one statement.
type Part struct {
	o     *Operation
	picks []*pick
	elem  bool        // one element of a bulk create, which is written without its key
	index int         // of the element
	event bool        // it tells of a record that is watched
	data  value.Value // the element, or the record
	// Elems are the parts of a bulk create: they run one after the other, and then Join; the part itself does not run.
	Elems []*Part
	Answer
}

// Parts are the statements that an operation is: all fields of a query together, and each of a mutation by itself.
func (o *Operation) Parts() []*Part {
	if o.op.Operation == gast.Query {
		return []*Part{{o: o, picks: o.flat}}
	}
	out := make([]*Part, len(o.flat))
	for i, p := range o.flat {
		part := &Part{o: o, picks: o.flat[i : i+1]}
		if root := o.s.mutations[p.name]; o.op.Operation == gast.Mutation && root != nil && root.bulk &&
			root.act == actCreate {
			part.Elems = []*Part{}
			for j, data := range p.arg("data").Elems() {
				part.Elems = append(part.Elems, &Part{o: o, picks: part.picks, elem: true, index: j, data: data})
			}
		}
		out[i] = part
	}
	return out
}

// Writes reports whether the part may write.
func (p *Part) Writes() bool { return p.o.op.Operation == gast.Mutation }

// Statement is the part as a statement of a query.
func (p *Part) Statement() *ast.GQL { return &ast.GQL{Program: p, Writes: p.Writes()} }

// Run runs the part in the transaction of r. Errors of fields are in its Answer. Where the transaction may write, they
// are errors of the statement too, so that nothing of it stays.
func (p *Part) Run(ctx context.Context, r *exec.Run) (value.Value, error) {
	if err := r.Enter(ctx); err != nil {
		return value.None, err
	}
	defer r.Leave()
	defer r.Mem.Rewind(r.Mem.Mark())
	x := &runner{o: p.o, r: r, event: p.event, doc: p.data}
	var err error
	nulled := false
	if p.elem {
		err = x.element(ctx, p)
	} else {
		nulled, err = x.roots(ctx, p.picks)
	}
	if err != nil {
		p.Answer = Answer{}
		return value.None, err
	}
	p.Answer = Answer{Data: x.buf, Null: nulled, Failures: x.failures, Plans: x.plans, Own: r.Personal || r.Outside}
	if r.Tx.Writable() && x.broken != nil {
		return value.None, x.broken
	}
	return value.None, nil
}

// element is one element of a bulk create.
func (x *runner) element(ctx context.Context, p *Part) error {
	pick := p.picks[0]
	x.path = append(x.path, pick.key, p.index)
	err := x.create(ctx, x.o.s.mutations[pick.name].obj, pick, p.data)
	if err == nil && string(x.buf) == "null" {
		err = errNoResult
	}
	if err == nil || err == errNulled {
		return nil
	}
	if x.ends(ctx, err) {
		return err
	}
	x.failed(ctx, pick, err)
	x.broken = err
	return nil
}

// Join makes the answer of a bulk create of those of its elements.
func (p *Part) Join() {
	p.Answer = Answer{Data: append(appendKey(nil, p.picks[0].key), '[')}
	for i, e := range p.Elems {
		p.Failures = append(p.Failures, e.Failures...)
		p.Plans += e.Plans
		p.Own = p.Own || e.Own
		if i > 0 {
			p.Data = append(p.Data, ',')
		}
		p.Data = append(p.Data, e.Data...)
		if e.Failed() {
			p.Null = true
			return
		}
	}
	p.Data = append(p.Data, ']')
}

// Fail records that the part as a whole has failed.
func (p *Part) Fail(err error) {
	p.Answer = Answer{Null: p.elem}
	for i, f := range p.picks {
		p.Failures = append(p.Failures, &Failure{Err: err, Path: []any{f.key}, Locations: locationOf(f.field.Position)})
		if i > 0 {
			p.Data = append(p.Data, ',')
		}
		p.Data = append(appendKey(p.Data, f.key), "null"...)
		p.Null = p.Null || f.field.Definition != nil && f.field.Definition.Type.NonNull
	}
}

// Failed reports whether some field of the part failed.
func (p *Part) Failed() bool { return len(p.Failures) > 0 }

// Login returns the request of a field that signs in or up; ok is false for other fields.
func (p *Part) Login() (params *value.Object, signup, ok bool) {
	if p.o.op.Operation != gast.Mutation {
		return nil, false, false
	}
	f := p.picks[0]
	root := p.o.s.mutations[f.name]
	if root == nil || root.act != actSignin && root.act != actSignup {
		return nil, false, false
	}
	fields := []value.Field{{Name: "AC", Value: f.arg("access")}}
	if vars := f.arg("variables"); vars.Kind() == value.KindObject {
		for _, v := range vars.Object().Fields() {
			switch v.Name {
			case "NS", "DB", "AC", "ns", "db", "ac", "Ns", "Db", "Ac", "nS", "dB", "aC":
				continue // they are those of the request
			}
			switch v.Value.Kind() {
			case value.KindNone, value.KindNull:
				continue
			case value.KindArray, value.KindObject:
				v.Value = value.Str(v.Value.Text())
			}
			fields = append(fields, v)
		}
	}
	return value.NewObject(fields...), root.act == actSignup, true
}

// Public reports whether an operation is for clients without an identity: it only signs in or up.
func (o *Operation) Public() bool {
	logins := 0
	for i, p := range o.flat {
		part := &Part{o: o, picks: o.flat[i : i+1]}
		if _, _, ok := part.Login(); ok {
			logins++
		} else if p.name != "__typename" {
			return false
		}
	}
	return logins > 0
}

// Token is the answer of a field that signed in or up.
func (p *Part) Token(token string) {
	p.Answer = Answer{Data: appendText(appendKey(nil, p.picks[0].key), token)}
}
