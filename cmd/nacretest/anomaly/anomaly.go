// Package anomaly finds what a history of list-append transactions proves about a database: which
// of the isolation anomalies of Adya's hierarchy happened.
//
// A transaction appends values to lists and reads lists; every value is appended once in the whole
// history. What a read returned tells the order in which the appends before it took effect, and so
// which transaction came before which:
//
//	ww  the second one's append follows the first one's in a list
//	wr  the second one read a list that ends with the first one's append
//	rw  the second one's append follows what the first one read
//	rt  the first one had ended before the second one began (only with Options.RealTime)
//
// A cycle among these is an anomaly: G0 (ww only), G1c (ww and wr), G-single (one rw), G2 (more
// rw); with rt in it, the same with the suffix "-realtime". Other findings need no cycle: G1a (a
// read of what was aborted), G1b (a read of what was overwritten inside its own transaction),
// internal (a transaction does not see its own appends), incompatible (two reads that no order
// explains), duplicate, phantom value, and lost (an acknowledged append that the last reads do not
// have). Each finding is certain: the checker never guesses an order that no read shows.
package anomaly

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Op is an append of Value to the list Key, or, with Read, a read of it that returned List.
type Op struct {
	Key   int
	Read  bool
	Value int
	List  []int
}

// Status is how a transaction ended for its client.
type Status uint8

// The ways to end.
const (
	Committed Status = iota
	Aborted          // it certainly did not happen
	Unknown          // the client was never told
)

// Txn is one transaction of a history. Reads of one that is not Committed are not looked at.
type Txn struct {
	Client     int
	Ops        []Op
	Status     Status
	Start, End time.Duration
	Last       bool // its reads come after everything that was acknowledged
}

// Finding is one anomaly.
type Finding struct {
	Kind string
	Text string
}

// Options tunes Check.
type Options struct {
	// RealTime also holds the history to the order of the clock: strict serializability.
	RealTime bool
}

// version is where a value stands in its list.
type version struct {
	key, value int
}

type checker struct {
	txns     []Txn
	opt      Options
	found    []Finding
	writer   map[version]int  // by whom a value was appended
	final    map[version]bool // no later append of the same transaction to the list
	observed map[int]bool     // transactions whose appends somebody has read
	order    map[int][]int    // by key: the longest list that was read
	position map[version]int  // in order
	torn     map[int]bool     // keys whose order is not known: reads contradict each other
	g        graph
}

// Check gives everything that is wrong with a history.
func Check(txns []Txn, opt Options) []Finding {
	c := &checker{txns: txns, opt: opt, writer: map[version]int{}, final: map[version]bool{}, observed: map[int]bool{},
		order: map[int][]int{}, position: map[version]int{}, torn: map[int]bool{}}
	c.index()
	c.readsByThemselves()
	c.lists()
	c.lost()
	c.dependencies()
	c.cycles()
	return c.found
}

func (c *checker) find(kind, format string, args ...any) {
	c.found = append(c.found, Finding{kind, fmt.Sprintf(format, args...)})
}

// index notes who appended what.
func (c *checker) index() {
	for i, t := range c.txns {
		last := map[int]version{}
		for _, op := range t.Ops {
			if op.Read {
				continue
			}
			v := version{op.Key, op.Value}
			if _, twice := c.writer[v]; twice {
				c.find("history", "value %d is appended to list %d twice: the history itself is wrong", op.Value, op.Key)
			}
			c.writer[v] = i
			last[op.Key] = v
		}
		for _, v := range last {
			c.final[v] = true
		}
	}
}

// reads calls f with each read that counts.
func (c *checker) reads(f func(i int, op Op)) {
	for i, t := range c.txns {
		if t.Status != Committed {
			continue
		}
		for _, op := range t.Ops {
			if op.Read {
				f(i, op)
			}
		}
	}
}

// readsByThemselves finds what needs no second read: internal, G1a, G1b, phantom values.
func (c *checker) readsByThemselves() {
	for i, t := range c.txns {
		if t.Status == Committed {
			c.internal(i, t)
		}
	}
	c.reads(func(i int, op Op) {
		seen := map[int]bool{}
		for at, value := range op.List {
			v := version{op.Key, value}
			w, known := c.writer[v]
			switch {
			case !known:
				c.find("phantom", "%s read %d in list %d, which nobody appended", c.name(i), value, op.Key)
				continue
			case seen[value]:
				c.find("duplicate", "%s read %d in list %d twice", c.name(i), value, op.Key)
			case c.txns[w].Status == Aborted:
				c.find("G1a", "%s read %d in list %d, which %s appended and aborted", c.name(i), value, op.Key, c.name(w))
			case w != i && at == len(op.List)-1 && !c.final[v]:
				c.find("G1b", "%s read list %d as it was in the middle of %s, ending with %d", c.name(i), op.Key, c.name(w), value)
			}
			seen[value] = true
			c.observed[w] = true
		}
	})
}

// internal holds the reads of a transaction against its own operations before them.
func (c *checker) internal(i int, t Txn) {
	known := map[int][]int{} // by key: a list that was read, and what was appended since
	mine := map[int][]int{}  // by key: what was appended, while nothing was read
	read := map[int]bool{}   // known is from a read
	for _, op := range t.Ops {
		if !op.Read {
			known[op.Key] = append(known[op.Key], op.Value)
			mine[op.Key] = append(mine[op.Key], op.Value)
			continue
		}
		switch {
		case read[op.Key] && !slices.Equal(known[op.Key], op.List):
			c.find("internal", "%s read list %d as %v, after what it read and did it should be %v", c.name(i), op.Key, op.List, known[op.Key])
		case !read[op.Key] && !endsWith(op.List, mine[op.Key]):
			c.find("internal", "%s read list %d as %v, without its own appends %v at the end", c.name(i), op.Key, op.List, mine[op.Key])
		}
		known[op.Key], read[op.Key] = slices.Clone(op.List), true
	}
}

func endsWith(list, tail []int) bool {
	return len(list) >= len(tail) && slices.Equal(list[len(list)-len(tail):], tail)
}

// lists finds the order of the appends to each list.
func (c *checker) lists() {
	c.reads(func(_ int, op Op) {
		if len(op.List) > len(c.order[op.Key]) {
			c.order[op.Key] = op.List
		}
	})
	for key, list := range c.order {
		for i, v := range list {
			c.position[version{key, v}] = i
		}
	}
	c.reads(func(i int, op Op) {
		if longest := c.order[op.Key]; !slices.Equal(longest[:len(op.List)], op.List) {
			c.find("incompatible", "%s read list %d as %v, another read has %v", c.name(i), op.Key, op.List, longest)
			c.torn[op.Key] = true
		}
	})
}

// lost finds acknowledged appends that the last reads do not have.
func (c *checker) lost() {
	byKey := map[int][]version{}
	for v := range c.writer {
		byKey[v.key] = append(byKey[v.key], v)
	}
	for i, t := range c.txns {
		if !t.Last || t.Status != Committed {
			continue
		}
		for _, op := range t.Ops {
			if !op.Read {
				continue
			}
			has := map[int]bool{}
			for _, v := range op.List {
				has[v] = true
			}
			for _, v := range byKey[op.Key] {
				if w := c.writer[v]; w != i && c.txns[w].Status == Committed && !has[v.value] {
					c.find("lost", "%s appended %d to list %d and was acknowledged; %s does not read it", c.name(w), v.value, v.key, c.name(i))
				}
			}
		}
	}
}

// happened reports whether a transaction certainly took effect.
func (c *checker) happened(i int) bool {
	return c.txns[i].Status == Committed || c.txns[i].Status == Unknown && c.observed[i]
}

// dependencies builds the graph.
func (c *checker) dependencies() {
	c.g = newGraph(len(c.txns))
	for key, list := range c.order {
		if c.torn[key] {
			continue
		}
		for i := 1; i < len(list); i++ {
			a, okA := c.writer[version{key, list[i-1]}]
			b, okB := c.writer[version{key, list[i]}]
			if okA && okB {
				c.edge(a, b, ww)
			}
		}
	}
	unseen := map[int][]int{} // by key: who certainly appended what no read has
	for v, w := range c.writer {
		if _, seen := c.position[v]; !seen && c.happened(w) {
			unseen[v.key] = append(unseen[v.key], w)
		}
	}
	c.reads(func(i int, op Op) {
		if c.torn[op.Key] {
			return
		}
		list := op.List
		for len(list) > 0 && c.writer[version{op.Key, list[len(list)-1]}] == i {
			list = list[:len(list)-1] // what it appended itself says nothing about others
		}
		if len(list) > 0 {
			if w, ok := c.writer[version{op.Key, list[len(list)-1]}]; ok {
				c.edge(w, i, wr)
			}
		}
		longest := c.order[op.Key]
		if len(op.List) < len(longest) {
			if w, ok := c.writer[version{op.Key, longest[len(op.List)]}]; ok {
				c.edge(i, w, rw)
			}
			return
		}
		// Appends that no transaction has read follow all appends that were read.
		for _, w := range unseen[op.Key] {
			c.edge(i, w, rw)
		}
	})
	if c.opt.RealTime {
		c.clock()
	}
}

func (c *checker) edge(a, b int, kind edgeKind) {
	if a != b && c.happened(a) && c.happened(b) {
		c.g.add(a, b, kind)
	}
}

// clock adds the order of the clock, by a chain of moments: one at each end of a transaction.
func (c *checker) clock() {
	type event struct {
		at    time.Duration
		start bool
		txn   int
	}
	var events []event
	for i, t := range c.txns {
		if t.Status == Committed {
			events = append(events, event{t.Start, true, i}, event{t.End, false, i})
		} else if c.happened(i) {
			events = append(events, event{t.Start, true, i}) // its end is not known
		}
	}
	// At one moment those that begin come first: they are not after those that end then.
	slices.SortStableFunc(events, func(a, b event) int {
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.start == b.start:
			return 0
		case a.start:
			return -1
		}
		return 1
	})
	moment := -1
	for _, e := range events {
		if e.start {
			if moment >= 0 {
				c.g.add(moment, e.txn, rt)
			}
			continue
		}
		next := c.g.node()
		if moment >= 0 {
			c.g.add(moment, next, rt)
		}
		c.g.add(e.txn, next, rt)
		moment = next
	}
}

func (c *checker) name(i int) string { return fmt.Sprintf("T%d (client %d)", i, c.txns[i].Client) }
