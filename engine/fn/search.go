package fn

import (
	"math"
	"sort"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

func searchFuncs() []entry {
	return []entry{
		{sig: "volatile search::analyze(...analyzer_and_text: any) -> array<string>", impl: searchAnalyze,
			doc: "The tokens that a defined analyzer makes of a text."},
		{sig: "volatile search::score(...ref: any) -> float", impl: searchIndex(1, SearchHost.SearchScore),
			doc: "How well the row fits the MATCHES operator with the reference."},
		{sig: "volatile search::highlight(...prefix_suffix_ref_whole: any) -> any", impl: searchIndex(3, SearchHost.SearchHighlight),
			doc: "The matched text with a prefix and a suffix around each match."},
		{sig: "volatile search::offsets(...ref_partial: any) -> object", impl: searchIndex(1, SearchHost.SearchOffsets),
			doc: "Where the matches are in the matched text."},
		{sig: "search::rrf(...lists_limit_k: any) -> array<object>", impl: searchRRF,
			doc: "Lists of rows merged by reciprocal rank, the best first, with their rrf_score."},
		{sig: "search::linear(lists: any, weights: any, limit: any, norm: any) -> array<object>", impl: searchLinear,
			doc: "Lists of rows merged by weighted scores, the best first, with their linear_score."},
	}
}

func searchAnalyze(c Call, args []value.Value) (value.Value, error) {
	if len(args) < 2 {
		return value.None, errs.Internal("Function 'search::analyze' expects two arguments: analyzer name and value")
	}
	for i, what := range []string{"analyzer name", "value"} {
		if args[i].Kind() != value.KindString {
			return value.None, errs.Internal("Function 'search::analyze' expects a string %s, got: %s", what, typeName(args[i]))
		}
	}
	h, err := need[AnalyzerHost](c)
	if err != nil {
		return value.None, err
	}
	tokens, err := h.Analyze(args[0].Str(), args[1].Str())
	if err != nil {
		return value.None, err
	}
	out := make([]value.Value, len(tokens))
	for i, t := range tokens {
		out[i] = value.Str(t)
	}
	return value.ArrayOf(out), nil
}

// searchIndex makes a function that the running query's index answers.
func searchIndex(least int, ask func(SearchHost, []value.Value) (value.Value, error)) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		if len(args) < least {
			return value.None, errs.Internal("Invalid query: Index function '%s' requires at least %d arguments", c.Func.Name, least)
		}
		h, ok := c.Host.(SearchHost)
		if !ok {
			return value.None, errs.Internal("Invalid query: Index function '%s': no MATCHES clause found in WHERE condition", c.Func.Name)
		}
		return ask(h, args)
	}
}

// fusion collects rows of several lists by their id.
type fusion struct {
	rows  []fused
	index map[string]int // text of the id → place in rows
}

type fused struct {
	row   *value.Object
	score float64
}

// add merges a row into the one of the same id, the later fields winning, and adds to its score. Rows without an id are
// left out.
func (f *fusion) add(row value.Value, score float64) {
	if row.Kind() != value.KindObject {
		return
	}
	o := row.Object()
	id, ok := o.Get("id")
	if !ok {
		return
	}
	key := id.Text()
	at, known := f.index[key]
	if !known {
		f.index[key] = len(f.rows)
		f.rows = append(f.rows, fused{o, score})
		return
	}
	r := &f.rows[at]
	r.score += score
	for _, field := range o.Fields() {
		r.row = r.row.With(field.Name, field.Value)
	}
}

// best is at most limit rows by descending score, with the score in a field.
func (f *fusion) best(limit int, field string) value.Value {
	sort.SliceStable(f.rows, func(i, j int) bool { return f.rows[i].score > f.rows[j].score })
	rows := f.rows[:min(limit, len(f.rows))]
	out := make([]value.Value, len(rows))
	for i, r := range rows {
		out[i] = value.ObjectOf(r.row.With(field, value.Float(r.score)))
	}
	return value.ArrayOf(out)
}

func searchRRF(c Call, args []value.Value) (value.Value, error) {
	if len(args) == 0 || args[0].Kind() != value.KindArray {
		return value.Array(), nil
	}
	if len(args) < 2 {
		args = []value.Value{args[0], value.None}
	}
	limit, err := c.fusionLimit(args[1], "limit")
	if err != nil {
		return value.None, err
	}
	k := 60.0
	if len(args) > 2 && args[2].Kind().IsNumber() {
		k = math.Trunc(args[2].AsFloat())
	}
	if k < 0 {
		return value.None, c.incorrect("RRF constant must be at least 0")
	}
	f := fusion{index: make(map[string]int)}
	for _, list := range args[0].Elems() {
		if list.Kind() != value.KindArray {
			continue
		}
		for rank, row := range list.Elems() {
			f.add(row, 1/(k+float64(rank+1)))
		}
	}
	return f.best(limit, "rrf_score"), nil
}

// fusionLimit is how many rows to give; name is how the function's errors spell the argument.
func (c Call) fusionLimit(v value.Value, name string) (int, error) {
	if !v.Kind().IsNumber() {
		return 0, c.incorrect("limit must be a number")
	}
	n := v.AsFloat()
	if !(n >= 1) {
		return 0, c.incorrect("%s must be at least 1", name)
	}
	return int(min(n, math.MaxInt32)), nil
}

func searchLinear(c Call, args []value.Value) (value.Value, error) {
	if args[0].Kind() != value.KindArray {
		return value.Array(), nil
	}
	if args[1].Kind() != value.KindArray {
		return value.None, c.incorrect("weights must be an array")
	}
	limit, err := c.fusionLimit(args[2], "Limit")
	if err != nil {
		return value.None, err
	}
	norm := args[3]
	if norm.Kind() != value.KindString {
		return value.None, c.incorrect("norm must be a string")
	}
	if norm.Str() != "minmax" && norm.Str() != "zscore" {
		return value.None, c.incorrect("Norm must be 'minmax' or 'zscore'")
	}
	lists, weights := args[0].Elems(), args[1].Elems()
	if len(lists) != len(weights) {
		return value.None, c.incorrect("The results and the weights array should have the same length")
	}
	for i, w := range weights {
		if !w.Kind().IsNumber() {
			return value.None, c.incorrect("Weight at index %d must be a number", i)
		}
	}
	f := fusion{index: make(map[string]int)}
	before := 0
	for i, list := range lists {
		if list.Kind() != value.KindArray {
			continue
		}
		rows := list.Elems()
		scores := rowScores(rows, before)
		before += len(rows)
		normalise(scores, norm.Str())
		for j, row := range rows {
			f.add(row, weights[i].AsFloat()*scores[j])
		}
	}
	return f.best(limit, "linear_score"), nil
}

// rowScores are the scores of rows as they come: a distance counts the less the better, a score the more; a row with
// neither counts by its rank, with the rows of the lists before.
func rowScores(rows []value.Value, before int) []float64 {
	out := make([]float64, len(rows))
	for i, row := range rows {
		out[i] = 1 / float64(before+i+1)
		if row.Kind() != value.KindObject {
			continue
		}
		o := row.Object()
		if v, ok := o.Get("distance"); ok && v.Kind().IsNumber() {
			out[i] = 1 / (1 + v.AsFloat())
			continue
		}
		for _, name := range []string{"ft_score", "score"} {
			if v, ok := o.Get(name); ok && v.Kind().IsNumber() {
				out[i] = v.AsFloat()
				break
			}
		}
	}
	return out
}

// normalise scales scores in place to 0..1, or to mean 0 and deviation 1. Equal scores become 0.
func normalise(scores []float64, norm string) {
	if len(scores) == 0 {
		return
	}
	if norm == "minmax" {
		low, high := scores[0], scores[0]
		for _, s := range scores {
			low, high = min(low, s), max(high, s)
		}
		for i, s := range scores {
			if high > low {
				scores[i] = (s - low) / (high - low)
			} else {
				scores[i] = 0
			}
		}
		return
	}
	mean, variance := 0.0, 0.0
	for _, s := range scores {
		mean += s / float64(len(scores))
	}
	for _, s := range scores {
		variance += (s - mean) * (s - mean) / float64(len(scores))
	}
	for i, s := range scores {
		if variance > 0 {
			scores[i] = (s - mean) / math.Sqrt(variance)
		} else {
			scores[i] = 0
		}
	}
}
