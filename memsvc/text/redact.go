package text

import (
	"regexp"
	"strings"
	"sync"
)

type kindOfData struct {
	name string
	re   *regexp.Regexp
	ok   func(string) bool
}

// personal are the kinds of personal data that Redact finds. Expressions of this package are compiled at their first
// use: the other commands of the program do not wait for them.
var personal = sync.OnceValue(func() []kindOfData {
	return []kindOfData{
		{"EMAIL", regexp.MustCompile(`[\w.+-]+@[\w-]+(?:\.[\w-]+)+`), nil},
		{"IBAN", regexp.MustCompile(`\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b`), nil},
		{"CARD", regexp.MustCompile(`\b\d(?:[ -]?\d){12,18}\b`), luhn},
		{"SSN", regexp.MustCompile(`\b\d{3}-\d{2}-\d{4}\b`), nil},
		{"IP", regexp.MustCompile(`\b(?:\d{1,3}\.){3}\d{1,3}\b`), nil},
		{"PHONE", regexp.MustCompile(`\+\d[\d ()./-]{6,17}\d|\(\d{3}\) ?\d{3}[ -]\d{4}\b|\b\d{3}[ .-]\d{3}[ .-]\d{4}\b`), nil},
		{"KEY", regexp.MustCompile(`\b(?:sk|pk|ghp|gho|xox[bp]|AKIA|msk|mmk)[-_A-Za-z0-9]{12,}\b`), nil},
	}
})

// Redact puts [KIND] in the place of personal data and counts what it found.
func Redact(s string) (string, int) {
	n := 0
	for _, p := range personal() {
		s = p.re.ReplaceAllStringFunc(s, func(m string) string {
			if p.ok != nil && !p.ok(m) {
				return m
			}
			n++
			return "[" + p.name + "]"
		})
	}
	return s, n
}

// luhn checks the last digit of a card number.
func luhn(s string) bool {
	sum, double, digits := 0, false, 0
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] < '0' || s[i] > '9' {
			continue
		}
		d := int(s[i] - '0')
		if double {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum, double, digits = sum+d, !double, digits+1
	}
	return sum%10 == 0 && digits >= 13
}

var injections = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)ignore (?:all |any )?(?:previous|prior|above|earlier) (?:instructions|prompts)|disregard (?:the|all|your) (?:above|previous|system|instructions)|` +
		`reveal (?:your|the) (?:system prompt|instructions|api key)|you are now (?:in )?(?:developer|dan|jailbreak)|</?(?:system|assistant)>|show (?:me )?(?:the )?(?:memories|data) of (?:other|all) (?:users|contexts|tenants)`)
})

// Injection is a passage that tries to give orders to a language model, or "".
func Injection(s string) string { return injections().FindString(s) }

// Phrase is a phrase of a document and how much it stands out.
type Phrase struct {
	Text  string
	Score float64
}

// Keywords are the best phrases between stop words, by the degree of their words over their frequency (RAKE), scaled
// to 1 for the best one.
func Keywords(s string, most int, least float64) []Phrase {
	freq, degree := map[string]float64{}, map[string]float64{}
	var phrases [][]Word
	var run []Word
	end := func() {
		if len(run) > 0 && len(run) <= 4 {
			for _, w := range run {
				freq[w.Lower]++
				degree[w.Lower] += float64(len(run))
			}
			phrases = append(phrases, run)
		}
		run = nil
	}
	for _, w := range Words(Clip(s, 256<<10)) {
		if len(run) > 0 && strings.ContainsAny(s[run[len(run)-1].End:w.Start], ".,;:!?()[]\n\"|#*") {
			end()
		}
		if Stop(w.Lower) || len(w.Lower) < 3 || (w.Lower[0] >= '0' && w.Lower[0] <= '9') {
			end()
			continue
		}
		run = append(run, w)
	}
	end()
	return best(phrases, freq, degree, most, least)
}

func best(phrases [][]Word, freq, degree map[string]float64, most int, least float64) []Phrase {
	scores, order := map[string]float64{}, []string{}
	for _, p := range phrases {
		words, sum := make([]string, len(p)), 0.0
		for i, w := range p {
			words[i] = w.Lower
			sum += degree[w.Lower] / freq[w.Lower]
		}
		k := strings.Join(words, " ")
		if _, ok := scores[k]; !ok {
			order = append(order, k)
		}
		scores[k] += sum // a phrase that is repeated stands out
	}
	top := 0.0
	for _, v := range scores {
		top = max(top, v)
	}
	out := make([]Phrase, 0, most)
	for range most {
		pick := ""
		for _, k := range order {
			if pick == "" || scores[k] > scores[pick] {
				pick = k
			}
		}
		if pick == "" || scores[pick] < 0 || scores[pick]/top < least && len(out) > 0 {
			break
		}
		out = append(out, Phrase{pick, scores[pick] / top})
		scores[pick] = -1
	}
	return out
}
