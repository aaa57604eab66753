package parse

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestNextAsksTheParser(t *testing.T) {
	for _, tc := range []struct {
		text, prefix, with, without string
		name                        bool
	}{
		{"", "", "SELECT CREATE BEGIN USE", "WHERE FROM", true},
		{"SELECT *", "", "FROM", "SELECT WHERE INTO", false},
		{"SELECT * FROM", "", "ONLY", "FROM WHERE", true},
		{"SELECT * FROM person", "", "WHERE GROUP ORDER LIMIT FETCH", "FROM SET", false},
		{"SELECT * FROM person", "g", "GROUP", "WHERE", false},
		{"SELECT * FROM person ORDER BY name", "", "ASCENDING DESCENDING LIMIT", "WHERE", false},
		{"CREATE person", "", "SET CONTENT RETURN", "WHERE", false},
		{"DEFINE", "", "TABLE FIELD INDEX USER", "SELECT WHERE", false},
		{"DEFINE TABLE person", "", "SCHEMAFULL PERMISSIONS", "WHERE", false},
		{"REMOVE", "t", "TABLE", "TIMEOUT", false},
		{"BEGIN; CREATE a SET b = 1; COM", "", "", "SELECT", false},
		{"RETURN", "", "SELECT IF NONE", "WHERE", true},
		{"DEFINE FUNCTION fn::f() {", "", "SELECT RETURN LET", "WHERE", true},
		{"CREATE person SET a = 'unclosed", "", "", "SELECT WHERE", false},
	} {
		words, name := Next(tc.text, tc.prefix)
		for _, w := range strings.Fields(tc.with) {
			if !slices.Contains(words, w) {
				t.Errorf("%q: %s is not offered: %v", tc.text, w, words)
			}
		}
		for _, w := range strings.Fields(tc.without) {
			if slices.Contains(words, w) {
				t.Errorf("%q: %s is offered", tc.text, w)
			}
		}
		if name != tc.name {
			t.Errorf("%q: a name may follow: %v, want %v", tc.text, name, tc.name)
		}
	}
}

func TestMeantFindsTheKeyword(t *testing.T) {
	for text, want := range map[string]string{
		"SELEC * FROM person":               "0 SELECT",
		"SELECT * FORM person":              "9 FROM",
		"SELECT * FROM person WHER a = 1":   "21 WHERE",
		"DEFINE TABEL person":               "7 TABLE",
		"RETURN 1; CRATE person":            "10 CREATE",
		"SELECT * FROM person ODER BY name": "21 ORDER",
		"SELECT * FROM person":              "",
		"SELECT * FROM person zzzzzz":       "",
		"RETURN 'SELEC' 5":                  "",
	} {
		got := ""
		if at, meant := Meant(text); meant != "" {
			got = strings.TrimSpace(strings.Join([]string{strconv.Itoa(at), meant}, " "))
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"person", "article", "Order"}
	for written, want := range map[string]string{"persn": "person", "PERSON": "person", "oder": "Order", "x": "",
		"zebra": "", "articel": "article"} {
		if got := Nearest(written, names); got != want {
			t.Errorf("%s: got %q, want %q", written, got, want)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Next("SELECT name, ->knows->person.name AS friends FROM person WHERE age > 30", "")
	}
}
