package model

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestLocalPrograms reads the text of a page of a PDF by the programs themselves. What they may take is bounded: a
// page of 200 inches has as many pixels as a letter.
func TestLocalPrograms(t *testing.T) {
	for _, name := range []string{tesseract, pdftoppm} {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("%s is not installed: scripts/test does that", name)
		}
	}
	pdf, err := os.ReadFile("testdata/large.pdf")
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	more, err := PDFImages(t.Context(), pdf, func(image []byte) error {
		pages++
		words, err := ReadImageLocal(t.Context(), image)
		if err == nil && !strings.Contains(words, "The kiln fires at noon") {
			t.Errorf("read %q", words)
		}
		return err
	})
	if err != nil || more || pages != 1 {
		t.Errorf("%d pages, more %v, err %v", pages, more, err)
	}
	if _, err := ReadImageLocal(t.Context(), []byte("no image")); err == nil {
		t.Error("bytes that are no image were read")
	}
}
