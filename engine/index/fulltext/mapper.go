package fulltext

import (
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/nacredb/nacre/engine/errs"
)

// maxMapperFile bounds the size of a mapper's file in bytes.
const maxMapperFile = 64 << 20

// mapper maps words to their base forms.
type mapper map[string]string

func (m mapper) base(word string) string {
	if b, ok := m[word]; ok {
		return b
	}
	return word
}

// readMapper reads a file of lines "base TAB word". SECURITY: its errors do not quote the file, which those who define
// analyzers may not read.
func readMapper(files Files, path string) (mapper, error) {
	text, err := readBounded(files, path)
	if err != nil {
		return nil, err
	}
	m := mapper{}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		line = strings.TrimSuffix(line, "\r")
		base, word, ok := strings.Cut(line, "\t")
		if !ok {
			return nil, errs.Internal("A value can't be analyzed: Expected two terms separated by a tab line %d", i)
		}
		if strings.Contains(word, "\t") {
			return nil, errs.Internal("A value can't be analyzed: Expected two terms to not contain more then one tab %d", i)
		}
		m[word] = base
	}
	return m, nil
}

// readBounded reads a file of an analyzer. SECURITY: for every failure the client
// gets the same error as for a missing file.
func readBounded(files Files, path string) (string, error) {
	if files == nil {
		return "", noFile(fs.ErrNotExist)
	}
	f, err := files.Open(path)
	if err != nil {
		return "", noFile(err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxMapperFile+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", noFile(err)
	}
	if len(text) > maxMapperFile {
		return "", errs.Internal("A value can't be analyzed: the file of a mapper is larger than %d bytes", maxMapperFile)
	}
	return string(text), nil
}

func noFile(cause error) error {
	e := errs.Internal("No such file or directory (os error 2)")
	e.Err = cause
	return e
}
