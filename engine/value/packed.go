package value

// Packed is a list in the wire form (CBOR) that is made row by row: nothing of a row is kept but its bytes, which is
// much less than what a list of values takes. The zero Packed is an empty list. It belongs to one goroutine.
type Packed struct {
	blocks [][]byte
	rows   int
	size   int
	err    error
}

// The first block does for a record or two, and the next ones double to a usual size: larger memory costs more to get
// than it saves in a short answer. In a long one each block has room for half of the rows before it, up to the largest.
const (
	firstPack   = 512
	usualPack   = 2 << 10
	fewPacks    = 8 * usualPack
	largestPack = 64 << 10
)

// nextPack is the size of the next block behind size bytes.
func nextPack(size int) int {
	if size < fewPacks {
		return min(firstPack<<min(size/firstPack, 8), usualPack)
	}
	return min(size/2, largestPack)
}

// Append adds a row. It may be called with anything: a row without a wire form shows in AppendTo.
func (p *Packed) Append(v Value) {
	p.add(func(dst []byte) ([]byte, error) { return AppendCBOR(dst, v) })
}

// AppendRecord adds a stored record, as RecordObject of it would be.
func (p *Packed) AppendRecord(stored []byte) {
	p.add(func(dst []byte) ([]byte, error) {
		m, err := RecordMap(stored)
		return append(dst, m...), err
	})
}

func (p *Packed) add(row func([]byte) ([]byte, error)) {
	if p.err != nil {
		return
	}
	last := len(p.blocks) - 1
	if last < 0 || cap(p.blocks[last])-len(p.blocks[last]) < p.expected() {
		p.blocks = append(p.blocks, make([]byte, 0, nextPack(p.size)))
		last++
	}
	before := len(p.blocks[last])
	dst, err := row(p.blocks[last])
	if err != nil {
		p.err, p.blocks = err, nil
		return
	}
	p.blocks[last] = dst
	p.rows++
	p.size += len(dst) - before
}

// expected is how many bytes the next row is taken to have, by those before: a block with less room is full.
func (p *Packed) expected() int {
	if p.rows == 0 {
		return 1
	}
	return p.size / p.rows
}

// Len is the number of rows.
func (p *Packed) Len() int { return p.rows }

// Size is the number of bytes that AppendTo appends, within a few.
func (p *Packed) Size() int { return p.size }

// AppendTo appends the list. It fails where a row has no wire form; dst is then to be thrown away.
func (p *Packed) AppendTo(dst []byte) ([]byte, error) {
	if p.err != nil {
		return dst, p.err
	}
	dst = putHead(dst, majorArray, uint64(p.rows))
	for _, b := range p.blocks {
		dst = append(dst, b...)
	}
	return dst, nil
}
