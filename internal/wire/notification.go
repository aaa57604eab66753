package wire

import "github.com/nacredb/nacre/engine/value"

// Notification tells a client of one change to what a live query watches.
type Notification struct {
	Live    value.UUID  // the live query
	Session *value.UUID // attached session that owns it; nil is the connection's own
	Action  string      // CREATE, UPDATE, DELETE or KILLED
	Record  value.Value // the record's id
	Value   value.Value // the record, or its patches
}

// AppendNotification writes {result: {action, id, record, result, session}}.
func AppendNotification(dst []byte, f Format, n *Notification) ([]byte, error) {
	session := value.None
	if n.Session != nil {
		session = value.UUIDOf(*n.Session)
	}
	body := value.ObjectOf(value.ObjectOfSorted([]value.Field{
		{Name: "action", Value: value.Str(n.Action)},
		{Name: "id", Value: value.UUIDOf(n.Live)},
		{Name: "record", Value: n.Record},
		{Name: "result", Value: n.Value},
		{Name: "session", Value: session},
	}))
	return f.Append(dst, value.ObjectOf(value.ObjectOfSorted([]value.Field{{Name: "result", Value: body}})))
}
