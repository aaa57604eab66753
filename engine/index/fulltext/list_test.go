package fulltext

import (
	"math/rand/v2"
	"testing"
)

// TestListsFindWhatIsInThem compares walks over blocks and changes with a look at all postings. Numbers are of one byte
// in some blocks and longer in others.
func TestListsFindWhatIsInThem(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for range 300 {
		l, plain := randomList(t, r)
		target := uint64(r.IntN(3))
		at := 0
		for {
			for at < len(plain) && plain[at].doc < target {
				at++
			}
			var ok bool
			doc := uint64(end)
			if r.IntN(2) == 0 {
				doc, ok = l.find(target)
			} else if ok = l.seek(target); ok {
				doc = l.doc()
			}
			if !ok {
				t.Fatal("a sound list is malformed")
			}
			if at == len(plain) {
				if doc != end {
					t.Fatalf("document %d behind the last", doc)
				}
				break
			}
			if doc != plain[at].doc || l.cur != plain[at] {
				t.Fatalf("from %d on: got %v, want %v", target, l.cur, plain[at])
			}
			target = doc + []uint64{0, 1, 1, 1, uint64(r.IntN(40)), uint64(r.IntN(4000))}[r.IntN(6)]
		}
	}
}

// randomList makes a list and what it has.
func randomList(t *testing.T, r *rand.Rand) (*list, []posting) {
	l := &list{best: noImpact()}
	var plain []posting
	doc := uint64(r.IntN(2))
	for range r.IntN(5) {
		step, most := []int{2, 3, 100, 3000}[r.IntN(4)], []int{1, 127, 100_000}[r.IntN(3)]
		var ps []posting
		for range 1 + r.IntN(blockSize) {
			doc += 1 + uint64(r.IntN(step))
			p := posting{doc, 1 + uint32(r.IntN(most)), 1 + uint32(r.IntN(most))}
			ps = append(ps, p)
			switch r.IntN(20) {
			case 0:
				l.changes = append(l.changes, change{posting: posting{doc: doc}, flags: changeGone | changeHides})
				continue
			case 1:
				p.tf++
				l.changes = append(l.changes, change{posting: p, flags: changeHides})
			}
			plain = append(plain, p)
		}
		b, ok := openBlock(doc, appendBlock(nil, ps))
		if !ok {
			t.Fatal("a block that was made is malformed")
		}
		l.blocks = append(l.blocks, b)
		l.count += b.count
	}
	for range r.IntN(10) {
		doc += 1 + uint64(r.IntN(50))
		p := posting{doc, 1, uint32(r.IntN(200))}
		l.changes = append(l.changes, change{posting: p})
		plain = append(plain, p)
	}
	return l, plain
}

// TestMalformedBlocks cuts and turns the bytes of blocks: a list either finds something within its bounds or says that
// they are malformed.
func TestMalformedBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	refused := 0
	for range 3000 {
		var ps []posting
		doc := uint64(0)
		for range 1 + r.IntN(20) {
			doc += 1 + uint64(r.IntN(200))
			ps = append(ps, posting{doc, 1, uint32(1 + r.IntN(150))})
		}
		raw := appendBlock(nil, ps)
		if at := r.IntN(len(raw)); r.IntN(2) == 0 {
			raw = raw[:at]
		} else {
			raw[at] ^= 1 << r.IntN(8)
		}
		b, ok := openBlock(doc, raw)
		if !ok {
			refused++
			continue
		}
		l := &list{blocks: []block{b}, count: b.count}
		for target := uint64(0); ; target++ {
			found, ok := l.find(target)
			if !ok {
				refused++
				break
			}
			if found == end {
				break
			}
			if found < target || found > doc {
				t.Fatalf("found %d from %d on, in a block that ends at %d", found, target, doc)
			}
			target = found
		}
	}
	if refused == 0 {
		t.Error("no malformed block was refused")
	}
}
