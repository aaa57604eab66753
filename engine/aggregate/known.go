package aggregate

import "github.com/nacredb/nacre/engine/value"

// Known is the groups of the numbers that workers, each with a Keys of its own, have given to keys. Each number is met
// for the first time in its turn: behind n numbers comes number n.
type Known struct {
	workers []knownBy
	now     *knownBy
	fresh   [][]value.Value // the keys of the numbers behind those of now
}

// knownBy is what is known of a worker.
type knownBy struct {
	keys *Keys
	list []*Group // by number
}

// Turn turns to the numbers that a worker has given with keys. Those that it gave with other keys are forgotten. fresh
// is the keys of the numbers that come next.
func (k *Known) Turn(worker int, keys *Keys, fresh [][]value.Value) {
	for len(k.workers) <= worker {
		k.workers = append(k.workers, knownBy{})
	}
	k.now, k.fresh = &k.workers[worker], fresh
	if k.now.keys != keys {
		k.now.keys, k.now.list = keys, k.now.list[:0]
	}
}

// Group is the group of a number; nil where that is new: Keys are its keys then, and Add tells its group.
func (k *Known) Group(number int) *Group {
	if number < len(k.now.list) {
		return k.now.list[number]
	}
	return nil
}

// Keys is the keys of the next new number.
func (k *Known) Keys() []value.Value { return k.fresh[0] }

// Add tells the group of the next new number.
func (k *Known) Add(g *Group) { k.now.list, k.fresh = append(k.now.list, g), k.fresh[1:] }
