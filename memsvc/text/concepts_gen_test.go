package text

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

var wordnet = flag.String("wordnet", "", "write concepts.bin from this directory (Debian: /usr/share/wordnet)")

// synset is one meaning as WordNet keeps it.
type synset struct {
	words   []string // lower case, _ for a space
	counts  []float64
	parents []string
	related []string
}

// TestWriteConcepts makes concepts.bin from WordNet 3.0: meanings, what they are kinds of, what they are related to,
// and the words that have them with how often they do.
func TestWriteConcepts(t *testing.T) {
	if *wordnet == "" {
		t.Skip("it runs with -wordnet DIR only")
	}
	counts := senseCounts(t)
	sets := map[string]*synset{}
	for _, pos := range []string{"noun", "verb", "adj", "adv"} {
		readSynsets(t, pos, counts, sets)
	}
	var ids []string
	for id := range sets {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	out := encodeConcepts(ids, sets)
	var z bytes.Buffer
	w, err := flate.NewWriter(&z, flate.BestCompression)
	if err == nil {
		_, err = w.Write(out)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = os.WriteFile("concepts.bin", z.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d meanings, %d bytes, %d packed", len(ids), len(out), z.Len())
}

// senseCounts is how often a word had a meaning in the texts that were read for WordNet.
func senseCounts(t *testing.T) map[string]float64 {
	f, err := os.Open(filepath.Join(*wordnet, "cntlist.rev"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]float64{}
	for in := bufio.NewScanner(f); in.Scan(); {
		fields := strings.Fields(in.Text())
		key := strings.Split(fields[0], ":")
		n, err := strconv.Atoi(fields[2])
		if err != nil || len(key) < 3 {
			t.Fatalf("%q: %v", in.Text(), err)
		}
		out[strings.Join(key[:3], ":")] = float64(n)
	}
	return out
}

var ssTypes = map[string]string{"n": "1", "v": "2", "a": "3", "r": "4", "s": "5"}

func readSynsets(t *testing.T, pos string, counts map[string]float64, sets map[string]*synset) {
	f, err := os.Open(filepath.Join(*wordnet, "data."+pos))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if strings.HasPrefix(in.Text(), "  ") {
			continue
		}
		head, _, _ := strings.Cut(in.Text(), " | ")
		f := strings.Fields(head)
		s := &synset{}
		n, _ := strconv.ParseInt(f[3], 16, 32)
		at := 4
		for range n {
			word, _, _ := strings.Cut(f[at], "(")
			lexID, _ := strconv.ParseInt(f[at+1], 16, 32)
			key := fmt.Sprintf("%s%%%s:%s:%02d", strings.ToLower(word), ssTypes[f[2]], f[1], lexID)
			s.words = append(s.words, word)
			s.counts = append(s.counts, counts[key])
			at += 2
		}
		m, _ := strconv.Atoi(f[at])
		at++
		for range m {
			to := f[at+2] + f[at+1]
			switch f[at] {
			case "@":
				s.parents = append(s.parents, to)
			case "+", "&", "$", "*", "\\":
				s.related = append(s.related, to)
			}
			at += 4
		}
		id := f[2]
		if id == "s" {
			id = "a"
		}
		sets[id+f[0]] = s
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
}

// encodeConcepts writes, as numbers of variable length: the meanings with parents and relations, then the stems in
// order, each with its meanings and their shares in 255ths.
func encodeConcepts(ids []string, sets map[string]*synset) []byte {
	number := map[string]int{}
	for i, id := range ids {
		number[id] = i
	}
	var out []byte
	num := func(n int) { out = binary.AppendUvarint(out, uint64(n)) }
	num(len(ids))
	for i, id := range ids {
		for _, list := range [][]string{sets[id].parents, sets[id].related} {
			seen := map[int]bool{i: true}
			var to []int
			for _, o := range list {
				if n, ok := number[o]; ok && !seen[n] {
					seen[n] = true
					to = append(to, n)
				}
			}
			num(len(to))
			for _, n := range to {
				out = binary.AppendVarint(out, int64(n-i))
			}
		}
	}
	single := map[string]bool{}
	for _, s := range sets {
		for _, w := range s.words {
			single[w] = true
		}
	}
	senses := map[string]map[int]float64{}
	for i, id := range ids {
		for j, w := range sets[id].words {
			if first, _, ok := strings.Cut(w, "_"); ok {
				if single[first] || single[strings.ToLower(first)] {
					continue // a phrase; its first word alone means something else
				}
				w = first
			}
			if !plainWord(w) || Stop(w) {
				continue
			}
			stem := Stem(w)
			if senses[stem] == nil {
				senses[stem] = map[int]float64{}
			}
			senses[stem][i] += sets[id].counts[j] + 0.4
		}
	}
	num(len(senses))
	for _, stem := range sortedStems(senses) {
		num(len(stem))
		out = append(out, stem...)
		out = appendSenses(out, senses[stem])
	}
	return out
}

func sortedStems(m map[string]map[int]float64) []string {
	out := make([]string, 0, len(m))
	for s := range m {
		out = append(out, s)
	}
	sort.Strings(out)
	return out
}

// maxSenses is how many meanings of a word are kept, the most frequent ones.
const maxSenses = 8

func appendSenses(out []byte, senses map[int]float64) []byte {
	type sense struct {
		id int
		n  float64
	}
	var all []sense
	var sum float64
	for id, n := range senses {
		all = append(all, sense{id, n})
		sum += n
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].n != all[j].n {
			return all[i].n > all[j].n
		}
		return all[i].id < all[j].id
	})
	all = all[:min(len(all), maxSenses)]
	out = binary.AppendUvarint(out, uint64(len(all)))
	for _, s := range all {
		out = binary.AppendUvarint(out, uint64(s.id))
		out = append(out, byte(max(1, math.Round(s.n/sum*255))))
	}
	return out
}
