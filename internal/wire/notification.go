package wire

import "github.com/nacredb/nacre/engine/value"

// Notification tells a client of one change to what a live query watches.
type Notification struct {
	Live    value.UUID  // the live query
	Session *value.UUID // attached session that owns it; nil is the connection's own
	Action  string      // CREATE, UPDATE, DELETE or KILLED
	Body    []byte      // from AppendNotificationBody, in the same format
}

// AppendNotificationBody writes the part of a notification that is the same for all who are told the same: the record's
// id, and the record or its patches.
func AppendNotificationBody(dst []byte, f Format, record, result value.Value) ([]byte, error) {
	if f == JSON {
		dst = value.AppendJSON(append(dst, `"record":`...), record)
		return value.AppendJSON(append(dst, `,"result":`...), result), nil
	}
	dst, err := value.AppendCBOR(appendCBORText(dst, "record"), record)
	if err != nil {
		return dst, err
	}
	return value.AppendCBOR(append(dst, cborKeyResult...), result)
}

// AppendNotification writes {result: {action, id, record, result, session}}.
func AppendNotification(dst []byte, f Format, n *Notification) []byte {
	if f == JSON {
		dst = append(append(dst, `{"result":{"action":"`...), n.Action...)
		dst = value.AppendJSON(append(dst, `","id":`...), value.UUIDOf(n.Live))
		dst = append(append(append(dst, ','), n.Body...), `,"session":`...)
		if n.Session == nil {
			return append(dst, "null}}"...)
		}
		return append(value.AppendJSON(dst, value.UUIDOf(*n.Session)), "}}"...)
	}
	dst = append(append(append(dst, cborMap|1), cborKeyResult...), cborMap|5)
	dst = appendCBORText(appendCBORText(dst, "action"), n.Action)
	dst = appendCBORUUID(append(dst, cborKeyID...), n.Live)
	dst = appendCBORText(append(dst, n.Body...), "session")
	if n.Session == nil {
		return append(dst, cborNone...)
	}
	return appendCBORUUID(dst, *n.Session)
}

// appendCBORUUID writes tag 37 with the 16 bytes.
func appendCBORUUID(dst []byte, u value.UUID) []byte {
	return append(append(dst, 0xd8, 37, 0x50), u[:]...)
}
