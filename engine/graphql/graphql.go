// Package graphql makes a GraphQL schema of the definitions of a database and runs operations over its records.
//
// A root field becomes one statement of engine/exec: its arguments are the clauses, its selection set the projection.
// The links and edges that a list of records leads to are read together, level by level, each by one statement more.
// Records come through the executor and the gate alone, so permissions, computed fields, indexes and limits are those
// of every statement. A Schema holds no session and is safe for concurrent use; an Operation belongs to one request.
package graphql

import (
	gast "github.com/vektah/gqlparser/v2/ast"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/value"
)

// Schema is the GraphQL schema of a database. It is immutable.
type Schema struct {
	graph             *gast.Schema
	depth, complexity int // of an operation; -1: no limit
	introspection     bool
	objects           map[string]*object // by the name of the GraphQL type
	tables            map[string]*object // the exposed tables, by their name in the database
	queries           map[string]*root
	mutations         map[string]*root
	subscriptions     map[string]*root
	renamed           map[string]string // GraphQL types by the name of their table, where that is another one
}

// object is an object type: a table, or an object inside of a record.
type object struct {
	name     string // of the type
	table    string // in the database; "": no table
	doc      string
	reason   string // it is deprecated
	alias    string
	view     bool
	relation bool
	fields   map[string]*field // by their GraphQL name
	list     []*field          // those of data, in order of their names
	def      *gast.Definition
	filter   string // the name of its filter type
}

// field is a field of an object.
type field struct {
	name     string // in GraphQL
	real     string // in the record
	shape    *shape
	edge     *edge // not nil: the field is about edges, shape is nil
	doc      string
	reason   string
	settable bool // inputs have it
	implied  bool // it may be left out of a create: a default or value fills it in
}

// edge is a field that leads to the edges of a record.
type edge struct {
	to *object // the relation
	in bool    // edges that come in
}

// shape is the GraphQL form of a kind of value.
type shape struct {
	kind    shapeKind
	name    string // of the output type; of lists: that of the element
	input   string // of the input type, likewise
	null    bool   // it may be missing
	typ     *value.Type
	elem    *shape    // of a list
	obj     *object   // of a nested object
	enum    *enum     // of an enum
	targets []*object // of a link; none: any exposed table
}

type shapeKind uint8

const (
	shapeScalar shapeKind = iota
	shapeEnum
	shapeLink
	shapeNested
	shapeGeometry
	shapeList
)

// enum is the items of a type that is a union of texts.
type enum struct {
	name  string
	items []string          // in order
	text  map[string]string // item → text
	item  map[string]string // text → item
}

// out is the output type.
func (s *shape) out() *gast.Type {
	if s.kind == shapeList {
		elem := s.elem.out()
		return &gast.Type{Elem: elem, NonNull: !s.null}
	}
	return &gast.Type{NamedType: s.name, NonNull: !s.null}
}

// in is the input type; optional makes it nullable.
func (s *shape) in(optional bool) *gast.Type {
	t := &gast.Type{NonNull: !s.null && !optional}
	if s.kind == shapeList {
		t.Elem = s.elem.in(false)
	} else {
		t.NamedType = s.input
	}
	return t
}

// action is the operation of a root field.
type action uint8

const (
	actList action = iota
	actFetch
	actGet
	actAggregate
	actConnection
	actFunction
	actCreate
	actUpdate
	actUpsert
	actDelete
	actSignin
	actSignup
	actWatch
)

// root is a root field.
type root struct {
	act    action
	bulk   bool
	obj    *object // of the table
	fn     *ast.DefineFunction
	args   map[string]*shape // of a function, by name
	result *shape            // of a function
}

// Source holds the definitions from which a schema is made.
type Source struct {
	Config           *ast.GraphQLConfig
	Tables           []*catalog.Table
	Functions        []*ast.DefineFunction
	Signin, Signup   bool // some access method of the database has such a clause
	Depth, Selection int  // limits of the server, which no configuration widens
}
