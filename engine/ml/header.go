package ml

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/errs"
)

// The marks between the parts of a header. There is no escape for them.
const (
	pieceMark = "//=>"
	partMark  = "=>"
	entryMark = "//"
)

// pieces is how many pieces a header has; the first and the last are empty.
const pieces = 11

// Header is the description in a model file.
type Header struct {
	Keys        []string // columns of an object argument, in their order
	Normalisers []Column // of some of Keys
	Output      *Output  // nil if the file names none
	Name        string   // path segments joined by "::"
	Version     Version
	Description string
	Engine      string // "native", "pytorch" or ""
	Author      string
	Place       string // "local", "surreal_db" or ""
	Dims        [2]int32
}

// Column is a column with its normaliser.
type Column struct {
	Name string
	Normaliser
}

// Output names the result; Norm is nil where it is taken as it is.
type Output struct {
	Name string
	Norm *Normaliser
}

// Version is the version of a model.
type Version [3]uint8

// String is v as people write it.
func (v Version) String() string {
	return strconv.Itoa(int(v[0])) + "." + strconv.Itoa(int(v[1])) + "." + strconv.Itoa(int(v[2]))
}

// ParseVersion reads A.B.C, each of them 0 to 255.
func ParseVersion(s string) (Version, error) {
	var v Version
	parts := strings.Split(s, ".")
	if len(parts) != len(v) {
		return v, badVersion(s)
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 8)
		if err != nil {
			return v, badVersion(s)
		}
		v[i] = uint8(n)
	}
	return v, nil
}

func badVersion(s string) error {
	return refuse("`%s` is not a valid model version: it is three numbers from 0 to 255, as 1.0.0", errs.Brief(s, 64))
}

// refuse is the error of a model file that cannot be taken.
func refuse(format string, args ...any) error { return errs.New(errs.KindValidation, format, args...) }

// ParseHeader reads the text of a header.
func ParseHeader(b []byte) (*Header, error) {
	if !utf8.Valid(b) {
		return nil, refuse("Model header is not valid UTF-8")
	}
	if strings.Count(string(b), partMark) > maxHeaderParts {
		return nil, refuse("Model header has more than %d parts", maxHeaderParts)
	}
	p := strings.Split(string(b), pieceMark)
	for len(p) < pieces {
		p = append(p, "")
	}
	h := &Header{Name: p[4], Description: p[6]}
	if p[1] != "" {
		h.Keys = strings.Split(p[1], partMark)
	}
	if err := h.checkKeys(); err != nil {
		return nil, err
	}
	for _, read := range []struct {
		text string
		fn   func(string) error
	}{{p[2], h.readNormalisers}, {p[3], h.readOutput}, {p[5], h.readVersion}, {p[8], h.readOrigin},
		{p[9], h.readDims}} {
		if read.text == "" {
			continue
		}
		if err := read.fn(read.text); err != nil {
			return nil, err
		}
	}
	if p[7] == "native" || p[7] == "pytorch" {
		h.Engine = p[7]
	}
	return h, nil
}

// maxHeaderParts bounds the columns and entries of a header.
const maxHeaderParts = 1 << 16

func (h *Header) checkKeys() error {
	seen := make(map[string]bool, len(h.Keys))
	for _, k := range h.Keys {
		if seen[k] {
			return refuse("Model header names the column `%s` twice", errs.Brief(k, 64))
		}
		seen[k] = true
	}
	return nil
}

func (h *Header) readNormalisers(s string) error {
	keys := make(map[string]bool, len(h.Keys))
	for _, k := range h.Keys {
		keys[k] = true
	}
	seen := map[string]bool{}
	for entry := range strings.SplitSeq(s, entryMark) {
		name, text, ok := strings.Cut(entry, partMark)
		if !ok {
			return refuse("Model header has the normaliser `%s` without a column before `=>`", errs.Brief(entry, 64))
		}
		if !keys[name] {
			return refuse("Model header has a normaliser for `%s`, which is not one of its columns", errs.Brief(name, 64))
		}
		if seen[name] {
			return refuse("Model header has two normalisers for the column `%s`", errs.Brief(name, 64))
		}
		seen[name] = true
		n, err := parseNormaliser(text)
		if err != nil {
			return err
		}
		h.Normalisers = append(h.Normalisers, Column{name, n})
	}
	return nil
}

func (h *Header) readOutput(s string) error {
	name, text, ok := strings.Cut(s, partMark)
	if !ok {
		return refuse("Model header has the output `%s` without a normaliser or `none` behind `=>`", errs.Brief(s, 64))
	}
	h.Output = &Output{Name: name}
	if text == "none" {
		return nil
	}
	n, err := parseNormaliser(text)
	h.Output.Norm = &n
	return err
}

func (h *Header) readVersion(s string) (err error) {
	h.Version, err = ParseVersion(s)
	return err
}

func (h *Header) readOrigin(s string) error {
	author, place, _ := strings.Cut(s, partMark)
	switch low := strings.ToLower(place); low {
	case "", "local", "surreal_db":
		h.Author, h.Place = author, low
		return nil
	}
	return refuse("invalid origin: %s", errs.Brief(place, 64))
}

func (h *Header) readDims(s string) error {
	parts := strings.Split(s, ",")
	if len(parts) != 2 {
		return refuse("Model header has the input dimensions `%s`; they are two whole numbers, as 1,2", errs.Brief(s, 64))
	}
	for i, p := range parts {
		n, err := strconv.ParseInt(strings.TrimSpace(p), 10, 32)
		if err != nil {
			return refuse("Model header has the input dimensions `%s`; they are two whole numbers, as 1,2", errs.Brief(s, 64))
		}
		h.Dims[i] = int32(n)
	}
	return nil
}

var namePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*$`)
})

// maxName bounds the name of a model, in bytes.
const maxName = 255

// ValidName reports whether s can be the name of a model: identifiers joined by "::".
func ValidName(s string) bool { return len(s) <= maxName && namePattern().MatchString(s) }

// Check refuses a header that no model can be stored with.
func (h *Header) Check() error {
	if h.Name == "" || h.Version == (Version{}) {
		return refuse("Model name and version must be set")
	}
	if !ValidName(h.Name) {
		return refuse("`%s` is not a valid model name: use letters, digits and underscores, and `::` between parts",
			errs.Brief(h.Name, 64))
	}
	for i, t := range h.texts() {
		bad := strings.Contains(t, partMark) || strings.Contains(t, entryMark)
		if strings.Contains(t, pieceMark) || i > 0 && bad {
			return refuse("`%s` holds one of the marks `//`, `=>`; a model header cannot hold it", errs.Brief(t, 64))
		}
	}
	return nil
}

// texts are the free texts of the header, the description first.
func (h *Header) texts() []string {
	out := append([]string{h.Description, h.Author}, h.Keys...)
	if h.Output != nil {
		out = append(out, h.Output.Name)
	}
	return out
}

// String is the header as it is written, without its length.
func (h *Header) String() string {
	p := make([]string, pieces)
	p[1] = strings.Join(h.Keys, partMark)
	entries := make([]string, len(h.Normalisers))
	for i, c := range h.Normalisers {
		entries[i] = c.Name + partMark + c.Normaliser.String()
	}
	p[2] = strings.Join(entries, entryMark)
	if o := h.Output; o != nil {
		p[3] = o.Name + partMark + "none"
		if o.Norm != nil {
			p[3] = o.Name + partMark + o.Norm.String()
		}
	}
	p[4], p[6], p[7] = h.Name, h.Description, h.Engine
	if h.Version != (Version{}) {
		p[5] = h.Version.String()
	}
	if h.Author != "" || h.Place != "" {
		p[8] = h.Author + partMark + h.Place
	}
	if h.Dims != [2]int32{} {
		p[9] = strconv.Itoa(int(h.Dims[0])) + "," + strconv.Itoa(int(h.Dims[1]))
	}
	return strings.Join(p, pieceMark)
}
