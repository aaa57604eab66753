package engine_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// langFile is a file of testdata/lang; its README describes the format.
type langFile struct {
	header  []string // lines before the setup
	options langOptions
	setup   []langText // of every case
	cases   []*langCase
}

// langOptions are what the lines "--: …" of a header, or of a case, say.
type langOptions struct {
	ns, db    string
	vars      string // an object, as text
	unordered bool
	variants  bool // the setup has lines for indexes
}

// langCase is one case: texts that run one after the other in an empty database, after the setup of the file.
type langCase struct {
	name    string
	options langOptions
	texts   []langText
}

// langText is a text of statements and the answers that its last statements give.
type langText struct {
	line    int      // where it starts
	lines   []string // as in the file: the text, comments, directives
	who     string   // as whom it runs: "" is the owner
	index   bool     // it runs only in the variant with indexes
	answers []langAnswer
}

// langAnswer is an expected answer: a value or the text of an error.
type langAnswer struct {
	failed bool
	text   string
	open   bool // a block that is still being read
}

// statements is the text without directives.
func (x *langText) statements() string {
	var out []string
	for _, line := range x.lines {
		if !strings.HasPrefix(line, "--:") && !strings.HasPrefix(line, "--~") {
			out = append(out, line)
		}
	}
	return strings.Trim(strings.Join(out, "\n"), "\n")
}

// print writes the answer as it stands in a file.
func (a langAnswer) print(out *strings.Builder) {
	text, multi := a.block()
	mark := "--> "
	switch {
	case a.failed:
		mark = "--! "
	case multi:
		mark = "--| "
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(out, strings.TrimRight(mark+line, " "))
		if a.failed {
			mark = "--+ "
		}
	}
}

// block is the content of a string of several lines, which is printed line by line.
func (a langAnswer) block() (text string, multi bool) {
	inner := strings.Trim(a.text, `'"`)
	lines := strings.ReplaceAll(inner, `\n`, "\n")
	if a.failed || lines == inner || strings.Contains(lines, `\`) || quoteBlock(lines) != a.text {
		return a.text, false
	}
	return lines, true
}

// quoteBlock is the literal of a string of several lines.
func quoteBlock(lines string) string {
	quote := "'"
	if strings.Contains(lines, quote) {
		quote = `"`
	}
	return quote + strings.ReplaceAll(lines, "\n", `\n`) + quote
}

// readLang reads a file.
func readLang(t *testing.T, path string) *langFile {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := &langParser{t: t, path: path, f: &langFile{options: langOptions{ns: "test", db: "test"}}}
	for i, line := range strings.Split(strings.TrimRight(string(b), "\n"), "\n") {
		p.line(i+1, line)
	}
	p.flush()
	if len(p.f.cases) == 0 {
		t.Fatalf("%s has no cases", path)
	}
	return p.f
}

// langParser reads the lines of a file.
type langParser struct {
	t     *testing.T
	path  string
	f     *langFile
	text  langText
	who   string
	index bool
	begun bool // the header is over
}

func (p *langParser) line(n int, line string) {
	if !p.begun {
		if strings.HasPrefix(line, "--") && !strings.HasPrefix(line, "--- ") {
			p.f.header = append(p.f.header, line)
			if d, ok := strings.CutPrefix(line, "--: "); ok {
				p.option(n, d, &p.f.options)
			}
			return
		}
		p.begun = true
	}
	switch kind, rest := cutMark(line); kind {
	case "---":
		p.who = "" // before flush, which begins the first text of the case
		p.flush()
		p.f.cases = append(p.f.cases, &langCase{name: rest, options: p.f.options})
	case "-->", "--!", "--+", "--|":
		p.answer(n, kind, rest)
	case "--:":
		p.flush()
		p.add(n, line)
		p.directive(n, rest)
	default:
		if len(p.text.answers) > 0 {
			p.flush()
		}
		p.add(n, line)
	}
}

// cutMark takes the mark off a line: "---", "-->", "--!", "--+", "--|", "--:", or "" if it has none.
func cutMark(line string) (mark, rest string) {
	for _, mark := range []string{"---", "-->", "--!", "--+", "--|", "--:"} {
		if rest, ok := strings.CutPrefix(line, mark); ok && (rest == "" || rest[0] == ' ') {
			return mark, strings.TrimPrefix(rest, " ")
		}
	}
	return "", line
}

func (p *langParser) add(n int, line string) {
	if len(p.text.lines) == 0 {
		p.text.line = n
	}
	p.text.lines = append(p.text.lines, line)
}

// answer adds an expected answer; the lines of one block, or of one error, follow one another.
func (p *langParser) answer(n int, kind, rest string) {
	if p.text.statements() == "" {
		p.t.Fatalf("%s:%d: an answer without a statement", p.path, n)
	}
	last := len(p.text.answers) - 1
	switch {
	case kind == "-->":
		p.text.answers = append(p.text.answers, langAnswer{text: rest})
	case kind == "--+" && last >= 0 && p.text.answers[last].failed:
		p.text.answers[last].text += "\n" + rest
	case kind == "--+":
		p.t.Fatalf("%s:%d: no error to go on with", p.path, n)
	case kind == "--!":
		p.text.answers = append(p.text.answers, langAnswer{failed: true, text: rest})
	case last >= 0 && p.text.answers[last].open:
		p.text.answers[last].text += "\n" + rest
	default:
		p.text.answers = append(p.text.answers, langAnswer{text: rest, open: true})
	}
}

// directive runs a line "--: …" of the setup or of a case.
func (p *langParser) directive(n int, text string) {
	name, rest, _ := strings.Cut(text, " ")
	switch {
	case text == "": // ends a text without answers
	case name == "as" && rest == "owner":
		p.who = ""
	case name == "as" && rest != "":
		p.who = rest
	case text == "with indexes" && len(p.f.cases) == 0:
		p.index, p.f.options.variants = true, true
	case text == "end" && p.index:
		p.index = false
	case len(p.f.cases) > 0:
		p.option(n, text, &p.f.cases[len(p.f.cases)-1].options)
	default:
		p.t.Fatalf("%s:%d: unknown directive %q", p.path, n, text)
	}
	p.text.who, p.text.index = p.who, p.index
}

// option reads a directive of a header or of a case.
func (p *langParser) option(n int, text string, o *langOptions) {
	words := strings.Fields(text)
	switch {
	case words[0] == "vars":
		o.vars = strings.TrimPrefix(text, "vars ")
	case text == "unordered":
		o.unordered = true
	case words[0] == "use" && len(words) == 3:
		o.ns, o.db = words[1], words[2]
	default:
		p.t.Fatalf("%s:%d: unknown directive %q", p.path, n, text)
	}
}

// flush ends a text.
func (p *langParser) flush() {
	for i := range p.text.answers {
		if a := &p.text.answers[i]; a.open {
			a.text, a.open = quoteBlock(a.text), false
		}
	}
	if len(p.text.lines) > 0 {
		if n := len(p.f.cases); n == 0 {
			p.f.setup = append(p.f.setup, p.text)
		} else {
			p.f.cases[n-1].texts = append(p.f.cases[n-1].texts, p.text)
		}
	}
	p.text = langText{who: p.who, index: p.index}
}

// write writes the file with its answers.
func (f *langFile) write(path string) error {
	var out strings.Builder
	print := func(texts []langText) {
		for _, x := range texts {
			for _, line := range x.lines {
				fmt.Fprintln(&out, line)
			}
			for _, a := range x.answers {
				a.print(&out)
			}
		}
	}
	for _, line := range f.header {
		fmt.Fprintln(&out, line)
	}
	print(f.setup)
	for _, c := range f.cases {
		fmt.Fprintf(&out, "--- %s\n", c.name)
		print(c.texts)
	}
	return os.WriteFile(path, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o644)
}
