package textpatch

import "slices"

// job is the work on one patch. It asks poll whether to go on after each piece of the work.
//
// What the steps of a patch cost is hard to tell beforehand: many of them look at, or copy, all of a text for each
// edit. So every function that walks over a text counts what it walks over. When poll says no, the job ends by a panic
// that does not leave the package, see ended.
type job struct {
	poll  func() error
	work  int // since poll was asked
	steps int // of the searches for a middle
}

// pollEach is how many characters are looked at between two questions.
const pollEach = 1 << 20

// stopped is the error that poll returned.
type stopped struct{ err error }

// did counts n characters that are looked at.
func (j *job) did(n int) {
	if j.work += n; j.work < pollEach {
		return
	}
	j.work = 0
	if j.poll == nil {
		return
	}
	if err := j.poll(); err != nil {
		panic(stopped{err})
	}
}

// ended makes the end of a job that was stopped into an error.
func (j *job) ended(err *error) {
	switch p := recover().(type) {
	case nil:
	case stopped:
		*err = p.err
	default:
		panic(p)
	}
}

// join is its parts in a new slice.
func (j *job) join(parts ...[]rune) []rune {
	out := slices.Concat(parts...)
	j.did(len(out))
	return out
}

func (j *job) commonPrefix(a, b []rune) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			n = i
			break
		}
	}
	j.did(n)
	return n
}

func (j *job) commonSuffix(a, b []rune) int {
	n := min(len(a), len(b))
	for i := 1; i <= n; i++ {
		if a[len(a)-i] != b[len(b)-i] {
			n = i - 1
			break
		}
	}
	j.did(n)
	return n
}

// commonOverlap is how many characters at the end of a are the start of b.
func (j *job) commonOverlap(a, b []rune) int {
	n := min(len(a), len(b))
	a, b = a[len(a)-n:], b[:n]
	j.did(3 * n)
	border := make([]int, n) // of b[:i+1]: how long a proper prefix is that it ends with too (Knuth, Morris, Pratt)
	for i, k := 1, 0; i < n; i++ {
		for k > 0 && b[i] != b[k] {
			k = border[k-1]
		}
		if b[i] == b[k] {
			k++
		}
		border[i] = k
	}
	k := 0
	for _, r := range a {
		for k > 0 && r != b[k] {
			k = border[k-1]
		}
		if r == b[k] {
			k++
		}
	}
	return k
}

// hashBase is the base of the rolling hash of index.
const hashBase = 0x9e3779b97f4a7c15

// index is where sub first stands in s at or after from; -1 if nowhere.
func (j *job) index(s, sub []rune, from int) int {
	from = max(from, 0)
	if from+len(sub) > len(s) {
		return -1
	}
	j.did(len(sub))
	var want, have, lead uint64 = 0, 0, 1
	for i, r := range sub {
		want = want*hashBase + uint64(r)
		have = have*hashBase + uint64(s[from+i])
		if i > 0 {
			lead *= hashBase
		}
	}
	for i := from; ; i++ {
		if have == want {
			j.did(len(sub))
			if slices.Equal(s[i:i+len(sub)], sub) {
				j.did(i - from)
				return i
			}
		}
		if i+len(sub) >= len(s) {
			break
		}
		if len(sub) > 0 {
			have = (have-uint64(s[i])*lead)*hashBase + uint64(s[i+len(sub)])
		}
	}
	j.did(len(s) - from)
	return -1
}

// lastIndex is where sub last stands in s at or before from; -1 if nowhere. sub is short.
func (j *job) lastIndex(s, sub []rune, from int) int {
	from = min(from, len(s)-len(sub))
	for i := from; i >= 0; i-- {
		if slices.Equal(s[i:i+len(sub)], sub) {
			j.did(from - i)
			return i
		}
	}
	j.did(max(0, from))
	return -1
}
