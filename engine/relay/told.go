package relay

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/nacredb/nacre/engine/live"
	"github.com/nacredb/nacre/engine/value"
)

// What a commit tells:
//
//	version1 mark8 item…
//
//	item    0x01 table12 seq name id before after    a change; seq is a uvarint
//	        0x02 table12                             the live queries on a table, or where ids are 0 on all inside, end
//	table   ns4 db4 tb4
//	text    length (uvarint) bytes: name, and the CBOR of id, before and after
//
// mark tells the commits apart that make live queries; it is 0 for others.
const (
	toldVersion = 1
	itemChange  = 1
	itemEnd     = 2
)

// errMalformed is something told that this version does not understand.
var errMalformed = errors.New("what another server tells is not understood")

// Encode gives what a commit tells.
func Encode(mark uint64, changes []live.Change, ends []live.Table) ([]byte, error) {
	b := binary.BigEndian.AppendUint64([]byte{toldVersion}, mark)
	var part []byte
	for i := range changes {
		c := &changes[i]
		b = appendTable(append(b, itemChange), c.Table)
		b = appendText(binary.AppendUvarint(b, uint64(c.Seq)), []byte(c.Name))
		for _, v := range []value.Value{c.ID, c.Before, c.After} {
			var err error
			if part, err = value.AppendCBOR(part[:0], v); err != nil {
				return nil, fmt.Errorf("tell live queries of %s: %w", c.Name, err)
			}
			b = appendText(b, part)
		}
	}
	for _, t := range ends {
		b = appendTable(append(b, itemEnd), t)
	}
	return b, nil
}

func appendTable(b []byte, t live.Table) []byte {
	for _, id := range []uint32{t.NS, t.DB, t.TB} {
		b = binary.BigEndian.AppendUint32(b, id)
	}
	return b
}

func appendText(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// told is what one commit has told.
type told struct {
	mark  uint64
	items []item // changes, which are decoded when somebody is interested
	ends  []live.Table
}

// item is a change with its values as they were encoded.
type item struct {
	table live.Table
	seq   int
	texts [4][]byte
}

func decode(b []byte) (*told, error) {
	if len(b) < 9 || b[0] != toldVersion {
		return nil, errMalformed
	}
	t := &told{mark: binary.BigEndian.Uint64(b[1:])}
	for b = b[9:]; len(b) > 0; {
		if len(b) < 13 {
			return nil, errMalformed
		}
		kind, be := b[0], binary.BigEndian
		table := live.Table{NS: be.Uint32(b[1:]), DB: be.Uint32(b[5:]), TB: be.Uint32(b[9:])}
		switch b = b[13:]; kind {
		case itemEnd:
			t.ends = append(t.ends, table)
		case itemChange:
			one := item{table: table}
			seq, n := binary.Uvarint(b)
			if n <= 0 {
				return nil, errMalformed
			}
			one.seq, b = int(seq), b[n:]
			for i := range one.texts {
				size, n := binary.Uvarint(b)
				if n <= 0 || size > uint64(len(b)-n) {
					return nil, errMalformed
				}
				one.texts[i], b = b[n:n+int(size)], b[n+int(size):]
			}
			t.items = append(t.items, one)
		default:
			return nil, errMalformed
		}
	}
	return t, nil
}

// changes decodes the changes of the tables that are wanted.
func (t *told) changes(wanted func(live.Table) bool) ([]live.Change, error) {
	var out []live.Change
	for i := range t.items {
		one := &t.items[i]
		if !wanted(one.table) {
			continue
		}
		c := live.Change{Table: one.table, Name: string(one.texts[0]), Seq: one.seq}
		for j, to := range []*value.Value{&c.ID, &c.Before, &c.After} {
			v, err := value.DecodeCBORValue(append([]byte(nil), one.texts[j+1]...), value.DecodeLimits{})
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errMalformed, err)
			}
			*to = v
		}
		if c.ID.Kind() != value.KindRecord {
			return nil, errMalformed
		}
		c.Bytes = value.Weight(c.Before) + value.Weight(c.After)
		out = append(out, c)
	}
	return out, nil
}
