// Package vector finds nearest neighbours: by comparing with everything, and by graphs in memory that
// are kept in step with what is stored.
//
// What is stored is the truth: which vector each record has, written in the record's transaction, and how many
// changes there were. The vector of a field is stored once, in the record. A graph (HNSW: Malkov and Yashunin) is in
// memory only, over all committed vectors of an index, shared by all readers; a checkpoint of its links is stored from
// time to time so that it need not be built anew. Opening merges the two: vectors that the checkpoint does not know are
// added, links to what is gone are mended. A crash can only make the checkpoint older.
//
// A search answers for the snapshot of its transaction. Nodes of the graph know the versions at which
// their vectors came and went; changes that were committed but are not in the graph yet, and those of
// the transaction itself, are compared one by one. Where the graph cannot speak for a snapshot (an old
// one, or changes by another process) the stored vectors are compared instead: slower, never wrong.
//
// Keys, inside the index data space of engine/key (number8: 8 bytes big endian):
//
//	0x01 RK              a vector        number8 crc4: the CRC-32C of the elements, which are those of the field
//	                                     number8 elements, little endian: of an expression, or of 24 bytes at most
//	0x02                 changes         counter
//	0x03 0x00            checkpoint      generation8 nodes8 entry8 (number of the entry point)
//	0x03 0x01 gen8 part8 part of it      (number8 level1 (uv(count) uv(neighbour)…) per layer)…
//
// A number is given to every vector that is stored and never again; neighbours are places in the order
// of the checkpoint's nodes. The package knows records only by their keys, and no permissions.
package vector

import (
	"math"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// The parts of an index.
const (
	partVector     byte = 1
	partChanges    byte = 2
	partCheckpoint byte = 3
)

// Spec is the definition of an index.
type Spec struct {
	Dimension    int
	Type         string // of the elements: F64 F32 I64 I32 I16
	Metric       Metric
	Links        int // of a node, on each layer but the lowest (M)
	LowestLinks  int // on the lowest layer (M0)
	Construction int // candidates that are looked at to link a new node (EFC)
	Level        float64
	Extend       bool // look at the neighbours of candidates too
	KeepPruned   bool // fill up with candidates that the heuristic left out
}

// NewSpec reads a definition, whose defaults are filled in. A DISKANN definition is served by the same graph, whose
// degree is that of its parameters: they tune another structure and are kept for the definition only.
func NewSpec(d *ast.DefineIndex) (Spec, bool) {
	v := d.Vector
	s := Spec{Dimension: int(v.Dimension), Type: v.Type, Links: int(v.M), LowestLinks: int(v.M0),
		Construction: int(v.EFC),
		Extend:       v.Extend, KeepPruned: v.KeepPruned}
	if s.Type == "" {
		s.Type = "F32"
	}
	metric := v.Distance
	if metric == "" {
		metric = "EUCLIDEAN"
	}
	var ok bool
	if s.Metric, ok = NewMetric(metric, v.Order); !ok {
		return s, false
	}
	switch v.LM.Kind() {
	case value.KindFloat:
		s.Level = v.LM.Float()
	case value.KindInt:
		s.Level = float64(v.LM.Int())
	}
	if d.Kind == ast.IndexDiskANN {
		s.Links, s.Construction = diskDegree(v), diskConstruction(v)
		s.LowestLinks, s.Level = 2*s.Links, 1/math.Log(float64(s.Links))
	}
	s.Links = min(max(s.Links, 2), maxLinks)
	s.LowestLinks = min(max(s.LowestLinks, s.Links), 2*maxLinks)
	s.Construction = min(max(s.Construction, s.Links), maxCandidates)
	if !(s.Level > 0) || s.Level > maxLevelFactor {
		s.Level = 1 / math.Log(float64(s.Links))
	}
	return s, s.size() > 0
}

// Limits of what definitions and queries may ask for.
const (
	maxLinks       = 256
	maxCandidates  = 1 << 16
	maxLevelFactor = 4
)

func diskDegree(v *ast.VectorIndex) int {
	if v.Degree > 0 {
		return int(min(v.Degree/2, maxLinks))
	}
	return 32
}

func diskConstruction(v *ast.VectorIndex) int {
	if v.LBuild > 0 {
		return int(min(v.LBuild, maxCandidates))
	}
	return 100
}

// size is that of an element in bytes; 0 for an unknown type.
func (s *Spec) size() int {
	switch s.Type {
	case "F64", "I64":
		return 8
	case "F32", "I32":
		return 4
	case "I16", "F16":
		return 2
	case "I8", "U8":
		return 1
	}
	return 0
}
