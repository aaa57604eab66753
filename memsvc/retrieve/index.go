package retrieve

import (
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/place"
	"github.com/nacredb/nacre/memsvc/text"
)

// Kinds of units: what a hit can be.
const (
	KindTurn      = "memory_chunk"
	KindChunk     = "chunk"
	KindAttribute = "attribute"
	KindEntity    = "entity"
	// KindAudio is what a hit in a recording is called; its unit is a chunk.
	KindAudio = "audio_chunk"
)

// Unit is one thing that can be found.
type Unit struct {
	ID       string // table/key, and /position of a part of a long turn
	Kind     string
	Group    string // session or document
	Seq      int    // order in the group
	Section  int
	Speaker  string
	Role     string
	Text     string
	At       time.Time // when it was said or observed
	Until    time.Time // it holds no longer from then on; zero: it holds
	Known    time.Time // a fact: when it became known; zero: always
	Recorded time.Time // when the database got it
	Retired  time.Time // when the database got to know its end; zero: it knows none
	Source   string    // a fact: the id of the turn that stated it
	Key      string    // a fact: what it tells of its entity
	Clauses  grant.Clauses
	Labels   []string
	Mime     string
	Document string
	Place    *place.Point // where it was said or observed; nil: nothing tells
	Vector   []int8       // of a provider's embedding, width bytes; nil for none
}

// unit is the entry of the index for a Unit: its text is in the database.
type unit struct {
	id       string
	group    int32
	seq      int32
	prev     int32 // the unit before it in its group; -1 for none
	next     int32
	section  int32
	at       int64 // unix seconds
	until    int64
	known    int64
	recorded int64 // unix nanoseconds, as the next one
	retired  int64
	stale    int64 // from then on what it states is another way; 0: it still is so
	clauses  int32
	speaker  int32 // index of names; -1 for none
	words    float32
	hash     uint64
	kind     uint8
	role     uint8
	dead     bool
	placed   bool // lat and lng tell where
	lat, lng float32
	twin     int32 // an earlier unit that says the same; -1 for none
	dated    bool  // its text names a time
	numbered bool  // its text holds a number
	asks     bool  // its text is a question
	tells    bool  // its text speaks of who says it
	replies  bool  // its text speaks to the other one
	labels   []int32
	names    []int32  // entities that its text names
	key      []string // stems of the key of a fact
	moments  []interval
	mime     string
}

type interval struct{ from, to int64 }

const (
	kindTurn uint8 = iota
	kindChunk
	kindAttribute
	kindEntity
)

var kindNames = []string{KindTurn, KindChunk, KindAttribute, KindEntity}

const (
	roleUser uint8 = iota
	roleAssistant
	roleOther
)

// post is where a term stands.
type post struct {
	num  int32
	docs []int32
	tf   []uint8
}

// Index finds units of one Context. It is not safe for concurrent use: its owner guards it.
type Index struct {
	units    []unit
	byID     map[string]int32
	terms    map[string]*post
	stems    []string          // by number
	places   []int32           // of the stems in the lexicon; -1: it does not know them
	own      [][]int32         // the terms of each unit, by number
	speakers map[int32]int     // units by speaker
	saidBy   map[int32][]int32 // units of a speaker
	names    interner          // speakers and names in texts, folded
	byName   map[int32][]int32
	groups   interner
	members  [][]int32 // of a group, by seq
	clauses  []grant.Clauses
	cindex   map[string]int32
	labels   interner
	means    []int8 // text.Dimensions for each unit; zero: none
	vectors  []int8 // width of the provider for each unit; empty: none
	width    int
	visual   map[int32][]int8 // of the passages of images, in the space of images
	words    float64          // of all live units
	live     int
	bands    map[uint64][]int32 // units by a part of their fingerprint
	twins    map[int32][]int32  // units that say the same as an earlier one
	ended    map[string]int64   // turns that stated a fact, and when it ended
	bytes    int64
}

// interner numbers texts.
type interner struct {
	ids  map[string]int32
	text []string
}

func (in *interner) id(s string) int32 {
	if i, ok := in.ids[s]; ok {
		return i
	}
	if in.ids == nil {
		in.ids = map[string]int32{}
	}
	i := int32(len(in.text))
	s = strings.Clone(s)
	in.ids[s], in.text = i, append(in.text, s)
	return i
}

func (in *interner) find(s string) (int32, bool) {
	i, ok := in.ids[s]
	return i, ok
}

// NewIndex makes an empty index.
func NewIndex() *Index {
	return &Index{byID: map[string]int32{}, terms: map[string]*post{}, byName: map[int32][]int32{},
		cindex: map[string]int32{},
		bands:  map[uint64][]int32{}, twins: map[int32][]int32{}, speakers: map[int32]int{},
		saidBy: map[int32][]int32{},
		ended:  map[string]int64{}}
}

// Len is the number of live units.
func (x *Index) Len() int { return x.live }

// Bytes is about how much memory the index takes.
func (x *Index) Bytes() int64 { return x.bytes + int64(len(x.means)+len(x.vectors)) }

// Add puts a unit into the index, in the place of one with its id.
func (x *Index) Add(u Unit) {
	x.Remove(u.ID)
	d := int32(len(x.units))
	terms := text.Terms(u.Text)
	n := unit{id: u.ID, seq: int32(u.Seq), section: int32(u.Section), prev: -1, next: -1, speaker: -1, twin: -1,
		mime:  u.Mime,
		words: float32(len(terms)), group: x.groups.id(u.Group), clauses: x.clause(u.Clauses),
		hash: text.SimHash(terms)}
	if !u.At.IsZero() {
		n.at = u.At.Unix()
	}
	if !u.Until.IsZero() {
		n.until = u.Until.Unix()
	}
	if !u.Known.IsZero() {
		n.known = u.Known.Unix()
	}
	if !u.Recorded.IsZero() {
		n.recorded = u.Recorded.UnixNano()
	}
	if !u.Retired.IsZero() {
		n.retired = u.Retired.UnixNano()
	}
	if u.Place != nil {
		n.placed, n.lat, n.lng = true, float32(u.Place.Lat), float32(u.Place.Lng)
	}
	if u.Key != "" {
		n.key = text.Terms(strings.ReplaceAll(u.Key, "_", " "))
	}
	for i, k := range kindNames {
		if k == u.Kind {
			n.kind = uint8(i)
		}
	}
	switch u.Role {
	case "", "user":
	case "assistant":
		n.role = roleAssistant
	default:
		n.role = roleOther
	}
	for _, l := range u.Labels {
		n.labels = append(n.labels, x.labels.id(l))
	}
	x.units = append(x.units, n)
	x.byID[u.ID] = d
	x.ends(d, u)
	x.features(d, u)
	x.post(d, terms)
	x.link(d)
	x.mean(terms)
	if x.width > 0 {
		v := u.Vector
		if len(v) != x.width {
			v = make([]int8, x.width)
		}
		x.vectors = append(x.vectors, v...)
	}
	x.twin(d, terms)
	x.live++
	x.words += float64(n.words)
	x.bytes += int64(200+len(u.ID)+16*len(n.labels)) + 24
}

// ends notes that what a turn states is so no longer, whichever of the turn and its fact comes first.
func (x *Index) ends(d int32, u Unit) {
	x.units[d].stale = x.ended[u.ID]
	if u.Kind != KindAttribute || u.Source == "" {
		return
	}
	if u.Until.IsZero() {
		delete(x.ended, u.Source)
	} else {
		x.ended[u.Source] = u.Until.Unix()
	}
	if o, ok := x.byID[u.Source]; ok {
		x.units[o].stale = x.ended[u.Source]
	}
}

func (x *Index) clause(c grant.Clauses) int32 {
	k := c.Key()
	if i, ok := x.cindex[k]; ok {
		return i
	}
	i := int32(len(x.clauses))
	x.clauses = append(x.clauses, c)
	x.cindex[k] = i
	return i
}

// features reads names, numbers and times out of the text.
func (x *Index) features(d int32, u Unit) {
	n := &x.units[d]
	seen := map[int32]bool{}
	add := func(name string) int32 {
		i := x.names.id(name)
		if !seen[i] {
			seen[i] = true
			n.names = append(n.names, i)
			x.byName[i] = append(x.byName[i], d)
		}
		return i
	}
	if u.Speaker != "" {
		n.speaker = x.names.id(firstName(u.Speaker))
		x.speakers[n.speaker]++
		x.saidBy[n.speaker] = append(x.saidBy[n.speaker], d)
	}
	for _, name := range text.Names(u.Text) {
		add(text.Fold(name))
	}
	for _, m := range text.Dates(u.Text, u.At) {
		n.dated = true
		if len(n.moments) < 8 {
			n.moments = append(n.moments, interval{m.From.Unix(), m.To.Unix()})
		}
	}
	n.asks = strings.HasSuffix(strings.TrimRight(u.Text, " \n\"')"), "?")
	n.manner(u.Text)
	x.bytes += int64(24*len(n.names) + 16*len(n.moments))
}

// firstName returns the first name of a speaker.
func firstName(s string) string {
	if w := text.Words(s); len(w) > 0 {
		return strings.Clone(w[0].Lower)
	}
	return text.Fold(s)
}

// manner reads how a text speaks: of numbers, of who says it, to the other one.
func (n *unit) manner(s string) {
	n.numbered = strings.ContainsAny(s, "0123456789")
	for w := range strings.FieldsSeq(strings.ToLower(s)) {
		head, tail := strings.Trim(w, ".,;:!?\"()*…-"), ""
		if i := strings.IndexAny(head, "'’"); i >= 0 {
			head, tail = head[:i], head[i:]
		}
		switch head {
		case "i", "my", "me", "mine", "myself", "we", "our", "ours", "us":
			n.tells = true
		case "you", "your", "yours", "wow", "congratulations", "congrats":
			n.replies = true
		case "that":
			n.replies = n.replies || tail != ""
		case "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
			"twenty", "thirty", "forty", "fifty", "dozen", "hundred", "thousand", "once", "twice":
			n.numbered = true
		}
	}
}

func (x *Index) post(d int32, terms []string) {
	own := make([]int32, 0, len(terms))
	defer func() { x.own = append(x.own, own) }()
	for _, t := range terms {
		p := x.terms[t]
		if p == nil {
			t = strings.Clone(t)
			p = &post{num: int32(len(x.stems))}
			x.terms[t], x.stems, x.places = p, append(x.stems, t), append(x.places, text.Place(t))
			x.bytes += int64(120 + len(t))
		}
		if k := len(p.docs) - 1; k >= 0 && p.docs[k] == d {
			if p.tf[k] < 255 {
				p.tf[k]++
			}
			continue
		}
		p.docs, p.tf = append(p.docs, d), append(p.tf, 1)
		own = append(own, p.num)
		x.bytes += 12
	}
}

// link puts the unit between its neighbours.
func (x *Index) link(d int32) {
	g := x.units[d].group
	for int(g) >= len(x.members) {
		x.members = append(x.members, nil)
	}
	m := x.members[g]
	i := sort.Search(len(m), func(i int) bool { return x.units[m[i]].seq > x.units[d].seq })
	m = append(m, 0)
	copy(m[i+1:], m[i:])
	m[i] = d
	x.members[g] = m
	if x.units[d].kind == kindAttribute || x.units[d].kind == kindEntity {
		return
	}
	if i > 0 {
		x.units[d].prev, x.units[m[i-1]].next = m[i-1], d
	}
	if i+1 < len(m) {
		x.units[d].next, x.units[m[i+1]].prev = m[i+1], d
	}
}

func (x *Index) mean(terms []string) {
	if m := text.Mean(terms, text.Rarity); m != nil {
		x.means = append(x.means, m...)
		return
	}
	x.means = append(x.means, make([]int8, text.Dimensions)...)
}

// nearBits is the distance of fingerprints up to which two texts say the same.
const nearBits = 3

// twin looks for an earlier unit that says the same, with the same names and numbers, by the same speaker.
func (x *Index) twin(d int32, terms []string) {
	u := &x.units[d]
	if len(terms) < 6 {
		return
	}
	for b := range uint64(4) {
		key := b<<16 | u.hash>>(16*b)&0xffff
		for _, o := range x.bands[key] {
			v := &x.units[o]
			if !v.dead && u.twin < 0 && v.clauses == u.clauses && v.speaker == u.speaker &&
				text.Distance(u.hash, v.hash) <= nearBits &&
				u.words == v.words && sameNames(u.names, v.names) && x.sameWords(d, o, terms) {
				u.twin = o
				x.twins[o] = append(x.twins[o], d)
			}
		}
		if len(x.bands[key]) < 64 {
			x.bands[key] = append(x.bands[key], d)
		}
	}
}

// sameWords reports whether o holds every term of d: a fingerprint does not see one number that differs.
func (x *Index) sameWords(_, o int32, terms []string) bool {
	for _, t := range terms {
		p := x.terms[t]
		i := sort.Search(len(p.docs), func(i int) bool { return p.docs[i] >= o })
		if i == len(p.docs) || p.docs[i] != o {
			return false
		}
	}
	return true
}

func sameNames(a, b []int32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Remove takes a unit out, and what it said goes with the next Compact.
func (x *Index) Remove(id string) {
	d, ok := x.byID[id]
	if !ok {
		return
	}
	delete(x.byID, id)
	u := &x.units[d]
	u.dead = true
	delete(x.visual, d)
	x.live--
	x.words -= float64(u.words)
	m := x.members[u.group]
	for i := range m {
		if m[i] == d {
			x.members[u.group] = append(m[:i], m[i+1:]...)
			break
		}
	}
	if u.prev >= 0 {
		x.units[u.prev].next = u.next
	}
	if u.next >= 0 {
		x.units[u.next].prev = u.prev
	}
	for _, o := range x.twins[d] {
		x.units[o].twin = -1
	}
	delete(x.twins, d)
}

// RemovePrefix takes out the units whose ids begin with prefix.
func (x *Index) RemovePrefix(prefix string) {
	for i := 0; ; i++ {
		id := partID(prefix, i)
		if _, ok := x.byID[id]; !ok {
			return
		}
		x.Remove(id)
	}
}

// partID is the id of a part of a long text.
func partID(id string, part int) string {
	if part == 0 {
		return id
	}
	return id + "/" + strconv.Itoa(part)
}

// Wasted reports whether so much of the index is dead that it should be built anew.
func (x *Index) Wasted() bool { return len(x.units) > 1000 && x.live*2 < len(x.units) }
