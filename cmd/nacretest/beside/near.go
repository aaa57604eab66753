package beside

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

const (
	dimension  = 128
	directions = 16 // vectors differ in so many directions above all, as those of models do
	neighbours = 10 // are asked for
	questions  = 50 // are asked by turns
	// wantRecall is the part of the true neighbours that a search by a graph has to find.
	wantRecall = 0.95
	// group is that of the vectors that a filtered search is for, out of groups of them.
	group, groups = 3, 10
)

// widths are how many candidates a search by a graph may keep. Each side gets the least that finds enough.
var widths = []int{10, 20, 40, 80, 160, 320, 640, 1000}

// near is a search for the nearest vectors: "$q" in the texts is the question, EF the width.
type near struct {
	few      bool // of a tenth of the vectors
	filtered bool
	graph    bool // by an index
}

// nearest is a piece of work for the sides that have vectors.
func nearest(name string, n near) work {
	table, filter, how, far := "many", "", "EUCLIDEAN", "(v <-> $1) + 0" // a sum is no order of an index
	if n.few {
		table = "few"
	}
	if n.filtered {
		filter = fmt.Sprint("g = ", group)
	}
	if n.graph {
		how, far = "EF", "v <-> $1"
	}
	w := work{name: name, near: &n,
		nacre:    fmt.Sprintf("SELECT VALUE id FROM %s WHERE v <|%d,%s|> $q", table, neighbours, how),
		postgres: "SELECT id FROM " + table}
	if filter != "" {
		w.nacre += " AND " + filter
		w.postgres += " WHERE " + filter
	}
	w.postgres += fmt.Sprintf(" ORDER BY %s LIMIT %d", far, neighbours)
	return w
}

// makeVectors returns vectors whose elements have few digits, so that each side stores the same, and questions.
func makeVectors(n int) (vectors, asked [][]float32) {
	r := rand.New(rand.NewPCG(8, 8))
	var axes [directions][dimension]float64
	for i := range axes {
		for j := range axes[i] {
			axes[i][j] = r.NormFloat64()
		}
	}
	vectors = make([][]float32, n+questions)
	for i := range vectors {
		var sum [dimension]float64
		for j := range axes {
			by := r.NormFloat64()
			for k, x := range axes[j] {
				sum[k] += by * x
			}
		}
		vectors[i] = make([]float32, dimension)
		for k, x := range sum {
			vectors[i][k] = float32(math.Round((x+r.NormFloat64()/2)*256) / 256)
		}
	}
	return vectors[:n], vectors[n:]
}

// groupOf is the field g of a vector.
func groupOf(i int) int { return i % groups }

// vectorText is a vector as both databases read it.
func vectorText(v []float32) string {
	b := []byte{'['}
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'f', -1, 64)
	}
	return string(append(b, ']'))
}

// few is how many of the vectors the smaller table has.
func (d *data) few() int { return len(d.vectors) / 10 }

// truth returns the ids of the true neighbours of each question.
func (d *data) truth(n *near) [][]int64 {
	vectors := d.vectors
	if n.few {
		vectors = vectors[:d.few()]
	}
	out := make([][]int64, len(d.asked))
	for i, q := range d.asked {
		far := make([]float64, len(vectors))
		var ids []int64
		for j, v := range vectors {
			if n.filtered && groupOf(j) != group {
				continue
			}
			for k, x := range v {
				far[j] += float64(x-q[k]) * float64(x-q[k])
			}
			ids = append(ids, int64(j))
		}
		slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(far[a], far[b]) })
		out[i] = ids[:min(neighbours, len(ids))]
	}
	return out
}

// tune finds the least width by which a side finds enough of the truth, puts it into the work, and says so.
func (w *work) tune(ctx context.Context, s side, d *data) (tuned work, said string, err error) {
	truth := d.truth(w.near)
	if !w.near.graph {
		tuned, recall, err := w.tryWidth(ctx, s, d, truth, 0)
		if err == nil && recall < 1 {
			err = fmt.Errorf("finds %.3f of the nearest", recall)
		}
		return tuned, "", err
	}
	for _, width := range widths {
		tuned, recall, err := w.tryWidth(ctx, s, d, truth, width)
		if err != nil || recall >= wantRecall {
			return tuned, fmt.Sprintf("recall %.3f, ef %d", recall, width), err
		}
	}
	return tuned, "", fmt.Errorf("finds less than %v of the nearest, even by ef %d", wantRecall, widths[len(widths)-1])
}

// tryWidth gives the work with a width, and the part of the truth that a side finds by it.
func (w *work) tryWidth(ctx context.Context, s side, d *data, truth [][]int64, width int) (work, float64, error) {
	tuned := *w
	tuned.width, tuned.asked = width, d.asked
	tuned.nacre = strings.Replace(w.nacre, "EF", fmt.Sprint(max(width, neighbours)), 1)
	hits, all := 0, 0
	for i, q := range d.asked {
		ids, err := s.nearest(ctx, &tuned, q)
		if err != nil {
			return tuned, 0, err
		}
		for _, id := range ids {
			if slices.Contains(truth[i], id) {
				hits++
			}
		}
		all += len(truth[i])
	}
	return tuned, float64(hits) / float64(all), nil
}
