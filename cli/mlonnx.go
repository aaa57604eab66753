package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/engine/ml"
)

// fromFlags say what the header of a new model file holds.
type fromFlags struct {
	name, version, description, author, output string
	columns, normalisers                       []string
	json                                       bool
}

func newMLFromCmd(s *streams) *cobra.Command {
	var f fromFlags
	cmd := &cobra.Command{
		Use:   "from-onnx MODEL.onnx [FILE]",
		Short: "Make a model file of an ONNX model",
		Long: `Puts a header before an ONNX model, which must be one that can be run. FILE is NAME-VERSION.svml by default; it must not
be there yet. It needs no server.

A normaliser maps a column to what the model expects: linear_scaling(min,max), clipping(min,max), log_scaling(base,min)
or z_score(mean,deviation). The normaliser of --output maps the result back.`,
		Example: `  nacre ml from-onnx model.onnx --name price --version 1.0.0 \
    --columns area,floors --normaliser 'area=z_score(2000,750)' \
    --normaliser 'floors=z_score(2,0.75)' \
    --output 'price=z_score(360000,105000)'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usagef("want an ONNX model, and the model file to make")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return f.run(s, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.name, "name", "", "name of the model; parts are joined by ::")
	fl.StringVar(&f.version, "version", "", "version of the model, as 1.0.0")
	fl.StringSliceVar(&f.columns, "columns", nil, "names of the columns of an object argument, in the order of the input")
	fl.StringArrayVar(&f.normalisers, "normaliser", nil, "COLUMN=LABEL(A,B); once for each column that has one")
	fl.StringVar(&f.output, "output", "", "name of the result: NAME, or NAME=LABEL(A,B) to map it back")
	fl.StringVar(&f.description, "description", "", "what the model is for; the comment of its definition")
	fl.StringVar(&f.author, "author", "", "who made it")
	fl.BoolVar(&f.json, "json", false, "write the file's path and the model's name and version as a JSON object")
	return cmd
}

// header makes the header that the flags ask for.
func (f *fromFlags) header() (*ml.Header, error) {
	if err := checkModel(f.name, f.version); err != nil {
		return nil, err
	}
	texts := append([]string{f.author, f.output}, f.columns...)
	for _, text := range append(texts, f.normalisers...) {
		if strings.Contains(text, "//") || strings.Contains(text, "=>") {
			return nil, usagef("%q holds one of the marks // and =>, which a header cannot hold", text)
		}
	}
	if strings.Contains(f.description, "//=>") {
		return nil, usagef("the description holds the mark //=>, which a header cannot hold")
	}
	entries := make([]string, len(f.normalisers))
	for i, n := range f.normalisers {
		column, norm, ok := strings.Cut(n, "=")
		if !ok {
			return nil, usagef("--normaliser %q is not COLUMN=LABEL(A,B)", n)
		}
		entries[i] = column + "=>" + norm
	}
	output := ""
	if f.output != "" {
		name, norm, ok := strings.Cut(f.output, "=")
		if !ok {
			norm = "none"
		}
		output = name + "=>" + norm
	}
	pieces := []string{"", strings.Join(f.columns, "=>"), strings.Join(entries, "//"), output, f.name, f.version,
		f.description, "", f.author + "=>local", "", ""}
	h, err := ml.ParseHeader([]byte(strings.Join(pieces, "//=>")))
	if err == nil {
		err = h.Check()
	}
	if err != nil {
		return nil, usageError{err}
	}
	return h, nil
}

func (f *fromFlags) run(s *streams, args []string) error {
	h, err := f.header()
	if err != nil {
		return err
	}
	path := strings.ReplaceAll(f.name, "::", "-") + "-" + f.version + ".svml"
	if len(args) > 1 {
		path = args[1]
	}
	from := args[0]
	if !strings.HasSuffix(from, ".onnx") {
		return usagef("%s is not named as an ONNX model is (.onnx)", from)
	}
	m, _, payload, err := readModel(s, from)
	if err != nil {
		return err
	}
	if n := len(f.columns); n > 0 {
		if takes := m.Takes(); takes >= 0 && takes != n {
			return usagef("the model takes %d numbers and --columns names %d", takes, n)
		}
		h.Dims = [2]int32{1, int32(n)}
	}
	if err := writeNew(path, h.Bytes(), payload); err != nil {
		return err
	}
	if f.json {
		return writeJSON(s.out, struct {
			File    string `json:"file"`
			Name    string `json:"name"`
			Version string `json:"version"`
		}{path, h.Name, h.Version.String()})
	}
	fmt.Fprintf(s.err, "%s holds ml::%s<%s>\n", path, f.name, f.version)
	return nil
}
