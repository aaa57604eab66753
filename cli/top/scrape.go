package top

import (
	"bufio"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxSeries is how many series of a server are read.
const maxSeries = 20_000

// series are the figures of a scrape by name with labels, as the server writes them.
type series map[string]float64

// parseMetrics reads the text format of Prometheus. Lines that it does not know are left out.
func parseMetrics(text string) series {
	out := series{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() && len(out) < maxSeries {
		line := lines.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if at <= 0 {
			continue
		}
		if n, err := strconv.ParseFloat(line[at+1:], 64); err == nil && !math.IsNaN(n) {
			out[line[:at]] = n
		}
	}
	return out
}

// sum adds up all series of a family.
func (s series) sum(family string) float64 {
	total := s[family]
	for name, n := range s {
		if strings.HasPrefix(name, family+"{") {
			total += n
		}
	}
	return total
}

// label are the figures of a family by the value of one label, added up over all other labels.
func (s series) label(family, label string) map[string]float64 {
	out := map[string]float64{}
	for name, n := range s {
		rest, ok := strings.CutPrefix(name, family+"{")
		if !ok {
			continue
		}
		if _, rest, ok = strings.Cut(rest, label+`="`); !ok {
			continue
		}
		if v, _, ok := strings.Cut(rest, `"`); ok {
			out[v] += n
		}
	}
	return out
}

// quantiles are times in seconds that the shares of the events since an older scrape did not exceed, within their
// buckets; nil where there were none.
func (s series) quantiles(since series, family string, shares ...float64) []float64 {
	type bucket struct{ upTo, count float64 }
	var buckets []bucket
	old := since.label(family+"_bucket", "le")
	for le, n := range s.label(family+"_bucket", "le") {
		upTo := math.Inf(1)
		if le != "+Inf" {
			var err error
			if upTo, err = strconv.ParseFloat(le, 64); err != nil {
				continue
			}
		}
		buckets = append(buckets, bucket{upTo, n - old[le]})
	}
	slices.SortFunc(buckets, func(a, b bucket) int { return cmp.Compare(a.upTo, b.upTo) })
	if len(buckets) == 0 || buckets[len(buckets)-1].count <= 0 {
		return nil
	}
	total := buckets[len(buckets)-1].count
	out := make([]float64, 0, len(shares))
	for _, share := range shares {
		want, low, below := share*total, 0.0, 0.0
		for _, b := range buckets {
			if b.count >= want {
				if math.IsInf(b.upTo, 1) {
					b.upTo = low // all that is known is that it took longer
				}
				out = append(out, low+(b.upTo-low)*(want-below)/max(b.count-below, 1))
				break
			}
			low, below = b.upTo, b.count
		}
	}
	return out
}
