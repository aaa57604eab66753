package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"time"
)

// Recognition of text on this machine: programs that are installed beside the service, each in a process of its own
// that is bounded in time, in memory and in what it may answer.

// Names of the programs.
const (
	tesseract = "tesseract"
	pdftoppm  = "pdftoppm"
)

const (
	localTime   = 60 * time.Second
	localMemory = 1 << 30 // bytes of address space, where the system can bound it
	maxScans    = 50      // pages of a document that are made into images
	scanSide    = "2200"  // the longer side of the image of a page, in pixels: 200 dots an inch of a letter
)

// LocalOCR reports whether this machine can read text in images.
func LocalOCR() error {
	if _, err := exec.LookPath(tesseract); err != nil {
		return fmt.Errorf("%s is not installed", tesseract)
	}
	return nil
}

// limited keeps the first bytes that are written to it, and fails after them.
type limited struct {
	bytes.Buffer
	most int
}

var errTooMuch = errors.New("too much output")

func (l *limited) Write(b []byte) (int, error) {
	if l.Len()+len(b) > l.most {
		return 0, errTooMuch
	}
	return l.Buffer.Write(b)
}

// ReadImageLocal is the text that an image shows, read by tesseract. An image that it cannot read is a permanent error.
func ReadImageLocal(ctx context.Context, image []byte) (string, error) {
	out := &limited{most: maxText}
	if err := runLocal(ctx, out, image, tesseract, "stdin", "stdout"); err != nil {
		return "", err
	}
	return out.String(), nil
}

// runLocal runs a program with input on its standard input.
func runLocal(ctx context.Context, out *limited, input []byte, name string, args ...string) error {
	bounded, cancel := context.WithTimeout(ctx, localTime)
	defer cancel()
	cmd := exec.CommandContext(bounded, name, args...)
	cmd.Stdin, cmd.Stdout = bytes.NewReader(input), out
	cmd.Env = []string{} // no key of the service: the program reads what strangers uploaded
	for _, name := range []string{"PATH", "TESSDATA_PREFIX", "LANG", "LC_ALL", "TMPDIR", "HOME"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.WaitDelay = time.Second
	err := cmd.Start()
	if err == nil {
		err = errors.Join(limitMemory(cmd.Process.Pid, localMemory), cmd.Wait())
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return &Error{why: name + " is not installed"}
	}
	return &Error{why: name + " could not read the document"}
}

// PDFImages gives the first pages of a PDF to f as PNG images, made by pdftoppm, until f fails. more says that there
// are others.
func PDFImages(ctx context.Context, pdf []byte, f func(image []byte) error) (more bool, err error) {
	dir, err := os.MkdirTemp("", "memsvc-pages-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// SECURITY: pages may be of any size; their images are not.
	args := []string{"-png", "-scale-to", scanSide, "-l", fmt.Sprint(maxScans + 1), "-", filepath.Join(dir, "p")}
	if err := runLocal(ctx, &limited{most: 1 << 16}, pdf, pdftoppm, args...); err != nil {
		return false, err
	}
	names, err := filepath.Glob(filepath.Join(dir, "p*.png"))
	if err != nil {
		return false, err
	}
	sort.Strings(names) // the numbers of pages have as many digits as the last one
	if more = len(names) > maxScans; more {
		names = names[:maxScans]
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err == nil {
			err = f(b)
		}
		if err != nil {
			return more, err
		}
	}
	return more, nil
}
