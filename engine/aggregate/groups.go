package aggregate

import (
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// Groups is the groups of a statement, in the order in which they come until Sort. It belongs to one goroutine.
type Groups struct {
	List  []*Group
	keys  *Keys
	calls []*ast.Call
	lists int
	room  []Group // for those to come
	spare []Total
}

// Group is the state of one group.
type Group struct {
	Keys   []value.Value
	Totals []Total         // by call
	Lists  [][]value.Value // of fields that collect
}

// groupsRoom is how many groups Groups makes room for at once.
const groupsRoom = 64

// NewGroups makes an empty list of groups with a Total for each call, and so many lists.
func NewGroups(calls []*ast.Call, lists int) *Groups {
	return &Groups{keys: NewKeys(), calls: calls, lists: lists}
}

// Find is the group with the keys; where there is none yet, it is added, and had is false. The keys are copied.
func (g *Groups) Find(keys []value.Value) (gr *Group, had bool) {
	if n, had := g.keys.Of(keys); had {
		return g.List[n], true
	}
	return g.Add(false), false
}

// Add adds the group whose keys came last, or that of a GROUP ALL, which has no keys.
func (g *Groups) Add(all bool) *Group {
	if len(g.room) == 0 {
		n := min(groupsRoom, 2*len(g.List)+1)
		g.room, g.spare = make([]Group, n), make([]Total, n*len(g.calls))
	}
	n, out := len(g.calls), &g.room[0]
	g.room = g.room[1:]
	out.Totals, g.spare = g.spare[:n:n], g.spare[n:]
	for i, c := range g.calls {
		out.Totals[i] = New(c)
	}
	if g.lists > 0 {
		out.Lists = make([][]value.Value, g.lists)
	}
	if !all {
		out.Keys = g.keys.At(len(g.List))
	}
	g.List = append(g.List, out)
	return out
}

// Sort puts the groups in the order of their keys. No more can be added.
func (g *Groups) Sort() {
	g.keys = nil
	slices.SortStableFunc(g.List, func(a, b *Group) int { return slices.CompareFunc(a.Keys, b.Keys, value.Compare) })
}
