package engine_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

var gqlCases = flag.Int("gql-cases", 3000,
	"random patterns that TestGQLPatterns compares with a plain enumeration of walks")

// walkNode and walkEdge are a graph as the enumeration sees it. x and w are -1 where the property is missing.
type walkNode struct {
	id, table string
	x         int
	hidden    bool
}

type walkEdge struct {
	id, table string
	from, to  int
	w         int
	hidden    bool
}

type walkGraph struct {
	nodes []walkNode
	edges []walkEdge
}

func randomGraph(r *rand.Rand, hide bool) *walkGraph {
	g := &walkGraph{}
	for i := range 2 + r.IntN(4) {
		table := []string{"a", "b"}[r.IntN(2)]
		g.nodes = append(g.nodes, walkNode{fmt.Sprintf("%s:%d", table, i), table, r.IntN(4) - 1, hide &&
			r.IntN(4) == 0})
	}
	for i := range r.IntN(8) {
		table := []string{"e", "f"}[r.IntN(2)]
		g.edges = append(g.edges, walkEdge{fmt.Sprintf("%s:%d", table, i), table, r.IntN(len(g.nodes)),
			r.IntN(len(g.nodes)), r.IntN(4) - 1,
			hide && r.IntN(4) == 0})
	}
	return g
}

// statements make the graph; with hidden they make what is hidden, too.
func (g *walkGraph) statements() string {
	var b strings.Builder
	prop := func(name string, v int) string {
		if v < 0 {
			return ""
		}
		return fmt.Sprintf(", %s = %d", name, v)
	}
	for _, n := range g.nodes {
		fmt.Fprintf(&b, "CREATE %s SET hidden = %t%s;", n.id, n.hidden, prop("x", n.x))
	}
	for _, e := range g.edges {
		fmt.Fprintf(&b, "RELATE %s->%s->%s SET hidden = %t%s;", g.nodes[e.from].id, e.id, g.nodes[e.to].id, e.hidden,
			prop("w", e.w))
	}
	return b.String()
}

// seen is the graph without what is hidden.
func (g *walkGraph) seen() *walkGraph {
	out := &walkGraph{nodes: g.nodes}
	for _, e := range g.edges {
		if !e.hidden {
			out.edges = append(out.edges, e)
		}
	}
	return out
}

// walkPattern is a pattern of nodes with edges between them.
type walkPattern struct {
	nodes []patternNode
	edges []patternEdge
	mode  string
}

type patternNode struct {
	name, label string
	x           int // -1: any
}

type patternEdge struct {
	label     string
	dir       int // 0 right, 1 left, 2 either
	quantised bool
	min, max  int
	w         int
}

func (p *walkPattern) text() string {
	var b strings.Builder
	if p.mode != "" {
		b.WriteString(p.mode + " ")
	}
	filter := func(name string, v int) string {
		if v < 0 {
			return ""
		}
		return fmt.Sprintf(" {%s: %d}", name, v)
	}
	label := func(l string) string {
		if l == "" {
			return ""
		}
		return ":" + l
	}
	for i, n := range p.nodes {
		if i > 0 {
			e := p.edges[i-1]
			fmt.Fprintf(&b, "%s[%s%s]%s", []string{"-", "<-", "-"}[e.dir], label(e.label), filter("w", e.w),
				[]string{"->", "-", "-"}[e.dir])
			if e.quantised {
				fmt.Fprintf(&b, "{%d,%d}", e.min, e.max)
			}
		}
		fmt.Fprintf(&b, "(%s%s%s)", n.name, label(n.label), filter("x", n.x))
	}
	return b.String()
}

func randomPattern(r *rand.Rand, names int) *walkPattern {
	p := &walkPattern{}
	some := func(list ...string) string { return list[r.IntN(len(list))] }
	number := func() int {
		if r.IntN(4) > 0 {
			return -1
		}
		return r.IntN(3)
	}
	node := func() patternNode {
		return patternNode{fmt.Sprintf("n%d", r.IntN(names)), some("", "a", "b", ""), number()}
	}
	p.nodes = append(p.nodes, node())
	for range r.IntN(4) {
		e := patternEdge{label: some("", "e", "f", ""), dir: r.IntN(3), w: number()}
		if r.IntN(3) == 0 {
			e.quantised, e.min = true, r.IntN(3)
			e.max = max(e.min+r.IntN(3), 1)
		}
		p.edges = append(p.edges, e)
		p.nodes = append(p.nodes, node())
	}
	return p
}

// walker enumerates the matches of patterns.
type walker struct {
	g      *walkGraph
	repeat bool
	used   map[int]bool
	bound  map[string]int
	rows   []string
	paths  []string
}

func (w *walker) match(ps []*walkPattern, then func()) {
	if len(ps) == 0 {
		then()
		return
	}
	for i := range w.g.nodes {
		w.node(ps, 0, i, []int{i}, nil, then)
	}
}

// node takes node at for the i-th of the first pattern.
func (w *walker) node(ps []*walkPattern, i, at int, nodes, edges []int, then func()) {
	p := ps[0]
	n, g := p.nodes[i], w.g.nodes[at]
	if g.hidden || n.label != "" && n.label != g.table || n.x >= 0 && n.x != g.x {
		return
	}
	if was, ok := w.bound[n.name]; ok && was != at {
		return
	} else if !ok {
		w.bound[n.name] = at
		defer delete(w.bound, n.name)
	}
	if i == len(p.edges) {
		if !fits(p.mode, nodes) {
			return
		}
		w.paths = append(w.paths, w.text(nodes, edges))
		w.match(ps[1:], then)
		w.paths = w.paths[:len(w.paths)-1]
		return
	}
	e := p.edges[i]
	low, high := 1, 1
	if e.quantised {
		low, high = e.min, e.max
	}
	w.steps(ps, i, at, nodes, edges, 0, low, high, then)
}

func (w *walker) steps(ps []*walkPattern, i, at int, nodes, edges []int, n, low, high int, then func()) {
	if n >= low {
		w.node(ps, i+1, at, nodes, edges, then)
	}
	if n == high {
		return
	}
	e := ps[0].edges[i]
	for j, g := range w.g.edges {
		if e.label != "" && e.label != g.table || e.w >= 0 && e.w != g.w || !w.repeat && w.used[j] {
			continue
		}
		ends := [][2]int{{g.from, g.to}, {g.to, g.from}}
		switch {
		case e.dir < 2:
			ends = ends[e.dir : e.dir+1]
		case g.from == g.to:
			ends = ends[:1]
		}
		for _, end := range ends {
			if end[0] != at || w.g.nodes[end[1]].hidden {
				continue
			}
			was := w.used[j]
			w.used[j] = true
			w.steps(ps, i, end[1], append(slices.Clone(nodes), end[1]), append(slices.Clone(edges), j), n+1, low,
				high, then)
			w.used[j] = was
		}
	}
}

// fits reports whether the nodes of a path keep to its mode.
func fits(mode string, nodes []int) bool {
	seen := map[int]bool{}
	for i, n := range nodes {
		if seen[n] && (mode == "ACYCLIC" || mode == "SIMPLE" && (i < len(nodes)-1 || n != nodes[0])) {
			return false
		}
		seen[n] = true
	}
	return true
}

func (w *walker) text(nodes, edges []int) string {
	out := w.g.nodes[nodes[0]].id
	for i, e := range edges {
		out += " " + w.g.edges[e].id + " " + w.g.nodes[nodes[i+1]].id
	}
	return out
}

// walked are the rows of patterns, each the texts of its paths.
func walked(g *walkGraph, ps []*walkPattern, repeat bool, where func(map[string]int) bool) []string {
	w := &walker{g: g, repeat: repeat, used: map[int]bool{}, bound: map[string]int{}}
	w.match(ps, func() {
		if where(w.bound) {
			w.rows = append(w.rows, strings.Join(w.paths, " | "))
		}
	})
	sort.Strings(w.rows)
	return w.rows
}

// pathsOf are the rows that the engine has for a program that returns paths.
func pathsOf(t *testing.T, s *engine.Session, text string, vars *value.Object) []string {
	t.Helper()
	v, err := runGQL(s, text, vars)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	rows := []string{}
	for _, row := range v.Elems() {
		var paths []string
		for _, f := range row.Object().Fields() {
			var ids []string
			for _, e := range f.Value.Elems() {
				ids = append(ids, briefly(e).Text())
			}
			paths = append(paths, strings.Join(ids, " "))
		}
		rows = append(rows, strings.Join(paths, " | "))
	}
	sort.Strings(rows)
	return rows
}

const walkTables = `DEFINE TABLE a PERMISSIONS FOR select WHERE hidden = false;
	DEFINE TABLE b PERMISSIONS FOR select WHERE hidden = false;
	DEFINE TABLE e TYPE RELATION PERMISSIONS FOR select WHERE hidden = false;
	DEFINE TABLE f TYPE RELATION PERMISSIONS FOR select WHERE hidden = false;
	DEFINE TABLE user; DEFINE ACCESS acc ON DATABASE TYPE RECORD;`

// TestGQLPatterns compares random patterns on random graphs with a plain enumeration of walks: with and without
// indexes, with and without the rules of the planner, and for a record user who may not see all of the graph, which
// must be as if the hidden part were not there.
func TestGQLPatterns(t *testing.T) {
	var rules []string
	for _, r := range plan.AllRules() {
		rules = append(rules, r.String())
	}
	r := rand.New(rand.NewPCG(18, 4))
	const perGraph = 200
	matched := 0
	for done := 0; done < *gqlCases; done += perGraph {
		var opt engine.Options
		if r.IntN(3) == 0 {
			opt.PlannerRulesOff = rules
		}
		hide := r.IntN(2) == 0
		g := randomGraph(r, hide)
		e, root := openGQL(t, opt)
		index := ""
		if r.IntN(2) == 0 {
			index = "DEFINE INDEX x ON a FIELDS x; DEFINE INDEX x ON b FIELDS x; DEFINE INDEX w ON e FIELDS w;"
		}
		runGQLSetup(t, root, walkTables+index+g.statements())
		s := root
		if hide {
			s = e.SessionAs(auth.Principal{Level: auth.RecordUser, NS: "n", DB: "d", Access: "acc",
				Record: value.Record("user", value.Int(1))}, "n", "d")
			g = g.seen()
		}
		for range perGraph {
			if comparePattern(t, r, s, g) > 0 {
				matched++
			}
		}
	}
	if t.Logf("%d of %d patterns match something", matched, *gqlCases); matched < *gqlCases/10 {
		t.Error("too few of the random patterns match anything")
	}
}

// comparePattern tries one random pattern, and says how many rows it has.
func comparePattern(t *testing.T, r *rand.Rand, s *engine.Session, g *walkGraph) int {
	t.Helper()
	search := r.IntN(4) == 0
	names := 2 + r.IntN(4)
	ps := []*walkPattern{randomPattern(r, names)}
	if !search && r.IntN(3) == 0 {
		ps = append(ps, randomPattern(r, names))
	}
	repeat := !search && r.IntN(5) == 0
	for _, p := range ps {
		if r.IntN(4) == 0 {
			p.mode = []string{"TRAIL", "SIMPLE", "ACYCLIC"}[r.IntN(3)]
			if repeat && p.mode == "TRAIL" {
				p.mode = ""
			}
			if repeat { // their edges cannot repeat within a path, and may be those of another path
				p.mode = ""
			}
		}
	}
	text := "MATCH "
	if repeat {
		text += "REPEATABLE ELEMENTS "
	}
	var returns []string
	for i, p := range ps {
		if i > 0 {
			text += ", "
		}
		prefix := ""
		if search {
			prefix = "?? "
		}
		text += fmt.Sprintf("p%d = %s%s", i, prefix, p.text())
		returns = append(returns, fmt.Sprintf("p%d", i))
	}
	where, holds := "", func(map[string]int) bool { return true }
	if first, last := ps[0].nodes[0].name, ps[0].nodes[len(ps[0].nodes)-1].name; r.IntN(3) == 0 {
		op := []string{"<", "=", "<>"}[r.IntN(3)]
		where = fmt.Sprintf(" WHERE %s.x %s %s.x", first, op, last)
		holds = func(bound map[string]int) bool {
			a, b := g.nodes[bound[first]].x, g.nodes[bound[last]].x
			return a >= 0 && b >= 0 && (op == "<" && a < b || op == "=" && a == b || op == "<>" && a != b)
		}
	}
	text += where + " RETURN " + strings.Join(returns, ", ")
	want := walked(g, ps, repeat, holds)
	if search {
		compareSearch(t, r, s, ps[0], text, want)
		return len(want)
	}
	if got := pathsOf(t, s, text, nil); !slices.Equal(got, want) {
		t.Fatalf("%s\non %+v\ngot  %d: %s\nwant %d: %s", text, *g, len(got), strings.Join(got, "\n  "), len(want),
			strings.Join(want, "\n  "))
	}
	return len(want)
}

// compareSearch tries the search prefixes of a pattern all of whose paths are known: of each pair of ends as many paths
// of each length, and no path that is none.
func compareSearch(t *testing.T, r *rand.Rand, s *engine.Session, p *walkPattern, text string, all []string) {
	t.Helper()
	var vars *value.Object
	if len(all) > 0 && r.IntN(2) == 0 {
		text, vars, all = between(p, text, all, all[r.IntN(len(all))])
	}
	k := 1 + r.IntN(3)
	prefix := []string{"ANY", fmt.Sprintf("ANY %d", k), "ANY SHORTEST", "ALL SHORTEST", fmt.Sprintf("SHORTEST %d", k),
		fmt.Sprintf("SHORTEST %d GROUPS", k), "ALL"}[r.IntN(7)]
	mode := ""
	for _, m := range []string{"TRAIL", "SIMPLE", "ACYCLIC"} {
		if strings.Contains(text, "?? "+m+" ") {
			text, mode = strings.Replace(text, "?? "+m+" ", "?? ", 1), " "+m
		}
	}
	if g, ok := strings.CutSuffix(prefix, " GROUPS"); ok {
		prefix = g + mode + " GROUPS"
	} else {
		prefix += mode
	}
	text = strings.Replace(text, "??", prefix, 1)
	pairs := map[string][]int{}
	for _, p := range all {
		ids := strings.Fields(p)
		pair := ids[0] + " " + ids[len(ids)-1]
		pairs[pair] = append(pairs[pair], len(ids)/2)
	}
	var want []string
	for pair, lens := range pairs {
		sort.Ints(lens)
		lens = pick(prefix, k, lens)
		for _, n := range lens {
			if strings.HasPrefix(prefix, "ANY") && !strings.HasPrefix(prefix, "ANY SHORTEST") {
				n = -1
			}
			want = append(want, fmt.Sprintf("%s %d", pair, n))
		}
	}
	var got []string
	for _, p := range pathsOf(t, s, text, vars) {
		if !slices.Contains(all, p) {
			t.Fatalf("%s\nfound %s, which is no path of the pattern: %s", text, p, strings.Join(all, "\n  "))
		}
		ids := strings.Fields(p)
		n := len(ids) / 2
		if strings.HasPrefix(prefix, "ANY") && !strings.HasPrefix(prefix, "ANY SHORTEST") {
			n = -1
		}
		got = append(got, fmt.Sprintf("%s %s %d", ids[0], ids[len(ids)-1], n))
	}
	sort.Strings(got)
	sort.Strings(want)
	if !slices.Equal(got, want) {
		t.Fatalf("%s\ngot  %s\nwant %s", text, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// between asks for the paths alone that have the ends of one of them.
func between(p *walkPattern, text string, all []string, path string) (string, *value.Object, []string) {
	ends := func(path string) (from, to string) {
		ids := strings.Fields(path)
		return ids[0], ids[len(ids)-1]
	}
	id := func(text string) value.Value {
		table, key, _ := strings.Cut(text, ":")
		return value.Record(table, value.Int(int64(key[0]-'0')))
	}
	from, to := ends(path)
	var kept []string
	for _, other := range all {
		if a, b := ends(other); a == from && b == to {
			kept = append(kept, other)
		}
	}
	cond := fmt.Sprintf("%s.id = $from AND %s.id = $to RETURN ", p.nodes[0].name, p.nodes[len(p.nodes)-1].name)
	if strings.Contains(text, " WHERE ") {
		cond = " AND " + cond
	} else {
		cond = " WHERE " + cond
	}
	return strings.Replace(text, " RETURN ", cond, 1), value.NewObject(value.Field{Name: "from", Value: id(from)},
		value.Field{Name: "to", Value: id(to)}), kept
}

// pick are the lengths that a prefix keeps of sorted ones.
func pick(prefix string, k int, lens []int) []int {
	switch {
	case prefix == "ALL" || strings.HasPrefix(prefix, "ALL ") && !strings.HasPrefix(prefix, "ALL SHORTEST"):
		return lens
	case strings.HasPrefix(prefix, "ALL SHORTEST"):
		k = 1
	case strings.HasSuffix(prefix, "GROUPS"):
	case strings.HasPrefix(prefix, "ANY SHORTEST") || prefix == "ANY" || strings.HasPrefix(prefix, "ANY ") &&
		prefix[4] >= 'A':
		return lens[:1]
	default:
		return lens[:min(k, len(lens))]
	}
	groups := 0
	for i := range lens {
		if i == 0 || lens[i] != lens[i-1] {
			if groups++; groups > k {
				return lens[:i]
			}
		}
	}
	return lens
}
