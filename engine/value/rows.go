package value

// Rows makes objects in the form of stored records for a list that holds many of them, such as the rows that a text
// inserts: one is a piece of a block of bytes, in which the garbage collector finds no pointers to follow, and storing
// it as it is copies it. The zero Rows is ready. It belongs to one goroutine.
type Rows struct {
	text    []byte       // of the object at hand
	at      []uint32     // where its fields start
	block   []byte       // where they go; its length is what is taken
	objects []lazyObject // to be used, all made at once
	made    int          // how many were, last
}

// The blocks of Rows: one that is kept keeps all that is in it.
const (
	firstBlock = 1 << 10
	mostBlock  = 64 << 10
)

// Make makes an object of fields, those at the places in order: ascending by their names, each name once. It copies
// them. Errors: what EncodeRecord refuses.
func (r *Rows) Make(fields []Field, order []int) (*Object, error) {
	special := false
	e := encoder{depth: maxEncodeDepth, special: &special}
	dst, err := putHead(beginRecord(r.text[:0], len(order)), majorMap, uint64(len(order))), error(nil)
	r.at = r.at[:0]
	for _, i := range order {
		r.at = append(r.at, uint32(len(dst)))
		if dst, err = e.value(putText(dst, fields[i].Name), fields[i].Value); err != nil {
			return nil, err
		}
	}
	if r.text, err = endRecord(dst, 0, r.at, special); err != nil {
		return nil, err
	}
	b := r.keep(r.text)
	head, n, width, err := splitRecord(b)
	if err != nil {
		return nil, err
	}
	if len(r.objects) == 0 {
		r.made = min(2*r.made+1, mostObjects)
		r.objects = make([]lazyObject, r.made)
	}
	l := &r.objects[0]
	r.objects = r.objects[1:]
	l.rec, l.head, l.base, l.n, l.width, l.special = b, head, n, n, width, b[0]&recordSpecial != 0
	return l.object(), nil
}

// keep copies b into a block.
func (r *Rows) keep(b []byte) []byte {
	if len(b) > mostBlock/4 { // the block stays for others
		return append(make([]byte, 0, len(b)), b...)
	}
	if len(b) > cap(r.block)-len(r.block) {
		r.block = make([]byte, 0, min(max(2*cap(r.block), 2*len(b), firstBlock), mostBlock))
	}
	at := len(r.block)
	r.block = append(r.block, b...)
	return r.block[at:len(r.block):len(r.block)]
}
