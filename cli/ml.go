package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/process"
	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/ml"
	"github.com/nacredb/nacre/engine/value"
)

func newMLCmd(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ml",
		Short: "Make model files, bring them into a database, and call models",
		Long: `Makes model files of ONNX models, says what is in them, brings them into a database and out of it, and calls models
for the rows of a file.`,
		Example: `  nacre ml from-onnx model.onnx --name price --version 1.0.0 \
    --columns area,floors
  nacre ml import price-1.0.0.svml
  nacre ml run price 1.0.0 --input houses.csv`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newMLImportCmd(s), newMLExportCmd(s), newMLListCmd(s), newMLRunCmd(s), newMLCheckCmd(s),
		newMLFromCmd(s))
	return cmd
}

// mlFlags are the flags of the commands about models in a database.
type mlFlags struct {
	connect  connectFlags
	json     bool
	progress string
}

// add gives cmd the flags; help says what --json writes.
func (f *mlFlags) add(cmd *cobra.Command, help string) {
	addConnectFlags(cmd, &f.connect)
	cmd.Flags().BoolVar(&f.json, "json", false, help)
}

func (f *mlFlags) addProgress(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.progress, "progress", "auto",
		"auto (on a terminal), plain, json (an object a second on standard error) or none")
}

// checkModel refuses what no model can be called.
func checkModel(name, version string) error {
	if !ml.ValidName(name) {
		return usagef("`%s` is not the name of a model: use letters, digits and underscores, and :: between parts", name)
	}
	if v, err := ml.ParseVersion(version); err != nil || v == (ml.Version{}) {
		return usagef("`%s` is not a valid semantic version: it is three numbers from 0 to 255, as 1.0.0", version)
	}
	return nil
}

func newMLImportCmd(s *streams) *cobra.Command {
	f := mlFlags{connect: connectFlags{maker: "'nacre start' makes one"}}
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Store a model file and define its model",
		Long: `Sends a model file to the database, which checks all of it, stores it and defines the model that its header
names. FILE is a path, or - for standard input. The same file again changes nothing; another file of the same name and
version is refused (exit status 6). A file that cannot be run is refused with the reason (exit status 7).`,
		Example: `  nacre ml import --ns app --db app price.svml
  nacre ml import - < price.svml`,
		Args: exactArgs(1, "a file, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error { return runMLImport(cmd.Context(), s, &f, args[0]) },
	}
	f.add(cmd, "write the model's name, version and size as a JSON object")
	f.addProgress(cmd)
	return cmd
}

func runMLImport(ctx context.Context, s *streams, f *mlFlags, path string) (err error) {
	if strings.HasSuffix(path, ".onnx") {
		return usagef("%s is a bare ONNX model: nacre ml from-onnx makes a model file of it", path)
	}
	p, err := newProgressOf(s, "import", f.progress)
	if err != nil {
		return err
	}
	in, size, err := openInput(s, path)
	if err != nil {
		return err
	}
	defer in.Close()
	var head bytes.Buffer
	h, err := ml.ReadHeader(io.TeeReader(in, &head))
	if err != nil {
		return fmt.Errorf("%s is not a model file: %w", path, err)
	}
	c, err := f.connect.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	p.start(size)
	began := time.Now()
	err = c.ImportModel(ctx, p.reader(io.MultiReader(&head, in)))
	p.stop()
	if err != nil {
		return err
	}
	if f.json {
		return writeJSON(s.out, struct {
			Name    string `json:"name"`
			Version string `json:"version"`
			Bytes   int64  `json:"bytes"`
		}{h.Name, h.Version.String(), p.count()})
	}
	fmt.Fprintf(s.err, "ml::%s<%s> was imported with no errors (%s in %v)\n", h.Name, h.Version, process.Size(p.count()),
		time.Since(began).Round(time.Millisecond))
	return nil
}

func newMLExportCmd(s *streams) *cobra.Command {
	f := mlFlags{connect: connectFlags{placed: true, maker: "'nacre start' makes one"}}
	var name, version string
	cmd := &cobra.Command{
		Use:   "export --name NAME --version VERSION [FILE]",
		Short: "Write the file of a model",
		Long: `Writes the file of a model, as it was imported. FILE is a path, or - for standard output (the default). It appears
only when it is whole; .gz and .zst are packed. A model that does not exist is an error (exit status 5).`,
		Example: `  nacre ml export --ns app --db app --name price --version 1.0.0 price.svml
  nacre ml export --name price --version 1.0.0 | sha256sum`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("want one file, or - for standard output")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runMLExport(cmd.Context(), s, &f, name, version, append(args, "-")[0])
		},
	}
	f.add(cmd, "write a failure as a JSON object")
	f.addProgress(cmd)
	cmd.Flags().StringVar(&name, "name", firstEnv("ML_EXPORT_MODEL_NAME", "NAME"),
		"name of the model")
	cmd.Flags().StringVar(&version, "version", firstEnv("ML_EXPORT_MODEL_VERSION", "VERSION"),
		"version of the model, as 1.0.0")
	variable(cmd.Flags(), "name", "NACRE_ML_EXPORT_MODEL_NAME")
	variable(cmd.Flags(), "version", "NACRE_ML_EXPORT_MODEL_VERSION")
	return cmd
}

// firstEnv is the value of the first variable that is set.
func firstEnv(names ...string) string {
	for _, n := range names {
		if v, ok := fromEnv(n); ok {
			return v
		}
	}
	return ""
}

func runMLExport(ctx context.Context, s *streams, f *mlFlags, name, version, path string) (err error) {
	if err := checkModel(name, version); err != nil {
		return err
	}
	if path == "-" && s.outTTY {
		return usagef("a model file is not for a terminal: name a file, or a pipe")
	}
	p, err := newProgressOf(s, "export", f.progress)
	if err != nil {
		return err
	}
	c, err := f.connect.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	out, commit, err := createOutput(s, path)
	if err != nil {
		return err
	}
	p.start(-1)
	err = c.ExportModel(ctx, name, version, p.writer(out))
	p.stop()
	if err = commit(err); err != nil {
		return err
	}
	fmt.Fprintf(s.err, "ml::%s<%s> was exported with no errors (%s)\n", name, version, process.Size(p.count()))
	return nil
}

func newMLListCmd(s *streams) *cobra.Command {
	f := mlFlags{connect: connectFlags{maker: "'nacre start' makes one"}}
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List the models of a database",
		Long:    "Lists the models of a database: name, version, size of the file, who may call them, and comment.",
		Example: "  nacre ml ls --ns app --db app\n  nacre ml ls --json | jq -r '.[].name'",
		Args:    exactArgs(0, "no arguments"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runMLList(cmd.Context(), s, &f) },
	}
	f.add(cmd, "write a JSON array of objects")
	return cmd
}

// listedModel is a model as INFO FOR DB STRUCTURE has it.
type listedModel struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Permissions any    `json:"permissions"`
	Comment     string `json:"comment,omitempty"`
	Hash        string `json:"hash,omitempty"` // of the file; "" if the model has none
	Size        int64  `json:"size,omitempty"`
}

func runMLList(ctx context.Context, s *streams, f *mlFlags) (err error) {
	c, err := f.connect.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	answer, err := oneAnswer(ctx, c, "(INFO FOR DB STRUCTURE).models", nil)
	if err != nil {
		return err
	}
	list := []listedModel{}
	if err := json.Unmarshal(value.AppendJSON(nil, answer), &list); err != nil {
		return fmt.Errorf("the server's list of models cannot be read: %w", err)
	}
	if f.json {
		return writeJSON(s.out, list)
	}
	w := tabwriter.NewWriter(s.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tVERSION\tSIZE\tPERMISSIONS\tCOMMENT")
	for _, m := range list {
		size := "no file"
		if m.Size > 0 {
			size = process.Size(m.Size)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", process.Plain(m.Name), process.Plain(m.Version), size, m.who(),
			process.OneLine(m.Comment, 80))
	}
	return w.Flush()
}

// who says who may call the model.
func (m *listedModel) who() string {
	switch p := m.Permissions.(type) {
	case bool:
		return map[bool]string{true: "FULL", false: "NONE"}[p]
	case string:
		return "WHERE " + process.OneLine(p, 60)
	}
	return cmp.Or(process.Plain(fmt.Sprint(m.Permissions)), "-")
}

// oneAnswer is the answer of a text of one statement.
func oneAnswer(ctx context.Context, c *client.Client, text string, vars *value.Object) (value.Value, error) {
	res, err := c.Query(ctx, text, vars)
	if err != nil {
		return value.None, err
	}
	if len(res) != 1 {
		return value.None, fmt.Errorf("the server gave %d answers to one statement", len(res))
	}
	if res[0].Err != nil {
		return value.None, res[0].Err
	}
	return res[0].Value, nil
}
