package value

// Slots finds the same fields in many stored records. Records of a table mostly have the same fields, so each is looked
// for where the record before had it. A Slots belongs to one goroutine.
type Slots struct {
	slots []slot
	rec   *encoded // of the object that is open
}

// slot is one field.
type slot struct {
	name string
	key  string // the name as it is stored before the value, "" where that takes a longer head
	at   int    // the entry that had the field last
}

// NewSlots is for the fields of these names, which Item counts from 0.
func NewSlots(names []string) *Slots {
	s := &Slots{slots: make([]slot, len(names))}
	for i, name := range names {
		s.slots[i].name = name
		if len(name) < 24 {
			s.slots[i].key = string(rune(majorText|len(name))) + name
		}
	}
	return s
}

// Open turns to an object. It reports false where that is not a stored record as it was read: it has been changed, or
// was never stored. Item must not be called then.
func (s *Slots) Open(o *Object) bool {
	if _, ok := o.Stored(); !ok {
		return false
	}
	s.rec = o.enc
	return true
}

// Close turns to no object, so that a Slots that is kept does not keep the last one.
func (s *Slots) Close() { s.rec = nil }

// Item is field i as it is stored: one item of canonical CBOR with the tags of the protocol, as in StoredMap; nil where
// there is no such field. The bytes are read-only, and good as long as the object. Bytes that no store wrote make it
// panic with *DecodeError.
func (s *Slots) Item(i int) []byte {
	e, f := s.rec, &s.slots[i]
	if e.width == 1 && f.at < int(e.base) { // as most records have it, without a call
		rec, start, end := e.rec, int(e.head)+int(e.rec[2+f.at]), len(e.rec)
		if f.at+1 < int(e.base) {
			end = int(e.head) + int(rec[3+f.at])
		}
		v := start + len(f.key)
		if v > start && v < end && end <= len(rec) && string(rec[start:v]) == f.key {
			return rec[v:end:end]
		}
	}
	at, start := e.slot(f.name)
	if start == 0 {
		return nil
	}
	f.at = at
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
