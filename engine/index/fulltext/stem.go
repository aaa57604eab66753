package fulltext

import (
	"fmt"
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

// stemmer is the function that takes words of a language (its upper-case name) back to their stems. It lowers the case.
func stemmer(name string) (func(string) string, error) {
	if name == "GREEK" {
		return func(s string) string { return greekStem(lower(s)) }, nil
	}
	prepare := lower
	if name == "ARABIC" {
		prepare = func(s string) string { return strings.Map(unpunctuated, lower(s)) }
	}
	stem := snowball(name)
	if stem == nil {
		return nil, fmt.Errorf("no stemmer for language %s", name)
	}
	return func(s string) string {
		env := snowballstem.NewEnv(prepare(s))
		stem(env)
		return env.Current()
	}, nil
}

// unpunctuated leaves out the punctuation that the stemmer of Arabic takes out of words.
func unpunctuated(r rune) rune {
	if strings.ContainsRune(`!"%*,./:;?\`, r) {
		return -1
	}
	return r
}

func snowball(name string) func(*snowballstem.Env) bool {
	switch name {
	case "ARABIC":
		return arabic.Stem
	case "DANISH":
		return danish.Stem
	case "DUTCH":
		return dutch.Stem
	case "ENGLISH":
		return english.Stem
	case "FRENCH":
		return french.Stem
	case "GERMAN":
		return german.Stem
	case "HUNGARIAN":
		return hungarian.Stem
	case "ITALIAN":
		return italian.Stem
	case "NORWEGIAN":
		return norwegian.Stem
	case "PORTUGUESE":
		return portuguese.Stem
	case "ROMANIAN":
		return romanian.Stem
	case "RUSSIAN":
		return russian.Stem
	case "SPANISH":
		return spanish.Stem
	case "SWEDISH":
		return swedish.Stem
	case "TAMIL":
		return tamil.Stem
	case "TURKISH":
		return turkish.Stem
	}
	return nil
}
