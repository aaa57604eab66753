// Package document turns the bytes of an upload into text with Markdown headings. Clients are not trusted: every reader
// is bounded in size, depth and time, and what cannot be read is an error that says why.
package document

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"path"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"encoding/base64"

	"github.com/ledongthuc/pdf"
	"golang.org/x/net/html"
)

// Limits of what a document may become.
const (
	MaxText  = 20 << 20 // bytes of text
	maxDepth = 1000     // levels of JSON
	maxParts = 200      // parts of an e-mail
	maxPages = 5000
	readTime = 60 * time.Second
)

// ErrUnsupported is a type of document that is not read.
var ErrUnsupported = errors.New("this type of document is not supported")

// ErrNoText is a document without text, such as a scan: text recognition could read it.
var ErrNoText = errors.New("the document holds no text")

// Doc is the content read from a document.
type Doc struct {
	Text  string
	Title string // that the document gives itself
	Date  time.Time
	Notes []string // what was left out
	Spans []Span   // of a recording, in order
	// Visual is the embedding of an image in the space of images; nil for none.
	Visual []float32
}

// Span is a part of the text of a recording: where it stands, in bytes, and when it is spoken, in milliseconds.
type Span struct {
	Start, End   int
	From, Before int64
}

// Times are when the bytes from start to end are spoken; 0, 0 when nothing tells.
func (d *Doc) Times(start, end int) (from, before int64) {
	first := true
	for _, s := range d.Spans {
		if s.Start < end && start < s.End {
			if first {
				from, first = s.From, false
			}
			before = max(before, s.Before)
		}
	}
	return from, before
}

// types are the media types that are read, by extension of a file name.
var types = map[string]string{".txt": "text/plain", ".text": "text/plain", ".log": "text/plain",
	".md": "text/markdown", ".markdown": "text/markdown",
	".html": "text/html", ".htm": "text/html", ".json": "application/json", ".csv": "text/csv",
	".tsv": "text/tab-separated-values", ".eml": "message/rfc822",
	".pdf": "application/pdf", ".docx": docx, ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg",
	".webp": "image/webp", ".gif": "image/gif",
	".wav": "audio/wav", ".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".flac": "audio/flac", ".aac": "audio/aac",
	".mp4": "video/mp4", ".webm": "video/webm", ".mov": "video/quicktime"}

const docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

// Type is the media type of an upload: what was declared, else by the name, else by the bytes; "" if it is not
// supported.
func Type(declared, filename string, b []byte) string {
	declared, _, _ = strings.Cut(strings.ToLower(declared), ";")
	declared = strings.TrimSpace(declared)
	if declared == "text/x-markdown" {
		declared = "text/markdown"
	}
	if declared != "" && declared != "application/octet-stream" {
		for _, t := range types {
			if t == declared {
				return t
			}
		}
		return ""
	}
	if t := types[strings.ToLower(path.Ext(filename))]; t != "" {
		return t
	}
	sniffed, _, _ := strings.Cut(http.DetectContentType(b), ";")
	for _, t := range types {
		if t == sniffed {
			return t
		}
	}
	return ""
}

// Modality is image, audio, video, or "" for text.
func Modality(mimeType string) string {
	kind, _, _ := strings.Cut(mimeType, "/")
	if kind == "image" || kind == "audio" || kind == "video" {
		return kind
	}
	return ""
}

// Read reads a document of a type that Type gave.
func Read(b []byte, mimeType string) (doc *Doc, err error) {
	type result struct {
		doc *Doc
		err error
	}
	done := make(chan result, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				// Readers of foreign formats fail on bytes that lie.
				done <- result{err: fmt.Errorf("the document is damaged: %.200v", p)}
			}
		}()
		d, err := read(b, mimeType)
		done <- result{d, err}
	}()
	select {
	case r := <-done:
		if r.err == nil && strings.TrimSpace(r.doc.Text) == "" {
			r.err = ErrNoText
		}
		return r.doc, r.err
	case <-time.After(readTime):
		return nil, errors.New("the document takes too long to read")
	}
}

func read(b []byte, mimeType string) (*Doc, error) {
	switch mimeType {
	case "text/plain", "text/markdown":
		s, err := plain(b)
		return &Doc{Text: s, Title: firstHeading(s)}, err
	case "text/html":
		return readHTML(b)
	case "application/json":
		return readJSON(b)
	case "text/csv":
		return readCSV(b, ',')
	case "text/tab-separated-values":
		return readCSV(b, '\t')
	case "message/rfc822":
		return readMail(b)
	case "application/pdf":
		return readPDF(b)
	case docx:
		return readDOCX(b)
	}
	return nil, ErrUnsupported
}

func plain(b []byte) (string, error) {
	b = bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF"))
	if len(b) > MaxText {
		return "", tooLarge()
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return "", errors.New("the document is not text")
	}
	s := string(b)
	if !utf8.ValidString(s) {
		s = latin1(b)
	}
	return strings.ReplaceAll(s, "\r\n", "\n"), nil
}

func tooLarge() error { return fmt.Errorf("the text of the document is larger than %d bytes", MaxText) }

// latin1 reads bytes that are not UTF-8 as ISO 8859-1.
func latin1(b []byte) string {
	r := make([]rune, len(b))
	for i, c := range b {
		r[i] = rune(c)
	}
	return string(r)
}

func firstHeading(s string) string {
	for _, line := range strings.SplitN(s, "\n", 20) {
		if h, ok := strings.CutPrefix(line, "# "); ok {
			return strings.TrimSpace(h)
		}
	}
	return ""
}

// readHTML walks over the tokens, so that no nesting is too deep.
func readHTML(b []byte) (*Doc, error) {
	s, err := plain(b)
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	doc := &Doc{}
	z := html.NewTokenizer(strings.NewReader(s))
	skip, title := "", false
	for {
		switch z.Next() {
		case html.ErrorToken:
			doc.Text = strings.TrimSpace(out.String())
			return doc, nil
		case html.TextToken:
			t := strings.Join(strings.Fields(string(z.Text())), " ")
			if title {
				doc.Title = t
			} else if skip == "" && t != "" {
				if o := out.String(); o != "" && !strings.HasSuffix(o, "\n") && !strings.HasSuffix(o, " ") {
					out.WriteByte(' ')
				}
				out.WriteString(t)
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			n := string(name)
			title = n == "title"
			if n == "script" || n == "style" || n == "noscript" || n == "template" {
				skip = n
			}
			out.WriteString(opening[n])
		case html.EndTagToken:
			name, _ := z.TagName()
			title = false
			if string(name) == skip {
				skip = ""
			}
			if blocks[string(name)] {
				out.WriteString("\n\n")
			}
		case html.SelfClosingTagToken:
			out.WriteString("\n")
		}
		if out.Len() > MaxText {
			return nil, tooLarge()
		}
	}
}

var opening = map[string]string{"h1": "\n\n# ", "h2": "\n\n## ", "h3": "\n\n### ", "h4": "\n\n#### ",
	"h5": "\n\n##### ", "h6": "\n\n###### ",
	"li": "\n- ", "br": "\n", "p": "\n\n", "div": "\n", "tr": "\n", "td": " ", "th": " "}

var blocks = map[string]bool{"h1": true, "h2": true, "h3": true, "h4": true, "h5": true, "h6": true, "p": true,
	"ul": true, "ol": true, "table": true, "section": true, "article": true, "blockquote": true}

// readJSON writes a value as lines of path: value.
func readJSON(b []byte) (*Doc, error) {
	if len(b) > MaxText {
		return nil, tooLarge()
	}
	depth, text := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case !text && (c == '{' || c == '['):
			if depth++; depth > maxDepth {
				return nil, fmt.Errorf("the JSON is nested deeper than %d levels", maxDepth)
			}
		case !text && (c == '}' || c == ']'):
			depth--
		}
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var out strings.Builder
	for {
		var v any
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) {
			return &Doc{Text: out.String()}, nil
		}
		if err != nil {
			return nil, errors.New("the document is not JSON")
		}
		if err := flatten(&out, "", v); err != nil {
			return nil, err
		}
		out.WriteByte('\n')
	}
}

func flatten(out *strings.Builder, at string, v any) error {
	if out.Len() > MaxText {
		return tooLarge()
	}
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			if err := flatten(out, strings.TrimPrefix(at+"."+k, "."), v[k]); err != nil {
				return err
			}
		}
	case []any:
		for i, e := range v {
			if err := flatten(out, fmt.Sprintf("%s[%d]", at, i), e); err != nil {
				return err
			}
		}
	case nil:
	default:
		fmt.Fprintf(out, "%s: %v\n", at, v)
	}
	return nil
}

// readCSV writes each row as a line of column: value.
func readCSV(b []byte, comma rune) (*Doc, error) {
	s, err := plain(b)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(strings.NewReader(s))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes = comma, -1, true
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("the table cannot be read: %w", err)
	}
	var out strings.Builder
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the table cannot be read: %w", err)
		}
		for i, cell := range row {
			if cell = strings.TrimSpace(cell); cell == "" {
				continue
			}
			if i < len(head) {
				cell = head[i] + ": " + cell
			}
			out.WriteString(cell + "; ")
		}
		out.WriteString("\n\n")
		if out.Len() > MaxText {
			return nil, tooLarge()
		}
	}
	if out.Len() == 0 {
		out.WriteString(strings.Join(head, "; "))
	}
	return &Doc{Text: out.String()}, nil
}

func readMail(b []byte) (*Doc, error) {
	m, err := mail.ReadMessage(bytes.NewReader(b))
	if err != nil {
		return nil, errors.New("the e-mail cannot be read")
	}
	var dec mime.WordDecoder
	head := func(name string) string {
		v := m.Header.Get(name)
		if d, err := dec.DecodeHeader(v); err == nil {
			v = d
		}
		return strings.ToValidUTF8(v, "\uFFFD")
	}
	doc := &Doc{Title: head("Subject")}
	if at, err := m.Header.Date(); err == nil {
		doc.Date = at.UTC()
	}
	parts := 0
	body, err := mailPart(m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), m.Body, 0,
		&parts, doc)
	if err != nil {
		return nil, err
	}
	doc.Text = fmt.Sprintf("# %s\n\nFrom: %s\nTo: %s\nDate: %s\n\n%s", doc.Title, head("From"), head("To"),
		head("Date"), body)
	return doc, nil
}

func mailPart(contentType, encoding string, r io.Reader, depth int, parts *int, doc *Doc) (string, error) {
	if *parts++; *parts > maxParts || depth > 10 {
		return "", errors.New("the e-mail has too many parts")
	}
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind == "" {
		kind = "text/plain"
	}
	if strings.HasPrefix(kind, "multipart/") {
		return mailParts(kind, params["boundary"], r, depth, parts, doc)
	}
	if kind != "text/plain" && kind != "text/html" {
		doc.Notes = append(doc.Notes, "an attachment was left out")
		return "", nil
	}
	switch strings.ToLower(encoding) {
	case "base64":
		r = base64.NewDecoder(base64.StdEncoding, r)
	case "quoted-printable":
		r = quotedprintable.NewReader(r)
	}
	b, err := io.ReadAll(io.LimitReader(r, MaxText+1))
	if err != nil || len(b) > MaxText {
		return "", errors.Join(errors.New("a part of the e-mail cannot be read"), err)
	}
	if kind == "text/html" {
		d, err := readHTML(b)
		if err != nil {
			return "", err
		}
		return d.Text, nil
	}
	return plain(b)
}

func mailParts(kind, boundary string, r io.Reader, depth int, parts *int, doc *Doc) (string, error) {
	mr := multipart.NewReader(r, boundary)
	var texts []string
	for {
		p, err := mr.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", errors.New("a part of the e-mail cannot be read")
		}
		if p.FileName() != "" {
			doc.Notes = append(doc.Notes, "an attachment was left out")
			continue
		}
		t, err := mailPart(p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"), p, depth+1,
			parts, doc)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(t) != "" {
			texts = append(texts, t)
		}
	}
	if kind == "multipart/alternative" && len(texts) > 1 {
		texts = texts[:1]
	}
	return strings.Join(texts, "\n\n"), nil
}

// readPDF reads the text layer. A page without one is left out.
func readPDF(b []byte) (*Doc, error) {
	if !bytes.HasPrefix(bytes.TrimLeft(b[:min(len(b), 1024)], "\x00\r\n\t "), []byte("%PDF-")) {
		return nil, errors.New("the document is not a PDF")
	}
	r, err := pdf.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, fmt.Errorf("the PDF cannot be read: %w", err)
	}
	pages, err := pdfPages(r)
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	fonts := map[string]*pdf.Font{}
	for i, p := range pages {
		for _, name := range p.Fonts() {
			if _, ok := fonts[name]; !ok {
				f := p.Font(name)
				fonts[name] = &f
			}
		}
		s, err := p.GetPlainText(fonts)
		if err != nil {
			return nil, fmt.Errorf("page %d of the PDF cannot be read: %w", i+1, err)
		}
		out.WriteString(strings.ToValidUTF8(s, "\uFFFD") + "\n\n")
		if out.Len() > MaxText {
			return nil, tooLarge()
		}
	}
	return &Doc{Text: strings.TrimSpace(out.String())}, nil
}

// Limits of a PDF: its tree of pages, and the bytes that draw them.
const (
	maxPageDepth   = 64
	maxPageContent = 64 << 20
)

// pdfPages are the pages of a PDF. The tree is walked here because it may lie: it may lead in circles, or to content
// that is endless once it is unpacked.
func pdfPages(r *pdf.Reader) (pages []pdf.Page, err error) {
	nodes, content := 0, int64(0)
	var walk func(v pdf.Value, depth int) error
	walk = func(v pdf.Value, depth int) error {
		if nodes++; nodes > 2*maxPages || depth > maxPageDepth {
			return fmt.Errorf("the PDF has more than %d pages, or they lead in circles", maxPages)
		}
		if kids := v.Key("Kids"); kids.Kind() == pdf.Array {
			for i := range kids.Len() {
				if err := walk(kids.Index(i), depth+1); err != nil {
					return err
				}
			}
			return nil
		}
		if v.Key("Type").Name() != "Page" {
			return nil
		}
		n, err := contentSize(v.Key("Contents"), maxPageContent-content)
		if content += n; err != nil {
			return err
		}
		pages = append(pages, pdf.Page{V: v})
		return nil
	}
	err = walk(r.Trailer().Key("Root").Key("Pages"), 0)
	return pages, err
}

// contentSize is how many bytes the streams of a page are, unpacked, at most most.
func contentSize(v pdf.Value, most int64) (n int64, err error) {
	streams := []pdf.Value{v}
	if v.Kind() == pdf.Array {
		if v.Len() > maxPages {
			return 0, tooLarge()
		}
		streams = streams[:0]
		for i := range v.Len() {
			streams = append(streams, v.Index(i))
		}
	}
	for _, s := range streams {
		if s.Kind() != pdf.Stream {
			continue
		}
		k, err := io.Copy(io.Discard, io.LimitReader(s.Reader(), most-n+1))
		if n += k; n > most {
			return n, tooLarge()
		}
		if err != nil {
			return n, fmt.Errorf("a page of the PDF cannot be read: %w", err)
		}
	}
	return n, nil
}

// readDOCX reads the paragraphs of a Word document.
func readDOCX(b []byte) (*Doc, error) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, errors.New("the document is not a Word document")
	}
	f, err := z.Open("word/document.xml")
	if err != nil {
		return nil, errors.New("the document is not a Word document")
	}
	defer f.Close()
	limited := &io.LimitedReader{R: f, N: 4 * MaxText}
	dec := xml.NewDecoder(limited)
	var out strings.Builder
	for {
		tok, err := dec.Token()
		if limited.N <= 0 || out.Len() > MaxText {
			return nil, tooLarge()
		}
		if errors.Is(err, io.EOF) {
			return &Doc{Text: strings.TrimSpace(out.String())}, nil
		}
		if err != nil {
			return nil, errors.New("the Word document is damaged")
		}
		switch t := tok.(type) {
		case xml.StartElement:
			word(&out, t)
		case xml.EndElement:
			if t.Name.Local == "p" {
				out.WriteString("\n\n")
			}
		case xml.CharData:
			out.Write(t)
		}
	}
}

func word(out *strings.Builder, t xml.StartElement) {
	switch t.Name.Local {
	case "tab":
		out.WriteByte('\t')
	case "br":
		out.WriteByte('\n')
	case "pStyle":
		for _, a := range t.Attr {
			if n, ok := strings.CutPrefix(a.Value, "Heading"); ok && len(n) == 1 && n >= "1" && n <= "6" {
				out.WriteString(strings.Repeat("#", int(n[0]-'0')) + " ")
			}
		}
	}
}
