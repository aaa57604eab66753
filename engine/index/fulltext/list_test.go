package fulltext

import (
	"math/rand/v2"
	"slices"
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
			if !l.seek(target) {
				t.Fatal("a sound list is malformed")
			}
			doc := l.doc()
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

// TestWindowsShowWhatIsInThem turns a page over windows of a list, as far apart as chance has it, and compares what it
// shows with a look at all postings; also where only some documents are asked for.
func TestWindowsShowWhatIsInThem(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	for range 300 {
		l, plain := randomList(t, r)
		span := uint64(windowLeast) << r.IntN(5)
		p := page{of: make([]entry, span)}
		for base := uint64(r.IntN(3)); ; {
			next := slices.IndexFunc(plain, func(p posting) bool { return p.doc >= base })
			from := l.from(base)
			if next < 0 {
				if from != end && !slices.ContainsFunc(l.blocks, func(b block) bool { return b.last >= from }) &&
					!slices.ContainsFunc(l.changes, func(c change) bool { return c.doc >= from }) {
					t.Fatalf("something is to come from %d on, where nothing is", from)
				}
				break
			}
			if from < base || from > plain[next].doc {
				t.Fatalf("from %d on nothing is said to come before %d, but %d does", base, from, plain[next].doc)
			}
			base = from
			var only *docSet
			if r.IntN(2) == 0 {
				only = &docSet{}
				for range r.IntN(20) {
					at := r.Uint64N(span)
					only[at/64] |= 1 << (at % 64)
				}
			}
			if !l.fill(&p, base, only) {
				t.Fatal("a sound list is malformed")
			}
			want := map[uint64]entry{}
			for _, p := range plain[next:] {
				if p.doc-base < span {
					want[p.doc-base] = entry{p.tf, p.length}
				}
			}
			for at := range span {
				e, ok := want[at]
				switch {
				case p.docs.has(at) && (!ok || p.of[at] != e), ok && !p.docs.has(at) && (only == nil || only.has(at)):
					t.Fatalf("document %d of the window from %d: shown %v %v, want %v %v", at, base, p.docs.has(at), p.of[at], ok, e)
				}
			}
			base += span + uint64(r.IntN(2)*r.IntN(3000))
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
		if r.IntN(2) == 0 {
			p := page{of: make([]entry, windowLeast)}
			for base := l.from(0); base != end; base = l.from(base + windowLeast) {
				if base > doc {
					t.Fatalf("something is to come at %d, in a block that ends at %d", base, doc)
				}
				if !l.fill(&p, base, nil) {
					refused++
					break
				}
			}
			continue
		}
		for target := uint64(0); ; target++ {
			if !l.seek(target) {
				refused++
				break
			}
			found := l.doc()
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
