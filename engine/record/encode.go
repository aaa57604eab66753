package record

import (
	"bytes"
	"fmt"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// mostStored is the most that a record may weigh.
const mostStored = 1 << 30

// Storable refuses a value that no record can hold.
func Storable(v value.Value) error {
	_, err := (&Gate{}).encode(value.ObjectOf(value.NewObject(value.Field{Name: "v", Value: v})))
	return err
}

// firstRaw is how many bytes the buffer of a gate has at first: most records have no more.
const firstRaw = 128

// encode is the stored form of a record, in the gate's buffer.
func (g *Gate) encode(doc value.Value) ([]byte, error) {
	if err := value.CheckWeight(doc, mostStored); err != nil {
		return nil, err
	}
	if g.raw == nil {
		g.raw = make([]byte, 0, firstRaw)
	}
	raw, err := value.EncodeRecord(g.raw[:0], doc.Object())
	if err != nil {
		if errs.As(err).Kind == errs.KindSerialization {
			err = errs.Internal("A user generated conversion error occured: Closures cannot be stored on disk")
		}
		return nil, err
	}
	g.raw = raw
	return raw, nil
}

// The blocks that records are kept in: one record that is in use keeps its block.
const (
	firstBlock = 1 << 10
	mostBlock  = 32 << 10
)

// keep copies what encode gave, for the transaction. Records of one that writes many share blocks.
func (g *Gate) keep(raw []byte) []byte {
	if g.writes <= 1 || len(raw) > mostBlock/4 {
		return append(make([]byte, 0, len(raw)), raw...)
	}
	if len(raw) > cap(g.block)-len(g.block) {
		g.block = make([]byte, 0, min(max(2*cap(g.block), 2*len(raw), firstBlock), mostBlock))
	}
	at := len(g.block)
	g.block = append(g.block, raw...)
	return g.block[at:len(g.block):len(g.block)]
}

// unchanged reports whether raw is what is stored as before already.
func (g *Gate) unchanged(before value.Value, raw []byte) (bool, error) {
	old, err := value.EncodeRecord(g.old[:0], before.Object())
	if err != nil {
		return false, errs.As(err)
	}
	g.old = old
	return bytes.Equal(old, raw), nil
}

// decode opens the stored form of a record. It stays valid as long as the transaction.
func decode(raw []byte) (value.Value, error) {
	o, err := value.RecordObject(raw)
	if err != nil {
		return value.None, fmt.Errorf("read a record: %w", err)
	}
	return value.ObjectOf(o), nil
}
