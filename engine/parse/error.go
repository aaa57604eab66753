package parse

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/errs"
)

// Error is a text that does not parse: a message and one or two excerpts of the source.
type Error struct {
	Msg    string
	Blocks []Block
	source string
	// The source may be a piece of a longer text: lines before it, characters before it on its first line, and the last
	// of those.
	line, col int
	before    string
}

// Block is one excerpt: a range of the source, with a remark at its mark.
type Block struct {
	Start, End int
	Label      string
}

// Excerpts show at most excerptWidth characters of a line; where the mark is further right than
// excerptLead, the line is cut excerptKeep characters before it.
const (
	excerptWidth = 80
	excerptLead  = 50
	excerptKeep  = 10
)

// Error is the whole text as a client gets it, excerpts included.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("Parse error: ")
	b.WriteString(e.Msg)
	b.WriteByte('\n')
	for _, bl := range e.Blocks {
		e.excerpt(&b, bl)
	}
	return b.String()
}

// Line and Column are the 1-based position of the first excerpt; a column counts characters.
func (e *Error) Line() int   { l, _, _ := e.place(e.Blocks[0].Start); return l }
func (e *Error) Column() int { _, c, _ := e.place(e.Blocks[0].Start); return c }

// public is e as the one error type that crosses the wire.
func (e *Error) public() *errs.Error {
	err := errs.Parse(e.Error())
	err.Err = e
	return err
}

// place finds the line of offset off: its number, the column of off and the offset of its start.
func (e *Error) place(off int) (line, col, start int) {
	start = strings.LastIndexByte(e.source[:off], '\n') + 1
	line, col = strings.Count(e.source[:start], "\n")+1, utf8.RuneCountInString(e.source[start:off])+1
	if line == 1 {
		col += e.col
	}
	return line + e.line, col, start
}

func (e *Error) excerpt(b *strings.Builder, bl Block) {
	line, col, start := e.place(e.anchor(bl.Start))
	end := len(e.source)
	if i := strings.IndexByte(e.source[start:], '\n'); i >= 0 {
		end = start + i
	}
	width := 1 // also for what goes on in the next line
	if bl.End > bl.Start && bl.End <= end {
		width = utf8.RuneCountInString(e.source[bl.Start:bl.End])
	}
	whole, at := e.source[start:end], utf8.RuneCountInString(e.source[start:e.anchor(bl.Start)])
	if start == 0 {
		whole, at = e.before+whole, at+utf8.RuneCountInString(e.before)
	}
	text, indent := window(whole, at)
	num := strconv.Itoa(line)
	pad := strings.Repeat(" ", len(num))
	b.WriteString(pad + "--> [" + num + ":" + strconv.Itoa(col) + "]\n")
	b.WriteString(pad + " |\n" + num + " | " + text + "\n" + pad + " | ")
	b.WriteString(strings.Repeat(" ", indent))
	b.WriteString(strings.Repeat("^", width))
	if bl.Label != "" {
		b.WriteString(" " + bl.Label)
	}
	b.WriteByte('\n')
}

// anchor is the offset that an excerpt of off marks: the end of the text is marked at the last
// character of its last line.
func (e *Error) anchor(off int) int {
	text := strings.TrimSuffix(e.source, "\n")
	if off < len(text) || text == "" {
		return min(off, len(text))
	}
	if _, n := utf8.DecodeLastRuneInString(text); text[len(text)-n] != '\n' {
		return len(text) - n
	}
	return len(text)
}

// window cuts a line to what an excerpt shows of it, and says where the character at col is then:
// without the blanks around it and, where it is long, only what is near col.
func window(line string, col int) (string, int) {
	line = strings.TrimRight(line, " \t\r")
	seen := 0
	for i := range line { // no more of a long line than can be shown
		if seen == col+excerptWidth+1 {
			line = line[:i]
			break
		}
		seen++
	}
	r := []rune(line)
	lead := 0
	for lead < len(r) && lead < col && (r[lead] == ' ' || r[lead] == '\t') {
		lead++
	}
	r, col = r[lead:], col-lead
	most := excerptWidth
	if col > excerptLead {
		r = append([]rune("..."), r[min(col-excerptKeep, len(r)):]...)
		col = excerptKeep + len("...")
		most += len("...") // the dots before do not count, where none are needed behind
	}
	if len(r) > most {
		r = append(r[:excerptWidth-len("..."):excerptWidth-len("...")], []rune("...")...)
	}
	return string(r), col
}

// Fail is the error of a text of another language that does not parse: msg, and excerpts of source. There is at least
// one block; its offsets are within source.
func Fail(source, msg string, blocks ...Block) *errs.Error {
	return (&Error{Msg: msg, Blocks: blocks, source: source}).public()
}

// Offset is how many characters of the source are before the first excerpt.
func (e *Error) Offset() int {
	return utf8.RuneCountInString(e.source[:min(e.Blocks[0].Start, len(e.source))])
}
