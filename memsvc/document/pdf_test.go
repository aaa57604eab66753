package document

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// pdfOf writes a PDF of pages: each line of a page is shown by itself, streams are compressed.
func pdfOf(t *testing.T, title string, pages ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	var at []int
	object := func(body string) int {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), body)
		return len(at)
	}
	b.WriteString("%PDF-1.5\n%\xe2\xe3\xcf\xd3\n")
	var kids []string
	for _, page := range pages {
		var ops strings.Builder
		ops.WriteString("BT /F1 12 Tf 14 TL 72 720 Td\n")
		for _, line := range strings.Split(page, "\n") {
			esc := strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(line)
			fmt.Fprintf(&ops, "(%s) Tj T*\n", esc)
		}
		ops.WriteString("ET")
		var z bytes.Buffer
		w := zlib.NewWriter(&z)
		if _, err := w.Write([]byte(ops.String())); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		stream := object(fmt.Sprintf("<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream", z.Len(),
			z.Bytes()))
		kids = append(kids, fmt.Sprintf("%d 0 R", object(fmt.Sprintf("<< /Type /Page /Parent %d 0 R /Contents %d 0 R "+
			"/MediaBox [0 0 612 792] /Resources << /Font << /F1 %d 0 R >> >> >>", 2*len(pages)+2, stream,
			2*len(pages)+1))))
	}
	font := object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	tree := object(fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids)))
	if font != 2*len(pages)+1 || tree != 2*len(pages)+2 {
		t.Fatal("the objects are numbered otherwise")
	}
	root := object(fmt.Sprintf("<< /Type /Catalog /Pages %d 0 R >>", tree))
	info := object("<< /Title (" + title + ") >>")
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root %d 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1,
		root, info, xref)
	return b.Bytes()
}

// TestTheTextLayerOfAPDFIsReadWhole holds that every word of every page is read, in its order.
func TestTheTextLayerOfAPDFIsReadWhole(t *testing.T) {
	var pages, words []string
	for p := range 40 {
		var lines []string
		for l := range 30 {
			w := fmt.Sprintf("word%dx%d", p, l)
			words = append(words, w)
			lines = append(lines, fmt.Sprintf("Line %d of page %d (with %s) says nothing \\ else.", l, p, w))
		}
		pages = append(pages, strings.Join(lines, "\n"))
	}
	doc, err := Read(pdfOf(t, "The Long Report", pages...), "application/pdf")
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, w := range words {
		n := strings.Index(doc.Text[at:], w)
		if n < 0 {
			t.Fatalf("%s is missing after byte %d of %d", w, at, len(doc.Text))
		}
		at += n + len(w)
	}
	if !strings.Contains(doc.Text, "Line 3 of page 7 (with word7x3) says nothing \\ else.") {
		t.Errorf("a line is torn: %.300q", doc.Text)
	}
}

func TestPDFsThatLie(t *testing.T) {
	good := pdfOf(t, "x", "Some text.")
	if _, err := Read(pdfOf(t, "scan", ""), "application/pdf"); !errors.Is(err, ErrNoText) {
		t.Errorf("a PDF without text: %v", err)
	}
	for name, b := range map[string][]byte{"cut": good[:len(good)/2], "empty": nil, "no end": good[:len(good)-30],
		"text":         []byte("this is no PDF"),
		"endless kids": bytes.Replace(good, []byte("/Kids [2 0 R]"), []byte("/Kids [4 0 R]"), 1)} {
		doc, err := Read(b, "application/pdf")
		if err == nil && strings.TrimSpace(doc.Text) == "" {
			t.Errorf("%s: read as empty", name)
		}
		if name == "endless kids" && (err == nil || !strings.Contains(err.Error(), "circles")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// One page of compressed zeros that would be very long.
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	line := bytes.Repeat([]byte("(aaaaaaaaaaaaaaaa) Tj "), 4096)
	if _, err := w.Write([]byte("BT /F1 12 Tf ")); err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		if _, err := w.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	bomb := fmt.Sprintf("%%PDF-1.5\n1 0 obj\n<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream\nendobj\n",
		z.Len(), z.String())
	at := []int{9}
	for _, body := range []string{"<< /Type /Page /Parent 3 0 R /Contents 1 0 R /Resources << >> >>",
		"<< /Type /Pages /Kids [2 0 R] /Count 1 >>", "<< /Type /Catalog /Pages 3 0 R >>"} {
		at = append(at, len(bomb))
		bomb += fmt.Sprintf("%d 0 obj\n%s\nendobj\n", len(at), body)
	}
	xref := len(bomb)
	bomb += fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, n := range at {
		bomb += fmt.Sprintf("%010d 00000 n \n", n)
	}
	bomb += fmt.Sprintf("trailer\n<< /Size %d /Root 4 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, xref)
	if _, err := Read([]byte(bomb), "application/pdf"); err == nil || err.Error() != tooLarge().Error() {
		t.Errorf("a bomb of %d bytes: %v", len(bomb), err)
	}
}
