package exec

import "github.com/nacredb/nacre/engine/value"

// NewKey generates a record key: "rand" (20 letters and digits), "ulid", "uuid" (version 7), or "uuid4".
func (ex *Executor) NewKey(kind string) value.Value {
	switch kind {
	case "ulid":
		return value.Str(value.ULID(ex.now()))
	case "uuid":
		return value.UUIDOf(value.UUIDv7(ex.now()))
	case "uuid4":
		return value.UUIDOf(value.UUIDv4())
	}
	return value.Str(value.RandomKey())
}

// now is the time of Clock.
func (ex *Executor) now() value.Datetime {
	t := ex.Clock()
	return value.Datetime{Secs: t.Unix(), Nanos: uint32(t.Nanosecond())}
}
