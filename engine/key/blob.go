package key

import "encoding/binary"

// Blob is the key of a part of a file that a database keeps, under an id of its own.
func Blob(dst []byte, ns, db uint32, id [16]byte, part uint32) []byte {
	return binary.BigEndian.AppendUint32(BlobPrefix(dst, ns, db, id), part)
}

// BlobPrefix is the prefix of the keys of all parts of a file.
func BlobPrefix(dst []byte, ns, db uint32, id [16]byte) []byte {
	return append(BlobSpace(dst, ns, db), id[:]...)
}

// BlobSpace is the prefix of the keys of all files of a database.
func BlobSpace(dst []byte, ns, db uint32) []byte { return appendDB(dst, ClassBlob, ns, db) }

// DecodeBlob is the id and the part in a key made by Blob.
func DecodeBlob(k []byte) (id [16]byte, part uint32, err error) {
	const space = 1 + 4 + 4
	if len(k) != space+16+4 || Class(k[0]) != ClassBlob {
		return id, 0, ErrMalformed
	}
	copy(id[:], k[space:])
	return id, binary.BigEndian.Uint32(k[space+16:]), nil
}
