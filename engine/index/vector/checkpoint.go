package vector

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
)

// When checkpoints are due: after so many changes, and so large a part of the graph.
const (
	checkpointAfter   = 4096
	checkpointAtClose = 1024
)

// checkpointPart is the size in bytes at which a part of a checkpoint is full.
const checkpointPart = 256 << 10

func (x *Index) headKey() []byte { return append(x.part(partCheckpoint), 0) }

func (x *Index) partKey(generation, part uint64) []byte {
	k := append(x.part(partCheckpoint), 1)
	return key.AppendUint(key.AppendUint(k, generation), part)
}

// head is that of a checkpoint.
type head struct{ generation, nodes, entry uint64 }

func (x *Index) head() (h head, ok bool, err error) {
	raw, err := x.Tx.Get(x.headKey())
	if raw == nil || err != nil {
		return h, false, err
	}
	if len(raw) != 24 {
		return h, false, x.corrupt("checkpoint")
	}
	be := binary.BigEndian
	return head{be.Uint64(raw), be.Uint64(raw[8:]), be.Uint64(raw[16:])}, true, nil
}

// saved is a node as a checkpoint has it.
type saved struct {
	number uint64
	links  [][]uint32 // places in the checkpoint
}

// checkpoint reads the newest checkpoint; nil for none.
func (x *Index) checkpoint() ([]saved, error) {
	h, ok, err := x.head()
	if !ok || err != nil {
		return nil, err
	}
	prefix := bytes.Clone(key.AppendUint(append(x.part(partCheckpoint), 1), h.generation))
	cur := x.Tx.Scan(kv.Prefix(prefix), txn.ScanOptions{})
	defer cur.Close()
	var out []saved
	for cur.Next() {
		if out, ok = readNodes(out, cur.Value()); !ok {
			return nil, x.corrupt("checkpoint")
		}
	}
	if cur.Err() == nil && uint64(len(out)) != h.nodes {
		return nil, x.corrupt("checkpoint")
	}
	return out, cur.Err()
}

func appendNode(dst []byte, n *saved) []byte {
	dst = binary.BigEndian.AppendUint64(dst, n.number)
	dst = append(dst, byte(len(n.links)))
	for _, links := range n.links {
		dst = binary.AppendUvarint(dst, uint64(len(links)))
		for _, p := range links {
			dst = binary.AppendUvarint(dst, uint64(p))
		}
	}
	return dst
}

// readNodes appends the nodes of a part.
func readNodes(dst []saved, raw []byte) ([]saved, bool) {
	next := func() (n uint64, ok bool) {
		n, size := binary.Uvarint(raw)
		if size <= 0 {
			return 0, false
		}
		raw = raw[size:]
		return n, true
	}
	for len(raw) > 0 {
		if len(raw) < 9 || raw[8] == 0 || int(raw[8]) > maxLevel+1 {
			return dst, false
		}
		n := saved{number: binary.BigEndian.Uint64(raw), links: make([][]uint32, raw[8])}
		raw = raw[9:]
		for l := range n.links {
			count, ok := next()
			if !ok || count > uint64(len(raw)) {
				return dst, false
			}
			n.links[l] = make([]uint32, count)
			for i := range n.links[l] {
				p, ok := next()
				if !ok || p > 1<<32-1 {
					return dst, false
				}
				n.links[l][i] = uint32(p)
			}
		}
		dst = append(dst, n)
	}
	return dst, true
}

// restore fills an empty graph with the stored vectors that the checkpoint has links for, as of a version; the others
// are left to be linked. s is not shared yet, or locked.
func (s *shared) restore(x *Index, at kv.Version) (left []change, err error) {
	nodes, err := x.checkpoint()
	if err != nil {
		return nil, err
	}
	known := make(map[uint64]int, len(nodes))
	for i := range nodes {
		known[nodes[i].number] = i
	}
	vectors := make([]*change, len(nodes)) // of the checkpoint's nodes
	err = x.eachVector(func(c change) {
		c.version = at
		if i, ok := known[c.number]; ok && vectors[i] == nil {
			vectors[i] = &c
			return
		}
		left = append(left, c)
	})
	if err != nil {
		return nil, err
	}
	for i, c := range vectors {
		if c != nil && torn(&nodes[i], vectors) {
			left = append(left, *c)
			vectors[i] = nil
		}
	}
	s.adopt(nodes, vectors)
	return left, nil
}

// torn reports whether a node has lost so many of its neighbours that it had better be added anew.
func torn(n *saved, vectors []*change) bool {
	lost := 0
	for _, p := range n.links[0] {
		if int(p) >= len(vectors) || vectors[p] == nil {
			lost++
		}
	}
	return lost*2 > len(n.links[0])
}

// adopt makes graph nodes of those of a checkpoint that have a vector.
func (s *shared) adopt(nodes []saved, vectors []*change) {
	g := s.g
	places := make([]uint32, len(nodes))
	for i, c := range vectors {
		if c == nil {
			continue
		}
		places[i] = g.put(node{record: c.record, number: c.number, born: c.version, gone: alive}, c.raw)
		s.places[c.record] = places[i]
	}
	g.queue = nil
	for i, c := range vectors {
		if c == nil || g.nodes[places[i]].state == loose {
			continue
		}
		n := &g.nodes[places[i]]
		n.state, n.links = linked, make([][]uint32, len(nodes[i].links))
		for l, links := range nodes[i].links {
			n.links[l] = make([]uint32, 0, len(links)+1)
			for _, p := range links {
				if int(p) < len(vectors) && vectors[p] != nil && int(p) != i && len(nodes[p].links) > l && len(n.links[l]) < g.capacity(l) &&
					g.nodes[places[p]].state != loose {
					n.links[l] = append(n.links[l], places[p])
				}
			}
		}
		g.live++
	}
	g.findEntry()
}

// eachVector calls f with every stored vector.
func (x *Index) eachVector(f func(change)) error {
	prefix := bytes.Clone(x.part(partVector))
	size := 8 + x.Spec.Dimension*x.Spec.size()
	cur := x.Tx.Scan(kv.Prefix(prefix), txn.ScanOptions{})
	defer cur.Close()
	for cur.Next() {
		raw := cur.Value()
		if len(raw) != size {
			return x.corrupt("vector")
		}
		f(change{index: x.place, record: string(cur.Key()[len(prefix):]), number: binary.BigEndian.Uint64(raw), raw: bytes.Clone(raw[8:])})
	}
	return cur.Err()
}

// checkpointIfDue writes a checkpoint if enough has changed since the last. Only one goroutine may work on the index.
func (s *shared) checkpointIfDue(store kv.Store, after int) error {
	s.mu.RLock()
	since, due := s.since, s.loaded && s.since >= after && s.since >= s.g.live/4
	s.mu.RUnlock()
	if !due || store.Stats().Kind == "memory" {
		return nil
	}
	if err := s.writeCheckpoint(store); err != nil {
		return err
	}
	s.mu.Lock()
	s.since -= since
	s.mu.Unlock()
	return nil
}

// saved lists the nodes that have not gone, with links among themselves.
func (g *graph) saved() []saved {
	at := make(map[uint32]uint32, g.live)
	var order []uint32
	for p := range g.nodes {
		if n := &g.nodes[p]; n.state == linked && n.gone == alive {
			at[uint32(p)] = uint32(len(order))
			order = append(order, uint32(p))
		}
	}
	out := make([]saved, len(order))
	for i, p := range order {
		n := &g.nodes[p]
		out[i] = saved{number: n.number, links: make([][]uint32, len(n.links))}
		for l, links := range n.links {
			for _, q := range links {
				if to, ok := at[q]; ok {
					out[i].links[l] = append(out[i].links[l], to)
				}
			}
		}
	}
	return out
}

// writeCheckpoint writes the parts in transactions of their own; the head, which makes them count, comes last.
func (s *shared) writeCheckpoint(store kv.Store) error {
	s.mu.RLock()
	nodes := s.g.saved()
	s.mu.RUnlock()
	x := *s.x
	var old head
	err := x.write(store, func() (err error) {
		old, _, err = x.head()
		return err
	})
	if err != nil {
		return err
	}
	generation, part := old.generation+1, uint64(0)
	var buf []byte
	for i := range nodes {
		buf = appendNode(buf, &nodes[i])
		if len(buf) < checkpointPart && i < len(nodes)-1 {
			continue
		}
		full := bytes.Clone(buf)
		buf = buf[:0]
		if err := x.write(store, func() error { return x.Tx.Set(x.partKey(generation, part), full) }); err != nil {
			return err
		}
		part++
	}
	return x.write(store, func() error {
		be := binary.BigEndian
		raw := be.AppendUint64(be.AppendUint64(be.AppendUint64(nil, generation), uint64(len(nodes))), 0)
		if err := x.Tx.Set(x.headKey(), raw); err != nil {
			return err
		}
		from, to := bytes.Clone(x.partKey(0, 0)), bytes.Clone(x.partKey(generation, 0))
		return x.Tx.DeleteRange(kv.Range{Start: from, End: to})
	})
}

// write runs f in a transaction of its own.
func (x *Index) write(store kv.Store, f func() error) error {
	tx, err := txn.Begin(context.Background(), store, txn.Options{Write: true})
	if err != nil {
		return err
	}
	defer tx.Cancel()
	x.Tx = tx
	if err := f(); err != nil {
		return err
	}
	if err := tx.Commit(context.Background()); err != nil {
		return fmt.Errorf("write a checkpoint: %w", err)
	}
	return nil
}
