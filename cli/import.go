package cli

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"
)

func newImportCmd(s *streams) *cobra.Command {
	var f connectFlags
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Load a file of statements into a database",
		Long: `Streams a file of ServiceQL statements (an export, most often) to the server, which applies them as they
arrive. FILE is a path, or - for standard input; .gz and .zst are unpacked. Memory stays constant.

What was applied before an error stays. Exit status 7: at least one statement failed.`,
		Example: `  nacre import --ns app --db app dump.surql
  zcat dump.surql.gz | nacre import --ns app --db app -
  nacre export --ns a --db a - | nacre import --ns b --db b -`,
		Args: exactArgs(1, "a file, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error { return runImport(cmd.Context(), s, &f, args[0]) },
	}
	addConnectFlags(cmd, &f)
	addCreateFlag(cmd, &f)
	return cmd
}

func runImport(ctx context.Context, s *streams, f *connectFlags, path string) error {
	in, size, err := openInput(s, path)
	if err != nil {
		return err
	}
	defer in.Close()
	c, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	p := newProgress(s, "import", size)
	plain, err := unpack(path, p.reader(in))
	if err != nil {
		return err
	}
	defer plain.Close()
	began := time.Now()
	res, err := c.Import(ctx, plain)
	p.stop()
	if err != nil {
		return err
	}
	for _, e := range res.Failed {
		fmt.Fprintf(s.err, "failed: %v\n", e)
	}
	fmt.Fprintf(s.err, "%d statements in %v (%s)\n", res.Statements, time.Since(began).Round(time.Millisecond),
		bytesText(p.count()))
	if res.Failures > 0 {
		return exitError{exitInvalid, fmt.Errorf("%d of %d statements failed; the others were applied", res.Failures,
			res.Statements)}
	}
	return nil
}

// openInput opens path for reading ("-" is standard input); size is -1 where it is not known.
func openInput(s *streams, path string) (io.ReadCloser, int64, error) {
	if path == "-" {
		return io.NopCloser(s.in), -1, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read the input: %w", err)
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = usagef("%s is a directory: name a file", path)
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// unpack wraps r by the suffix of path.
func unpack(path string, r io.Reader) (io.ReadCloser, error) {
	switch {
	case strings.HasSuffix(path, ".gz"):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, notPacked(path, err)
		}
		return unpacked{z, path}, nil
	case strings.HasSuffix(path, ".zst"):
		z, err := zstd.NewReader(r)
		if err != nil {
			return nil, notPacked(path, err)
		}
		return unpacked{z.IOReadCloser(), path}, nil
	}
	return io.NopCloser(r), nil
}

// unpacked reads the contents of the packed file at path.
type unpacked struct {
	io.ReadCloser
	path string
}

// Read implements io.Reader.
func (u unpacked) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = notPacked(u.path, err)
	}
	return n, err
}

// notPacked is the error of a file whose contents are not what its suffix promises, unless it is one of reading it.
func notPacked(path string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	return exitError{exitInvalid, fmt.Errorf("%s is damaged, or not packed as its name says: %w", path, err)}
}
