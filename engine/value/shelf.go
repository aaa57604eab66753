package value

import "unsafe"

// Shelf makes objects of stored records, a batch at a time, in room that it uses again for the next batch. It belongs
// to one goroutine.
type Shelf struct {
	room []lazyObject
	rows []Value
}

// Begin takes back the objects made so far, which must not be used any more, and makes room for n others.
func (s *Shelf) Begin(n int) {
	clear(s.room[:len(s.rows)])
	if s.rows = s.rows[:0]; n > len(s.room) {
		s.room, s.rows = make([]lazyObject, n), make([]Value, 0, n)
	}
}

// Add makes an object of a stored record, as RecordObject does. There must be room.
func (s *Shelf) Add(b []byte) error {
	head, n, width, err := splitRecord(b)
	if err != nil {
		return err
	}
	l := &s.room[len(s.rows)]
	l.rec, l.head, l.base, l.n, l.width, l.special = b, head, n, n, width, b[0]&recordSpecial != 0
	s.rows = s.rows[:len(s.rows)+1]
	s.rows[len(s.rows)-1].becomeStored(l.object())
	return nil
}

// becomeStored makes v what ObjectOf gives for a stored record. It does so in place: copies of values would cost more
// than all else that Add does.
func (v *Value) becomeStored(o *Object) {
	v.tag, v.n, v.p = tagWith(KindObject, 1, carried(overhead+uint64(len(o.enc.rec)))), 0, unsafe.Pointer(o)
}

// Rows is the objects since Begin. They, and what was read from them by their fields' names, are good until the next
// Begin.
func (s *Shelf) Rows() []Value { return s.rows }
