package graphql

import (
	"errors"
	"unicode/utf8"

	gast "github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator/core"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Request is an operation as clients send it.
type Request struct {
	Query     string
	Variables *value.Object // may be nil
	Operation string        // which one of the query runs; "": its only one
}

// OperationLimits bound an operation, independent of the configuration of the database. A zero field means its default.
type OperationLimits struct {
	Depth   int // nested selections; 32
	Fields  int // selected fields, those of fragments each time; 1000
	Aliases int // fields that are renamed; 256
	Tokens  int // of a query; 20000
}

// WithDefaults is l with the defaults in place of zeros.
func (l OperationLimits) WithDefaults() OperationLimits {
	for _, x := range [...]struct {
		at  *int
		def int
	}{{&l.Depth, 32}, {&l.Fields, 1000}, {&l.Aliases, 256}, {&l.Tokens, 20_000}} {
		if *x.at <= 0 {
			*x.at = x.def
		}
	}
	return l
}

// OperationKind is the kind of an operation.
type OperationKind string

// The kinds of operations; Unknown is that of a request that does not parse.
const (
	Query        OperationKind = "query"
	Mutation     OperationKind = "mutation"
	Subscription OperationKind = "subscription"
	Unknown      OperationKind = "unknown"
)

// Failure is an error of an operation, with its place in the query and in the answer.
type Failure struct {
	Err       error
	Locations []gqlerror.Location
	Path      []any // texts and ints
}

// Error implements error.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Operation is an operation that may run.
type Operation struct {
	s    *Schema
	op   *gast.OperationDefinition
	doc  *gast.QueryDocument
	vars map[string]value.Value
	conv *converter
	flat []*pick // the root fields
}

// Kind is the kind of the operation.
func (o *Operation) Kind() OperationKind { return OperationKind(o.op.Operation) }

// Prepare parses, bounds and validates a request. What is wrong with it comes as failures.
func (s *Schema) Prepare(req *Request, limits OperationLimits, conv Converters) (*Operation, []*Failure) {
	if !utf8.ValidString(req.Query) { // parts of it stand in errors, and those in JSON
		return nil, []*Failure{{Err: errs.Validation("The query is not valid UTF-8")}}
	}
	doc, err := parser.ParseQueryWithTokenLimit(&gast.Source{Input: req.Query}, limits.Tokens)
	if err != nil {
		return nil, failuresOf(err)
	}
	op, failure := chosen(doc, req.Operation)
	if failure != nil {
		return nil, []*Failure{failure}
	}
	if f := s.bound(doc, op, limits); f != nil {
		return nil, []*Failure{f}
	}
	s.rename(doc)
	if fs := s.validate(doc); len(fs) > 0 {
		return nil, fs
	}
	o := &Operation{s: s, op: op, doc: doc, conv: &converter{readRecord: conv.Record, readValue: conv.Value}}
	if failure := o.variables(req.Variables); failure != nil {
		return nil, []*Failure{failure}
	}
	def := map[gast.Operation]*gast.Definition{gast.Query: s.graph.Query, gast.Mutation: s.graph.Mutation,
		gast.Subscription: s.graph.Subscription}[op.Operation]
	if o.flat, err = o.collect(def.Name, []gast.SelectionSet{op.SelectionSet}); err != nil {
		return nil, []*Failure{{Err: err}}
	}
	return o, nil
}

// Converters read texts of the language that are data.
type Converters struct {
	Record func(text string) (value.Value, error)
	Value  func(text string) (value.Value, error)
}

// mostFailures is how many errors an answer has at most.
const mostFailures = 100

func (s *Schema) validate(doc *gast.QueryDocument) []*Failure {
	var out []*Failure
	observers := &core.Events{}
	for _, rule := range validation() {
		rule.RuleFunc(observers, func(options ...core.ErrorOption) {
			if len(out) >= mostFailures {
				return
			}
			e := &gqlerror.Error{}
			for _, option := range options {
				option(e)
			}
			out = append(out, &Failure{Err: errors.New(e.Message), Locations: e.Locations})
		})
	}
	core.Walk(s.graph, doc, observers)
	return out
}

// failuresOf are the errors of the library.
func failuresOf(err error) []*Failure {
	var list gqlerror.List
	var one *gqlerror.Error
	if errors.As(err, &one) {
		list = gqlerror.List{one}
	} else {
		errors.As(err, &list)
	}
	var out []*Failure
	for _, e := range list {
		out = append(out, &Failure{Err: errors.New(e.Message), Locations: e.Locations})
	}
	if len(out) == 0 {
		out = append(out, &Failure{Err: errs.Validation("The query cannot be parsed")})
	}
	return out
}

// chosen finds the operation that is to run.
func chosen(doc *gast.QueryDocument, name string) (*gast.OperationDefinition, *Failure) {
	if len(doc.Operations) == 0 {
		return nil, &Failure{Err: errs.Validation("The query has no operation")}
	}
	if name == "" {
		if len(doc.Operations) > 1 {
			return nil, &Failure{Err: errs.Validation("Must provide operation name if query contains multiple operations.")}
		}
		return doc.Operations[0], nil
	}
	op := doc.Operations.ForName(name)
	if op == nil || op.Name != name {
		return nil, &Failure{Err: errs.Validation("Unknown operation named \"%s\".", errs.Brief(name, 128))}
	}
	return op, nil
}

// rename lets fragments name the tables of aliased types.
func (s *Schema) rename(doc *gast.QueryDocument) {
	if len(s.renamed) == 0 {
		return
	}
	to := func(name *string) {
		if alias := s.renamed[*name]; alias != "" && s.graph.Types[*name] == nil {
			*name = alias
		}
	}
	var inside func(gast.SelectionSet)
	inside = func(set gast.SelectionSet) {
		for _, x := range set {
			switch x := x.(type) {
			case *gast.Field:
				inside(x.SelectionSet)
			case *gast.InlineFragment:
				to(&x.TypeCondition)
				inside(x.SelectionSet)
			}
		}
	}
	for _, op := range doc.Operations {
		inside(op.SelectionSet)
	}
	for _, f := range doc.Fragments {
		to(&f.TypeCondition)
		inside(f.SelectionSet)
	}
}
