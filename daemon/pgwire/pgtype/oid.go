// Package pgtype is the type system of the PostgreSQL wire: the object ids of types, and how values of the engine are
// written and read in the text and binary form of each.
//
// A value of SQL is a value.Value whose type is known beside it. NULL is NONE; NULL of the language is the null of JSON
// inside of json and jsonb, and NULL everywhere else. Integers of all sizes, object ids and registered names are ints,
// dates and timestamps are datetimes, times of day and intervals are durations, arrays and rows are arrays.
package pgtype

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// OID is the object id of a type.
type OID = uint32

// The types that the server has to know by name.
const (
	Bool         OID = 16
	Bytea        OID = 17
	Char         OID = 18 // "char": one byte
	Name         OID = 19
	Int8         OID = 20
	Int2         OID = 21
	Int2Vector   OID = 22
	Int4         OID = 23
	RegProc      OID = 24
	Text         OID = 25
	Oid          OID = 26
	Tid          OID = 27
	Xid          OID = 28
	Cid          OID = 29
	OidVector    OID = 30
	JSON         OID = 114
	NodeTree     OID = 194
	Float4       OID = 700
	Float8       OID = 701
	Unknown      OID = 705
	Inet         OID = 869
	BoolArray    OID = 1000
	NameArray    OID = 1003
	Int2Array    OID = 1005
	Int4Array    OID = 1007
	TextArray    OID = 1009
	CharArray    OID = 1002
	Int8Array    OID = 1016
	Float8Array  OID = 1022
	OidArray     OID = 1028
	ACLItem      OID = 1033
	ACLItemArray OID = 1034
	BPChar       OID = 1042
	Varchar      OID = 1043
	Date         OID = 1082
	Time         OID = 1083
	Timestamp    OID = 1114
	Timestamptz  OID = 1184
	Interval     OID = 1186
	TimeTZ       OID = 1266
	NumericArray OID = 1231
	Numeric      OID = 1700
	RegProcedure OID = 2202
	RegOper      OID = 2203
	RegOperator  OID = 2204
	RegClass     OID = 2205
	RegType      OID = 2206
	Record       OID = 2249
	AnyArray     OID = 2277
	Void         OID = 2278
	UUID         OID = 2950
	JSONB        OID = 3802
	RegNamespace OID = 4089
	RegRole      OID = 4096
)

// Type is a row of pg_type.
type Type struct {
	OID      OID
	Name     string
	Len      int16
	Category byte
	Elem     OID // of an array type, or 0
	Array    OID // the array type of this type, or 0
	Fields   []string
}

//go:embed types.tsv
var typesFile string

// registry holds the content of typesFile; it is filled once and never changed.
type registry struct {
	list   []*Type
	byOID  map[OID]*Type
	byName map[string]*Type
	header []string
}

var types = sync.OnceValue(func() *registry { return readTypes(typesFile) })

func readTypes(text string) *registry {
	r := &registry{byOID: map[OID]*Type{}, byName: map[string]*Type{}}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	r.header = strings.Split(lines[0], "\t")
	num := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			panic("types.tsv: " + err.Error())
		}
		return n
	}
	for _, line := range lines[1:] {
		f := strings.Split(line, "\t")
		t := &Type{OID: OID(num(f[0])), Name: f[1], Len: int16(num(f[2])), Category: f[5][0], Elem: OID(num(f[8])),
			Array: OID(num(f[9])), Fields: f}
		r.list = append(r.list, t)
		r.byOID[t.OID] = t
		r.byName[t.Name] = t
	}
	return r
}

// All are the known types, and Header the names of their Fields.
func All() (list []*Type, header []string) { return types().list, types().header }

// Lookup finds a type; nil where it is not known.
func Lookup(oid OID) *Type { return types().byOID[oid] }

// LenOf is the length of a type as RowDescription tells it.
func LenOf(oid OID) int16 {
	if t := types().byOID[oid]; t != nil {
		return t.Len
	}
	return -1
}

// ElemOf is the type of the elements of an array type; 0 for others.
func ElemOf(oid OID) OID {
	if t := types().byOID[oid]; t != nil && t.Category == 'A' {
		return t.Elem
	}
	return 0
}

// ArrayOf is the array type of a type; 0 where there is none.
func ArrayOf(oid OID) OID {
	if t := types().byOID[oid]; t != nil {
		return t.Array
	}
	return 0
}

// IsArray reports whether a type is an array or a vector.
func IsArray(oid OID) bool { return ElemOf(oid) != 0 }

// IsVector reports whether a type prints its elements between blanks.
func IsVector(oid OID) bool { return oid == Int2Vector || oid == OidVector }

// IsText reports whether values of a type are texts.
func IsText(oid OID) bool {
	switch oid {
	case Text, Varchar, Name, BPChar, Char, Unknown, NodeTree, ACLItem, Inet:
		return true
	}
	return false
}

// IsInt reports whether values of a type are whole numbers.
func IsInt(oid OID) bool {
	switch oid {
	case Int2, Int4, Int8, Oid, Xid, Cid:
		return true
	}
	return IsReg(oid)
}

// IsNumber reports whether a type can be calculated with.
func IsNumber(oid OID) bool {
	return IsInt(oid) || oid == Float4 || oid == Float8 || oid == Numeric
}

// IsReg reports whether a type is an object id that prints as a name.
func IsReg(oid OID) bool {
	switch oid {
	case RegProc, RegProcedure, RegOper, RegOperator, RegClass, RegType, RegNamespace, RegRole:
		return true
	}
	return false
}

// sqlNames are the names of types that have one in SQL beside that of pg_type.
var sqlNames = map[OID]string{
	Bool: "boolean", Int2: "smallint", Int4: "integer", Int8: "bigint", Float4: "real", Float8: "double precision",
	Char: `"char"`, BPChar: "character", Varchar: "character varying", Timestamp: "timestamp without time zone",
	Timestamptz: "timestamp with time zone", Time: "time without time zone", TimeTZ: "time with time zone",
	1560: "bit", 1562: "bit varying",
}

// Format is the name of a type as format_type gives it.
func Format(oid OID) string {
	if oid == 0 {
		return "-"
	}
	t := types().byOID[oid]
	if t == nil {
		return "???"
	}
	if t.Category == 'A' && !IsVector(oid) {
		return Format(t.Elem) + "[]"
	}
	if name, ok := sqlNames[oid]; ok {
		return name
	}
	return t.Name
}

// aliases are further names of types in SQL.
var aliases = map[string]OID{
	"int": Int4, "integer": Int4, "smallint": Int2, "bigint": Int8, "real": Float4, "float": Float8,
	"double precision": Float8,
	"boolean":          Bool, "character varying": Varchar, "character": BPChar, "char": BPChar, `"char"`: Char,
	"decimal": Numeric, "dec": Numeric,
	"timestamp without time zone": Timestamp, "timestamp with time zone": Timestamptz, "time without time zone": Time,
	"time with time zone": TimeTZ, "string": Text,
}

// Named finds a type by its name in pg_type or in SQL, "[]" after it for arrays.
func Named(name string) (OID, bool) {
	if elem, ok := strings.CutSuffix(name, "[]"); ok {
		oid, ok := Named(elem)
		if !ok || ArrayOf(oid) == 0 {
			return 0, false
		}
		return ArrayOf(oid), true
	}
	if oid, ok := aliases[name]; ok {
		return oid, true
	}
	if t, ok := types().byName[name]; ok {
		return t.OID, true
	}
	return 0, false
}
