package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/script"
	"github.com/nacredb/nacre/engine/parse"
)

func newValidateCmd(s *streams) *cobra.Command {
	var stdin bool
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check the syntax of files of statements without running them",
		Long: `Parses each FILE, a path, a pattern (*.surql) or - for standard input, and runs nothing. Mistakes are told as
FILE:LINE:COLUMN. Exit status 0: all parse. 5: there is no such file. 7: one does not parse.`,
		Example: `  nacre validate schema.surql
  nacre validate 'migrations/*.surql'
  nacre export --ns app --db app - | nacre validate -`,
		RunE: func(_ *cobra.Command, args []string) error {
			if stdin {
				args = append(args, "-")
			}
			return runValidate(s, args)
		},
	}
	cmd.Flags().BoolVar(&stdin, "stdin", false, "check standard input, as - does")
	return cmd
}

func runValidate(s *streams, patterns []string) error {
	files, err := expand(patterns)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return usagef("want files of statements, or - for standard input")
	}
	bad := 0
	for _, file := range files {
		in, _, err := openInput(s, file)
		if err != nil {
			return err
		}
		plain, err := unpack(file, in)
		if err == nil {
			err = script.Check(plain)
			err = errors.Join(err, plain.Close())
		}
		if err := errors.Join(err, in.Close()); err != nil {
			bad++
			tellMistake(s.err, file, err)
		}
	}
	if bad > 0 {
		return exitError{exitInvalid, fmt.Errorf("%d of %s cannot be parsed", bad, counted(int64(len(files)), "file"))}
	}
	return nil
}

// tellMistake writes FILE:LINE:COLUMN: what is wrong, with an excerpt.
func tellMistake(w io.Writer, file string, err error) {
	if file == "-" {
		file = "standard input"
	}
	var at *parse.Error
	if errors.As(err, &at) {
		fmt.Fprintf(w, "%s:%d:%d: %v\n", file, at.Line(), at.Column(), at)
		return
	}
	fmt.Fprintf(w, "%s: %v\n", file, err)
}

// expand replaces patterns by the files that they match; what matches none is a file that does not exist.
func expand(patterns []string) ([]string, error) {
	var files []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, usagef("%s is no pattern of files: %v", p, err)
		}
		switch {
		case p == "-":
			files = append(files, p)
		case len(found) == 0:
			return nil, fmt.Errorf("%s: %w", p, fs.ErrNotExist)
		default:
			files = append(files, found...)
		}
	}
	return files, nil
}
