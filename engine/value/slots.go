package value

// Slots finds the same fields in many stored records. Records of a table mostly have the same fields, so each is looked
// for where the record before had it. A Slots belongs to one goroutine.
type Slots struct {
	names []string
	at    []int // the entry that had the field last
	rec   encoded
}

// NewSlots is for the fields of these names, which Item counts from 0.
func NewSlots(names []string) *Slots {
	return &Slots{names: names, at: make([]int, len(names))}
}

// Open turns to an object. It reports false where that is not a stored record as it was read: it has been changed, or
// was never stored. Item must not be called then.
func (s *Slots) Open(o *Object) bool {
	if _, ok := o.Stored(); !ok {
		return false
	}
	e := o.enc
	s.rec = encoded{rec: e.rec, head: e.head, base: e.base, width: e.width, special: e.special}
	return true
}

// Item is field i as it is stored: one item of canonical CBOR with the tags of the protocol, as in StoredMap; nil where
// there is no such field. The bytes are read-only, and good as long as the object. Bytes that no store wrote make it
// panic with *DecodeError.
func (s *Slots) Item(i int) []byte {
	e := &s.rec
	at := s.at[i]
	if start := e.named(at, s.names[i]); start > 0 {
		return e.item(at, start)
	}
	at, start := e.slot(s.names[i])
	if start == 0 {
		return nil
	}
	s.at[i] = at
	return e.item(at, start)
}

// item is the value of the i-th entry, which starts at start.
func (e *encoded) item(i, start int) []byte {
	end := e.place(i + 1)
	if start >= end || end > len(e.rec) {
		panic(recordError(start, "field is not where the head says"))
	}
	return e.rec[start:end:end]
}
