package vector

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"unsafe"

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

// restore fills an empty graph with the stored vectors, as of a version. Those that the checkpoint has links for are
// linked, the others queued. s is not shared yet, or locked.
func (s *shared) restore(x *Index, at kv.Version) error {
	nodes, err := x.checkpoint()
	if err != nil {
		return err
	}
	known := make(map[uint64]int32, len(nodes))
	for i := range nodes {
		known[nodes[i].number] = int32(i)
	}
	places := make([]int32, len(nodes)) // of the checkpoint's nodes; -1: it has no vector
	for i := range places {
		places[i] = -1
	}
	err = x.eachVector(func(record string, number uint64, raw []byte) {
		place := s.g.put(node{record: record, number: number, born: at, gone: alive}, raw)
		s.places[s.g.nodes[place].record] = place
		if i, ok := known[number]; ok && places[i] < 0 {
			places[i] = int32(place)
		}
	})
	if err != nil {
		return err
	}
	s.adopt(nodes, places)
	s.g.requeue()
	return nil
}

// torn reports whether a node has lost so many of its neighbours that it had better be added anew.
func torn(n *saved, places []int32) bool {
	lost := 0
	for _, p := range n.links[0] {
		if int(p) >= len(places) || places[p] < 0 {
			lost++
		}
	}
	return lost*2 > len(n.links[0])
}

// adopt links nodes as a checkpoint has them linked.
func (s *shared) adopt(nodes []saved, places []int32) {
	g := s.g
	for i := range nodes {
		if p := places[i]; p >= 0 && g.nodes[p].state == queued && !torn(&nodes[i], places) {
			g.nodes[p].state = linked
			g.live++
		}
	}
	to := func(i uint32) (place uint32, ok bool) {
		if int(i) >= len(places) || places[i] < 0 {
			return 0, false
		}
		place = uint32(places[i])
		return place, g.nodes[place].state == linked
	}
	for i := range nodes {
		p, ok := to(uint32(i))
		if !ok {
			continue
		}
		n := &g.nodes[p]
		g.layers(n, len(nodes[i].links)-1)
		for l, links := range nodes[i].links {
			kept := n.at(l)
			for _, q := range links {
				if place, ok := to(q); ok && place != p && len(nodes[q].links) > l && len(kept) < g.capacity(l) {
					kept = append(kept, place)
				}
			}
			n.set(l, kept)
		}
	}
	g.findEntry()
}

// eachVector calls f with every vector; raw is f's to keep, record only until it returns.
func (x *Index) eachVector(f func(record string, number uint64, raw []byte)) error {
	return x.eachEntry(false, func(record, entry []byte, in *fields, _ []byte) ([]byte, error) {
		raw, err := in.append(make([]byte, 0, x.Spec.width()), record, entry)
		if err == nil {
			f(unsafe.String(unsafe.SliceData(record), len(record)), binary.BigEndian.Uint64(entry), raw)
		}
		return nil, err
	})
}

// checkpointIfDue writes a checkpoint if enough has changed since the last. Only one goroutine may work on the index.
func (s *shared) checkpointIfDue(store kv.Store, after int) error {
	s.mu.RLock()
	since, due := s.since, s.loaded && s.since >= after && s.since >= s.g.live/4
	s.mu.RUnlock()
	if !due || s.dropped.Load() || store.Stats().Kind == "memory" {
		return nil
	}
	if err := s.writeCheckpoint(store); err != nil {
		if errors.Is(err, errGone) {
			return nil
		}
		if !errors.Is(err, errOvertaken) {
			return err
		}
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
		out[i] = saved{number: n.number, links: make([][]uint32, n.top()+1)}
		for l := range out[i].links {
			for _, q := range n.at(l) {
				if to, ok := at[q]; ok {
					out[i].links[l] = append(out[i].links[l], to)
				}
			}
		}
	}
	return out
}

// errGone says that an index was removed meanwhile.
var errGone = errors.New("the index is gone")

// errOvertaken says that another process has written a checkpoint meanwhile.
var errOvertaken = errors.New("another process has written a checkpoint")

// writeCheckpoint writes the parts in transactions of their own; the head, which makes them count, comes last. A head
// is there from the beginning, of no nodes where there was none: every transaction reads it, and that which makes it
// the count of changes, so a removal of the index either comes before, and ends the checkpoint, or removes what it
// wrote.
func (s *shared) writeCheckpoint(store kv.Store) error {
	s.mu.RLock()
	nodes := s.g.saved()
	s.mu.RUnlock()
	x := *s.x
	var old head
	err := x.write(store, func() (err error) {
		old, err = x.firstHead()
		return err
	})
	if err != nil {
		return err
	}
	// Another process may write one of the same index: it has another generation, and the first head ends the other.
	generation, part := old.generation+1, uint64(0)
	if _, shared := store.(kv.Dated); shared {
		generation += uint64(rand.Uint32())
	}
	var buf []byte
	for i := range nodes {
		buf = appendNode(buf, &nodes[i])
		if len(buf) < checkpointPart && i < len(nodes)-1 {
			continue
		}
		full := bytes.Clone(buf)
		buf = buf[:0]
		if err := x.write(store, func() error {
			if err := x.stays(old); err != nil {
				return err
			}
			return x.Tx.Set(x.partKey(generation, part), full)
		}); err != nil {
			return err
		}
		part++
	}
	return x.write(store, func() error {
		if err := x.stays(old); err != nil {
			return err
		}
		if err := x.setHead(head{generation: generation, nodes: uint64(len(nodes))}); err != nil {
			return err
		}
		from, to := bytes.Clone(x.partKey(0, 0)), bytes.Clone(x.partKey(generation, 0))
		return x.Tx.DeleteRange(kv.Range{Start: from, End: to})
	})
}

// firstHead reads the head, or makes one of no nodes.
func (x *Index) firstHead() (head, error) {
	h, ok, err := x.head()
	if ok || err != nil {
		return h, err
	}
	counted, err := x.Tx.Get(x.part(partChanges)) // it is there as long as the index has or had vectors
	if err != nil {
		return h, err
	}
	if counted == nil {
		return h, errGone
	}
	return h, x.setHead(h)
}

// stays makes the transaction fail when the index is removed, or has another checkpoint than old, before it commits.
func (x *Index) stays(old head) error {
	h, ok, err := x.head()
	switch {
	case err == nil && !ok:
		return errGone
	case err == nil && h != old:
		return errOvertaken
	}
	return err
}

func (x *Index) setHead(h head) error {
	be := binary.BigEndian
	return x.Tx.Set(x.headKey(), be.AppendUint64(be.AppendUint64(be.AppendUint64(nil, h.generation), h.nodes), h.entry))
}

// write runs f in a transaction of its own, again where that conflicts with others.
func (x *Index) write(store kv.Store, f func() error) error {
	err := txn.Retry(context.Background(), store, txn.Options{}, func(tx *txn.Tx) error {
		x.Tx = tx
		return f()
	})
	if err != nil && !errors.Is(err, errGone) && !errors.Is(err, errOvertaken) {
		return fmt.Errorf("write a checkpoint: %w", err)
	}
	return err
}
