// Package blake3 computes BLAKE3 digests of 256 bits, unkeyed (O'Connor, Aumasson, Neves, Wilcox-O'Hearn: BLAKE3, one
// function, fast everywhere, 2020). It is plain Go without probes of the processor: in a virtual machine these cost
// every start of the program some milliseconds. A core hashes some hundred megabytes a second.
package blake3

import (
	"encoding/binary"
	"hash"
	"math/bits"
)

const (
	// Size is the length of a digest, in bytes.
	Size = 32

	blockLen = 64
	chunkLen = 1024

	// A tree of chunks of 1 KiB over 2^64-1 bytes has at most 54 levels.
	maxDepth = 54
)

// Flags of a compression, from table 3 of the paper.
const (
	flagChunkStart = 1 << iota
	flagChunkEnd
	flagParent
	flagRoot
)

// chain is a chaining value: eight words between compressions.
type chain [8]uint32

var iv = chain{0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19}

// Sum256 is the digest of data.
func Sum256(data []byte) [Size]byte {
	d := digest{cv: iv}
	d.Write(data)
	return d.sum()
}

// New gives a hash of what is written to it. Its Sum leaves the state as it is: more can be written afterwards.
func New() hash.Hash { return &digest{cv: iv} }

// digest is the state of the chunk that is being written, and the roots of the whole subtrees left of it.
type digest struct {
	cv     chain           // of the chunk so far
	block  [blockLen]byte  // the last block of the chunk: compressed when it is known whether another one follows
	filled int             // bytes in block
	blocks int             // blocks of the chunk that are in cv
	chunk  uint64          // number of the chunk
	stack  [maxDepth]chain // roots of subtrees, large ones first
	depth  int             // how many of them
}

func (d *digest) Size() int      { return Size }
func (d *digest) BlockSize() int { return blockLen }
func (d *digest) Reset()         { *d = digest{cv: iv} }

// Write takes p in; it never fails.
func (d *digest) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if d.filled == blockLen {
			d.flush()
		}
		k := copy(d.block[d.filled:], p)
		d.filled += k
		p = p[k:]
	}
	return n, nil
}

// flush compresses a full block that another byte follows.
func (d *digest) flush() {
	if d.blocks < chunkLen/blockLen-1 {
		d.cv = d.compressed(0)
		d.blocks++
	} else {
		d.push(d.compressed(flagChunkEnd))
		d.chunk++
		d.cv, d.blocks = iv, 0
	}
	d.filled = 0
}

// compressed is the chaining value of the chunk with the block that waits.
func (d *digest) compressed(flags uint32) chain {
	if d.blocks == 0 {
		flags |= flagChunkStart
	}
	m := words(&d.block)
	return compress(&d.cv, &m, d.chunk, uint32(d.filled), flags)
}

// push puts the root of a whole chunk on the stack, merged with the subtrees of its size left of it: as many as the
// number of chunks has zeros at its end.
func (d *digest) push(cv chain) {
	for range bits.TrailingZeros64(d.chunk + 1) {
		d.depth--
		cv = parent(&d.stack[d.depth], &cv, 0)
	}
	d.stack[d.depth] = cv
	d.depth++
}

// Sum appends the digest of what has been written to b.
func (d *digest) Sum(b []byte) []byte {
	s := d.sum()
	return append(b, s[:]...)
}

func (d *digest) sum() (out [Size]byte) {
	e := *d
	clear(e.block[e.filled:])
	flags := uint32(flagChunkEnd)
	if e.depth == 0 {
		flags |= flagRoot
	}
	cv := e.compressed(flags)
	for i := e.depth - 1; i >= 0; i-- {
		flags = 0
		if i == 0 {
			flags = flagRoot
		}
		cv = parent(&e.stack[i], &cv, flags)
	}
	for i, w := range cv {
		binary.LittleEndian.PutUint32(out[4*i:], w)
	}
	return out
}

func parent(left, right *chain, flags uint32) chain {
	var m [16]uint32
	copy(m[:8], left[:])
	copy(m[8:], right[:])
	return compress(&iv, &m, 0, blockLen, flags|flagParent)
}

func words(b *[blockLen]byte) (m [16]uint32) {
	for i := range m {
		m[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return m
}

// order is where each round finds its words of the message: the permutation of table 2 of the paper, applied again for
// each.
var order = [7][16]uint8{
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8},
	{3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1},
	{10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6},
	{12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4},
	{9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7},
	{11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13},
}

// compress is the compression function, cut to the half of its output that a chaining value or a digest of 256 bits
// needs.
func compress(cv *chain, m *[16]uint32, counter uint64, length, flags uint32) chain {
	v0, v1, v2, v3, v4, v5, v6, v7 := cv[0], cv[1], cv[2], cv[3], cv[4], cv[5], cv[6], cv[7]
	v8, v9, va, vb := iv[0], iv[1], iv[2], iv[3]
	vc, vd, ve, vf := uint32(counter), uint32(counter>>32), length, flags
	for r := range order {
		o := &order[r]
		v0, v4, v8, vc = mix(v0, v4, v8, vc, m[o[0]&15], m[o[1]&15])
		v1, v5, v9, vd = mix(v1, v5, v9, vd, m[o[2]&15], m[o[3]&15])
		v2, v6, va, ve = mix(v2, v6, va, ve, m[o[4]&15], m[o[5]&15])
		v3, v7, vb, vf = mix(v3, v7, vb, vf, m[o[6]&15], m[o[7]&15])
		v0, v5, va, vf = mix(v0, v5, va, vf, m[o[8]&15], m[o[9]&15])
		v1, v6, vb, vc = mix(v1, v6, vb, vc, m[o[10]&15], m[o[11]&15])
		v2, v7, v8, vd = mix(v2, v7, v8, vd, m[o[12]&15], m[o[13]&15])
		v3, v4, v9, ve = mix(v3, v4, v9, ve, m[o[14]&15], m[o[15]&15])
	}
	return chain{v0 ^ v8, v1 ^ v9, v2 ^ va, v3 ^ vb, v4 ^ vc, v5 ^ vd, v6 ^ ve, v7 ^ vf}
}

// mix is the quarter round G.
func mix(a, b, c, d, x, y uint32) (uint32, uint32, uint32, uint32) {
	a += b + x
	d = bits.RotateLeft32(d^a, -16)
	c += d
	b = bits.RotateLeft32(b^c, -12)
	a += b + y
	d = bits.RotateLeft32(d^a, -8)
	c += d
	b = bits.RotateLeft32(b^c, -7)
	return a, b, c, d
}
