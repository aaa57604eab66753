package exec

import "github.com/nacredb/nacre/engine/value"

// NewKey generates a record key: "rand" (20 letters and digits), "ulid", "uuid" (version 7), or "uuid4".
func (ex *Executor) NewKey(kind string) value.Value {
	now := ex.Clock()
	at := value.Datetime{Secs: now.Unix(), Nanos: uint32(now.Nanosecond())}
	switch kind {
	case "ulid":
		return value.Str(value.ULID(at))
	case "uuid":
		return value.UUIDOf(value.UUIDv7(at))
	case "uuid4":
		return value.UUIDOf(value.UUIDv4())
	}
	return value.Str(value.RandomKey())
}
