// Package diff generates cases (a schema, data and statements) from a seed and asks two engines for their answers:
// the embedded engine and a reference engine behind HTTP. It prints the cases whose answers differ, without the
// statements that the difference does not need. The same seed always makes the same cases.
package diff

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Answerer answers the statements of a case, in order. An error means that there are no answers, and is no answer.
type Answerer interface {
	Ask(ctx context.Context, c *Case) ([]Answer, error)
}

// Options of a run.
type Options struct {
	Seed    uint64        // of the first case; the next ones follow
	Cases   int           // how many
	Timeout time.Duration // of one case on one engine
	Shapes  int           // of differing statements to print; the others are counted
	Shrink  bool          // drop statements while the difference stays
	File    string        // compare the cases of this file instead of generated ones
}

// flags reads Options from the command line; the function that it returns runs them.
func flags(fs *flag.FlagSet) func(ctx context.Context, out io.Writer) error {
	var o Options
	url := fs.String("oracle", "http://127.0.0.1:7701/sql", "where the reference engine answers")
	fs.Uint64Var(&o.Seed, "seed", 1, "of the first case")
	fs.IntVar(&o.Cases, "cases", 500, "how many cases")
	fs.DurationVar(&o.Timeout, "timeout", 15*time.Second, "of one case on one engine")
	fs.IntVar(&o.Shapes, "shapes", 30, "kinds of differing statements to print")
	fs.BoolVar(&o.Shrink, "shrink", true, "drop statements while the difference stays")
	fs.StringVar(&o.File, "file", "", "compare the queries of this file, one on each line, instead of generated cases; lines with # in front are left out")
	return func(ctx context.Context, out io.Writer) error {
		if o.File != "" {
			return RunFile(ctx, out, o, &Embedded{}, &Oracle{URL: *url, Client: http.DefaultClient})
		}
		return Run(ctx, out, o, &Embedded{}, &Oracle{URL: *url, Client: http.DefaultClient})
	}
}

// Run compares ours with theirs case by case and prints what differs. Its error says that something did.
func Run(ctx context.Context, out io.Writer, o Options, ours, theirs Answerer) error {
	p := &pair{ours: ours, theirs: theirs, timeout: o.Timeout}
	shapes := map[string]int{}
	statements, differing, silent := 0, 0, 0 // silent: no comparison
	for i := range o.Cases {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c := Generate(o.Seed + uint64(i))
		d, err := p.compare(ctx, c)
		if err != nil {
			silent++
			fmt.Fprintf(out, "-- seed %d: no answer: %v\n", c.Seed, err)
			continue
		}
		statements += len(c.asked())
		if d == nil {
			continue
		}
		differing++
		shape := d.shape()
		shapes[shape]++
		if shapes[shape] > 1 || len(shapes) > o.Shapes {
			continue
		}
		if o.Shrink {
			d = p.shrink(ctx, d)
		}
		fmt.Fprintln(out, d)
	}
	fmt.Fprintf(out, "%d cases from seed %d, %d statements; %d cases differ in %d shapes, %d had no answer\n",
		o.Cases, o.Seed, statements, differing, len(shapes), silent)
	if differing > 0 {
		return fmt.Errorf("%d cases differ", differing)
	}
	return nil
}

// pair is the two engines that are compared.
type pair struct {
	ours, theirs Answerer
	timeout      time.Duration
}

// difference is a case and its first answer that differs.
type difference struct {
	Case         *Case
	Statement    string
	Ours, Theirs Answer
}

// ask has the normalised answers of both.
func (p *pair) ask(ctx context.Context, c *Case) (ours, theirs []Answer, err error) {
	ctx, stop := context.WithTimeout(ctx, p.timeout)
	defer stop()
	if theirs, err = p.theirs.Ask(ctx, c); err != nil {
		return nil, nil, fmt.Errorf("reference: %w", err)
	}
	if ours, err = p.ours.Ask(ctx, c); err != nil {
		return nil, nil, fmt.Errorf("nacre: %w", err)
	}
	return normalise(ours), normalise(theirs), nil
}

// compare asks both; nil says that the answers are the same.
func (p *pair) compare(ctx context.Context, c *Case) (*difference, error) {
	ours, theirs, err := p.ask(ctx, c)
	if err != nil {
		return nil, err
	}
	for j, a := range theirs { // a mistake of the reference, see docs/differences.md
		if a.Failed && a.Text == "Specify a database to use" && j < len(ours) {
			ours[j] = a
		}
	}
	for j, a := range theirs { // and one after which its data is not what it should be
		if strings.Contains(a.Text, "unreachable logic") {
			theirs, ours = theirs[:j], ours[:min(j, len(ours))]
			break
		}
	}
	i := firstDifference(ours, theirs)
	if i < 0 {
		return nil, nil
	}
	d := &difference{Case: c, Statement: "(number of answers)"}
	if asked := c.asked(); i < len(asked) {
		d.Statement = asked[i]
	}
	if i < len(ours) {
		d.Ours = ours[i]
	}
	if i < len(theirs) {
		d.Theirs = theirs[i]
	}
	return d, nil
}

// shrink drops statements, last first, as long as the same statement differs.
func (p *pair) shrink(ctx context.Context, d *difference) *difference {
	for again := true; again; {
		again = false
		for _, part := range []func(*Case) *[]string{func(c *Case) *[]string { return &c.Body },
			func(c *Case) *[]string { return &c.Setup }} {
			for i := len(*part(d.Case)) - 1; i >= 0; i-- {
				if i >= len(*part(d.Case)) {
					continue
				}
				smaller := *d.Case
				s := *part(d.Case)
				*part(&smaller) = append(append([]string{}, s[:i]...), s[i+1:]...)
				if len(smaller.asked()) == 0 || stays(s[i]) {
					continue
				}
				if got, err := p.compare(ctx, &smaller); err == nil && got != nil && got.Statement == d.Statement {
					d, again = got, true
				}
			}
		}
	}
	return d
}

// stays tells the statements without which the others would be another question: tables that are not there, and
// transactions that do not end.
func stays(s string) bool {
	return s == "BEGIN" || s == "COMMIT" || s == "CANCEL" || strings.HasPrefix(s, "DEFINE TABLE ") ||
		strings.HasPrefix(s, "CREATE user:")
}

func (d *difference) String() string {
	return fmt.Sprintf("%s-- differs:   %s\n-- nacre:     %s\n-- reference: %s\n", d.Case, clip(d.Statement),
		clip(d.Ours.String()), clip(d.Theirs.String()))
}

// clip keeps a report readable.
func clip(s string) string {
	if len(s) > 1200 {
		return s[:1200] + "…"
	}
	return s
}

var literals = regexp.MustCompile(`'[^']*'|\b\d+(\.\d+)?\w*|\b[tuevw]\b`)

// shape is what differing statements of one cause likely have in common.
func (d *difference) shape() string {
	word := literals.ReplaceAllString(d.Statement, "#")
	if len(word) > 28 {
		word = word[:28]
	}
	return fmt.Sprintf("%s %v %v", word, d.Ours.Failed, d.Theirs.Failed)
}
