package value

import "bytes"

// storedNone is how NONE is stored.
var storedNone = []byte{majorTag | tagNone, cborNull}

// StoredWithoutNone reports whether the object is in stored bytes that hold no NONE, which is seen without decoding
// them. It may be false for others that hold none.
func (o *Object) StoredWithoutNone() bool {
	b := o.StoredMap()
	return b != nil && !bytes.Contains(b, storedNone)
}

// StoredMap is the object in its stored form, from its own head on: canonical CBOR with the tags of the protocol, and
// tag 60 for a regex. It is for encoders of other forms, which read the bytes themselves. nil where the object is not
// in stored bytes, or was changed since. The bytes are read-only.
func (o *Object) StoredMap() []byte {
	if o.enc == nil || len(o.enc.edits) > 0 {
		return nil
	}
	return o.enc.rec[o.enc.head:]
}

// StoredText is the text that b begins with, whose bytes it shares; ok is false for other items. It panics where
// StoredValue does.
func StoredText(b []byte) (text string, ok bool) {
	switch {
	case len(b) == 0 || b[0]&0xe0 != majorText:
		return "", false
	case b[0] < majorText+24 && int(b[0]-majorText) < len(b): // as most are, without a decoder
		return aliasText(b[1 : 1+b[0]-majorText]), true
	case b[0] == majorText+24 && len(b) > 1 && int(b[1]) <= len(b)-2:
		return aliasText(b[2 : 2+int(b[1])]), true
	}
	v, _ := StoredValue(b)
	return v.Str(), true
}

// StoredValue makes a value of the item that b begins with, a part of a StoredMap, and gives its size. The value may
// share the bytes. Bytes that are no such part make it panic with *DecodeError.
func StoredValue(b []byte) (v Value, size int) {
	d := decoder{b: b, depth: storedDepth, alias: true, stored: true, special: true}
	v, err := d.value()
	if err != nil {
		panic(err)
	}
	return v, d.pos
}
