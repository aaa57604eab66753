package aggregate

import (
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// Groups is the groups of a statement, in the order in which they come until Sort. It belongs to one goroutine, except
// for Keys.Hash.
type Groups struct {
	*Keys
	List  []*Group
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
	return &Groups{Keys: NewKeys(), calls: calls, lists: lists}
}

// Find is the group with the keys, whose Hash is sum; nil where there is none yet.
func (g *Groups) Find(sum uint64, keys []value.Value) *Group {
	if i, had := g.Hashed(sum, keys); had {
		return g.List[i]
	}
	return nil
}

// Add adds the group that Find has not found; the first one of a GROUP ALL has no keys.
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
		out.Keys = g.At(len(g.List))
	}
	g.List = append(g.List, out)
	return out
}

// Sort puts the groups in the order of their keys. No more can be added.
func (g *Groups) Sort() {
	g.Keys = nil
	slices.SortStableFunc(g.List, func(a, b *Group) int { return slices.CompareFunc(a.Keys, b.Keys, value.Compare) })
}
