package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/process"
	"github.com/nacredb/nacre/engine/ml"
)

func newMLCheckCmd(s *streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Say what is in a model file, and whether it can be run",
		Long: `Reads a model file, or a bare ONNX model (.onnx), and says what it is: its header, inputs, outputs and operators. It
needs no server. FILE is a path, or - for standard input. Exit status 7: the file is damaged, or it cannot be run;
operators that are missing are named.`,
		Example: "  nacre ml check price.svml\n  nacre ml check --json model.onnx | jq .operators",
		Args:    exactArgs(1, "a file, or - for standard input"),
		RunE:    func(_ *cobra.Command, args []string) error { return runMLCheck(s, args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	return cmd
}

// modelReport is the report of check.
type modelReport struct {
	Name        string            `json:"name,omitempty"`
	Version     string            `json:"version,omitempty"`
	Description string            `json:"description,omitempty"`
	Columns     []string          `json:"columns,omitempty"`
	Normalisers map[string]string `json:"normalisers,omitempty"`
	Result      string            `json:"result,omitempty"`
	Engine      string            `json:"engine,omitempty"`
	Author      string            `json:"author,omitempty"`
	Producer    string            `json:"producer,omitempty"`
	Opsets      map[string]int64  `json:"operator_sets,omitempty"`
	Inputs      []string          `json:"inputs,omitempty"`
	Outputs     []string          `json:"outputs,omitempty"` // a call gives the first one
	Operators   []string          `json:"operators,omitempty"`
	Nodes       int               `json:"nodes,omitempty"`
	Memory      int64             `json:"memory,omitempty"`
	Missing     []string          `json:"missing,omitempty"` // operators
	Runs        bool              `json:"runs"`
}

func runMLCheck(s *streams, path string, asJSON bool) error {
	m, h, _, err := readModel(s, path)
	var r modelReport
	r.header(h)
	r.model(m)
	if missing, ok := errors.AsType[*ml.UnsupportedError](err); ok {
		r.Missing = missing.Operators
	}
	if h == nil && m == nil && r.Missing == nil && !asJSON {
		return err
	}
	write := r.text
	if asJSON {
		write = func(w io.Writer) error { return writeJSON(w, r) }
	}
	if wrong := write(s.out); wrong != nil {
		return wrong
	}
	return err
}

func (r *modelReport) header(h *ml.Header) {
	if h == nil {
		return
	}
	r.Name, r.Version, r.Description, r.Columns = h.Name, h.Version.String(), h.Description, h.Keys
	r.Engine, r.Author = h.Engine, h.Author
	r.Normalisers = map[string]string{}
	for _, c := range h.Normalisers {
		r.Normalisers[c.Name] = c.Normaliser.String()
	}
	if o := h.Output; o != nil {
		r.Result = o.Name
		if o.Norm != nil {
			r.Result += " " + o.Norm.String()
		}
	}
}

func (r *modelReport) model(m *ml.Model) {
	if m == nil {
		return
	}
	i := m.Info()
	r.Runs, r.Memory = true, m.Bytes()
	r.Producer, r.Inputs, r.Outputs, r.Operators, r.Nodes = i.Producer, i.Inputs, i.Outputs, i.Operators, i.Nodes
	r.Opsets = map[string]int64{}
	for domain, n := range i.Opsets {
		if domain == "" {
			domain = "ai.onnx"
		}
		r.Opsets[domain] = n
	}
}

// text writes a line for each thing that there is.
func (r *modelReport) text(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, process.Plain(text))
		}
	}
	if r.Name != "" {
		line("model", "ml::"+r.Name+"<"+r.Version+">")
	}
	line("description", r.Description)
	line("columns", strings.Join(r.Columns, ", "))
	for _, c := range r.Columns {
		if n, ok := r.Normalisers[c]; ok {
			line("normaliser", c+" "+n)
		}
	}
	line("result", r.Result)
	line("engine", r.Engine)
	line("author", r.Author)
	line("producer", r.Producer)
	for _, domain := range slices.Sorted(maps.Keys(r.Opsets)) {
		line("operator set", fmt.Sprintf("%s %d", domain, r.Opsets[domain]))
	}
	for _, in := range r.Inputs {
		line("input", in)
	}
	for i, out := range r.Outputs {
		if i > 0 {
			out += " (not read)"
		}
		line("output", out)
	}
	line("operators", strings.Join(r.Operators, ", "))
	line("missing", strings.Join(r.Missing, ", "))
	if r.Runs {
		line("nodes", fmt.Sprint(r.Nodes))
		line("memory", process.Size(r.Memory))
	}
	return w.Flush()
}

// maxModelFile bounds a model file that a command reads into memory.
const maxModelFile = 4 << 30

// readModel reads a model file, or a bare ONNX model. What could be read of it is given with an error, too.
func readModel(s *streams, path string) (*ml.Model, *ml.Header, []byte, error) {
	in, size, err := openInput(s, path)
	if err != nil {
		return nil, nil, nil, err
	}
	defer in.Close()
	var b []byte
	if size > 0 && size <= maxModelFile {
		b = make([]byte, size)
		_, err = io.ReadFull(in, b)
	} else if b, err = io.ReadAll(io.LimitReader(in, maxModelFile+1)); len(b) > maxModelFile {
		err = exitError{exitInvalid, fmt.Errorf("it is larger than %d GiB", maxModelFile>>30)}
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	var h *ml.Header
	if !strings.HasSuffix(path, ".onnx") {
		if h, b, err = ml.Split(b); err == nil {
			err = h.Check()
		}
		if err != nil {
			return nil, h, nil, exitError{exitInvalid, err}
		}
	}
	m, err := ml.LoadONNX(b, ml.DefaultLimits)
	if err != nil {
		err = exitError{exitInvalid, err}
	}
	return m, h, b, err
}

// writeNew writes a file that must not be there yet.
func writeNew(path string, parts ...[]byte) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return exitError{exitConflict, fmt.Errorf("%s is there already: name another file", path)}
	}
	if err != nil {
		return fmt.Errorf("make the model file: %w", err)
	}
	for _, b := range parts {
		if _, err = out.Write(b); err != nil {
			break
		}
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(fmt.Errorf("write the model file: %w", err), os.Remove(path))
	}
	return nil
}
