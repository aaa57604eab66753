package cli

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/process"
	"github.com/nacredb/nacre/client"
)

// exportFlags say what goes into the export.
type exportFlags struct {
	only                                                               bool
	users, accesses, params, functions, analyzers, sequences, versions bool
	apis, buckets, configs, records, models                            bool
	tables                                                             []string
}

func newExportCmd(s *streams) *cobra.Command {
	f := connectFlags{placed: true, maker: "'nacre start' makes one"}
	var x exportFlags
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write a database as statements",
		Long: `Writes the namespace and database as ServiceQL that import takes back. FILE is a path, or - for standard output
(the default); .gz and .zst are packed. A file appears only when it is whole. Memory stays constant. A namespace,
database or table that does not exist is an error (exit status 5).

Without options everything is exported but old versions and models. With --only, just what is named.`,
		Example: `  nacre export --ns app --db app dump.surql
  nacre export --ns app --db app - | gzip > dump.surql.gz
  nacre export --db app --only --tables=person,knows --records dump.surql`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("want one file, or - for standard output")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "-"
			if len(args) > 0 {
				path = args[0]
			}
			opt, err := x.options(cmd)
			if err != nil {
				return err
			}
			return runExport(cmd.Context(), s, &f, opt, path)
		},
	}
	addConnectFlags(cmd, &f)
	fl := cmd.Flags()
	fl.BoolVar(&x.only, "only", false, "export only what the following flags name")
	fl.BoolVar(&x.users, "users", true, "system users")
	fl.BoolVar(&x.accesses, "accesses", true, "access methods")
	fl.BoolVar(&x.params, "params", true, "parameters")
	fl.BoolVar(&x.functions, "functions", true, "functions")
	fl.BoolVar(&x.analyzers, "analyzers", true, "analyzers")
	fl.BoolVar(&x.sequences, "sequences", true, "sequences")
	fl.BoolVar(&x.apis, "apis", true, "API endpoints")
	fl.BoolVar(&x.buckets, "buckets", true, "buckets, without their files")
	fl.BoolVar(&x.configs, "configs", true, "configurations")
	fl.BoolVar(&x.models, "models", false, "models, without their files")
	fl.BoolVar(&x.versions, "versions", false, "old versions of records (versioned stores)")
	fl.BoolVar(&x.records, "records", true, "records")
	fl.StringSliceVar(&x.tables, "tables", nil, "tables: all, none, or a list of names")
	fl.Lookup("tables").NoOptDefVal = "all"
	completeTables(cmd, "tables", &f)
	return cmd
}

// options applies --only: what was not named is left out.
func (x *exportFlags) options(cmd *cobra.Command) (client.ExportOptions, error) {
	named := func(name string, v bool) bool { return v && (!x.only || cmd.Flags().Changed(name)) }
	opt := client.ExportOptions{
		Users: named("users", x.users), Accesses: named("accesses", x.accesses), Params: named("params", x.params),
		Functions: named("functions", x.functions), Analyzers: named("analyzers", x.analyzers),
		Sequences: named("sequences", x.sequences), APIs: named("apis", x.apis), Buckets: named("buckets", x.buckets),
		Configs: named("configs", x.configs), Models: named("models", x.models),
		Versions: named("versions", x.versions),
		Records:  named("records", x.records),
	}
	switch {
	case len(x.tables) == 1 && (x.tables[0] == "all" || x.tables[0] == "true"), len(x.tables) == 0 && !x.only:
		opt.Tables = true
	case len(x.tables) == 0, len(x.tables) == 1 && (x.tables[0] == "none" || x.tables[0] == "false"):
		opt.Tables = false
	default:
		opt.Tables = x.tables
	}
	return opt, nil
}

func runExport(ctx context.Context, s *streams, f *connectFlags, opt client.ExportOptions, path string) (err error) {
	c, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	out, commit, err := createOutput(s, path)
	if err != nil {
		return err
	}
	p := newProgress(s, "export", -1)
	began := time.Now()
	_, err = c.Export(ctx, p.writer(out), opt)
	p.stop()
	if err = commit(err); err != nil {
		return err
	}
	if path != "-" {
		fmt.Fprintf(s.err, "%s in %v\n", process.Size(p.count()), time.Since(began).Round(time.Millisecond))
	}
	return nil
}

// createOutput opens path for writing. commit flushes and, where all went well, puts the file in its place;
// given an error it removes what was written and gives that error back.
func createOutput(s *streams, path string) (io.Writer, func(error) error, error) {
	if path == "-" {
		w := bufio.NewWriterSize(s.out, 256<<10)
		return w, func(err error) error { return errors.Join(err, w.Flush()) }, nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, nil, usagef("%s is a directory: name a file in it", path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		var at *fs.PathError // names the temporary file
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, nil, fmt.Errorf("create %s: %w", path, err)
	}
	w, flush, err := pack(path, file)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	return w, func(err error) error {
		err = errors.Join(err, flush(), file.Sync(), file.Close())
		if err == nil {
			err = os.Rename(file.Name(), path)
		}
		if err != nil {
			return errors.Join(err, os.Remove(file.Name()))
		}
		return nil
	}, nil
}

// pack wraps w by the suffix of path; flush ends the packed stream.
func pack(path string, w io.Writer) (io.Writer, func() error, error) {
	switch {
	case strings.HasSuffix(path, ".gz"):
		z := gzip.NewWriter(w)
		return z, z.Close, nil
	case strings.HasSuffix(path, ".zst"):
		z, err := zstd.NewWriter(w)
		if err != nil {
			return nil, nil, fmt.Errorf("pack %s: %w", path, err)
		}
		return z, z.Close, nil
	}
	b := bufio.NewWriterSize(w, 256<<10)
	return b, b.Flush, nil
}
