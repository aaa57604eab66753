package fn

import (
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// sessionFuncs are the families that ask about the session and its database: session, schema, sequence, record, meta.
func sessionFuncs() []entry {
	field := func(name, key, doc string) entry {
		return entry{sig: "steady session::" + name + "(...ignored: any) -> any", impl: sessionField(key), doc: doc}
	}
	return []entry{
		field("ac", "ac", "The access method of the session, or NONE."),
		field("db", "db", "The database in use, or NONE."),
		field("id", "id", "The id of the session, or NONE."),
		field("ip", "ip", "The address of the client, or NONE."),
		field("ns", "ns", "The namespace in use, or NONE."),
		field("origin", "or", "The origin of the HTTP request, or NONE."),
		field("rd", "rd", "The record of the signed-in user, or NONE."),
		field("token", "tk", "The claims of the token, or NONE."),
		{sig: "volatile schema::table::exists(name: string) -> bool", impl: schemaTableExists,
			doc: "Whether a table is defined."},
		{sig: "volatile sequence::nextval(...name: any) -> int", impl: sequenceNextval, doc: "The next number of a sequence."},
	}
}

// sessionField is a field of $session.
func sessionField(key string) Impl {
	return func(c Call, _ []value.Value) (value.Value, error) {
		s := c.Host.Param("session")
		if s.Kind() != value.KindObject {
			return value.None, nil
		}
		v, _ := s.Object().Get(key)
		return v, nil
	}
}

func schemaTableExists(c Call, args []value.Value) (value.Value, error) {
	h, err := need[DatabaseHost](c)
	if err != nil {
		return value.None, err
	}
	ok, err := h.TableExists(args[0].Str())
	return value.Bool(ok), err
}

func sequenceNextval(c Call, args []value.Value) (value.Value, error) {
	if len(args) == 0 || args[0].Kind() != value.KindString {
		return value.None, errs.Internal("Incorrect arguments for function sequence::nextval()(). Expect a sequence name")
	}
	h, err := need[SequenceHost](c)
	if err != nil {
		return value.None, err
	}
	n, err := h.NextVal(args[0].Str())
	return value.Int(n), err
}

func recordFuncs() []entry {
	out := methodsOn(kindSet(value.KindRecord), []entry{
		{sig: "volatile record::exists(record: record) -> bool", impl: recordExists, doc: "Whether the record is stored."},
		{sig: "record::id(record: record) -> any", impl: recordKey, doc: "The key of a record id."},
		{sig: "volatile record::is_edge(record: any) -> bool", impl: recordIsEdge,
			doc: "Whether the record, or the one named by a text, is a relation."},
		{sig: "record::tb(record: record) -> string", impl: recordTable, doc: "The table of a record id."},
		{sig: "record::table(record: record) -> string", impl: recordTable, doc: "The table of a record id."},
	})
	return append(out,
		entry{sig: "meta::id(record: record) -> any", impl: recordKey, doc: "The key of a record id; use record::id."},
		entry{sig: "meta::tb(record: record) -> string", impl: recordTable,
			doc: "The table of a record id; use record::tb."},
	)
}

func recordKey(_ Call, args []value.Value) (value.Value, error) { return args[0].Record().Key, nil }

func recordTable(_ Call, args []value.Value) (value.Value, error) {
	return value.Str(args[0].Record().Table), nil
}

func recordExists(c Call, args []value.Value) (value.Value, error) {
	h, err := need[DatabaseHost](c)
	if err != nil {
		return value.None, err
	}
	ok, err := h.RecordExists(args[0].Record())
	return value.Bool(ok), err
}

func recordIsEdge(c Call, args []value.Value) (value.Value, error) {
	id := args[0]
	if id.Kind() == value.KindString {
		if p, ok := c.Host.(value.RecordParser); ok {
			if v, err := p.ParseRecord(id.Str()); err == nil {
				id = v
			}
		}
	}
	if id.Kind() != value.KindRecord {
		return value.None, c.incorrect("Expected a record ID")
	}
	h, err := need[DatabaseHost](c)
	if err != nil {
		return value.None, err
	}
	ok, err := h.IsEdge(id.Record())
	return value.Bool(ok), err
}
