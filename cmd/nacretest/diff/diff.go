// Package diff generates cases (a schema, data and statements) from a seed and asks two engines for their answers:
// the embedded engine and a reference engine behind HTTP. It prints the cases whose answers differ, without the
// statements that the difference does not need. The same seed always makes the same cases.
package diff

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Answerer answers the statements of a case, in order. An error means that there are no answers, and is no answer.
type Answerer interface {
	Ask(ctx context.Context, c *Case) ([]Answer, error)
}

// Options of a run.
type Options struct {
	Seed         uint64        // of the first case; the next ones follow
	Cases        int           // how many
	Timeout      time.Duration // of one case on one engine
	Shapes       int           // of differing statements to print; the others are counted
	Shrink       bool          // drop statements while the difference stays
	Log          string        // file that each differing case is appended to, as a line of JSON
	Applications bool          // generate applications that change, in place of statements
	File         string        // compare the cases of this file instead of generated ones
	Doubt        string        // expression; judgements that are about what matches do not count in this run
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
	fs.BoolVar(&o.Applications, "apps", false, "change small applications, in place of generating statements")
	fs.StringVar(&o.Log, "log", "", "file that each differing case is appended to, as a line of JSON")
	fs.StringVar(&o.File, "file", "", "compare the queries of this file, one on each line, instead of generated cases; lines with # in front are left out")
	fs.StringVar(&o.Doubt, "doubt", "", "show what judgements whose text matches this expression would leave out")
	return func(ctx context.Context, out io.Writer) error {
		if o.File != "" {
			return RunFile(ctx, out, o, &Embedded{}, &Oracle{URL: *url, Client: http.DefaultClient})
		}
		return Run(ctx, out, o, &Embedded{}, &Oracle{URL: *url, Client: http.DefaultClient})
	}
}

// Run compares ours with theirs case by case and prints what differs. Its error says that something did which is not
// judged yet.
func Run(ctx context.Context, out io.Writer, o Options, ours, theirs Answerer) (err error) {
	r := &run{pair: pair{ours: ours, theirs: theirs, timeout: o.Timeout}, out: out, o: o, shapes: map[string]int{},
		judged: map[string]int{}}
	if o.Doubt != "" {
		if r.doubt, err = regexp.Compile(o.Doubt); err != nil {
			return fmt.Errorf("read -doubt: %w", err)
		}
	}
	if o.Log != "" {
		f, ferr := os.OpenFile(o.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if ferr != nil {
			return fmt.Errorf("open the log: %w", ferr)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		r.log = json.NewEncoder(f)
	}
	if err := signsIn(ctx, theirs); err != nil {
		return err
	}
	generate := func(seed uint64) (*Case, error) { return Generate(seed), nil }
	if o.Applications {
		generate = Mutate
	}
	for i := range o.Cases {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c, err := generate(o.Seed + uint64(i))
		if err != nil {
			return err
		}
		if err := r.one(ctx, c); err != nil {
			return err
		}
	}
	return r.end()
}

// signsIn asks whether an engine runs cases as a record user. Without that all of them would have the same refusal for
// an answer, and show nothing.
func signsIn(ctx context.Context, a Answerer) error {
	answers, err := a.Ask(ctx, &Case{Record: true, Body: []string{"RETURN $auth"},
		Setup: []string{"DEFINE ACCESS acc ON DATABASE TYPE RECORD", "CREATE user:1"}})
	if err != nil {
		return fmt.Errorf("ask the reference as a record user: %w", err)
	}
	if len(answers) != 1 || answers[0].Failed || answers[0].Text != "user:1" {
		return fmt.Errorf("the reference does not run the statements of record users (it has to know the headers X-Setup "+
			"and X-Auth): RETURN $auth answers %v", answers)
	}
	return nil
}

// run counts what the cases of a run answered.
type run struct {
	pair
	out                           io.Writer
	log                           *json.Encoder
	o                             Options
	shapes, judged                map[string]int
	statements, differing, silent int // silent: no comparison
}

// one compares the answers to one case.
func (r *run) one(ctx context.Context, c *Case) error {
	d, judged, err := r.compare(ctx, c)
	if err != nil {
		r.silent++
		fmt.Fprintf(r.out, "-- seed %d: no answer: %v\n", c.Seed, err)
		return nil
	}
	r.statements += len(c.asked())
	for _, about := range judged {
		r.judged[about]++
	}
	if d == nil {
		return nil
	}
	r.differing++
	shape := d.shape()
	r.shapes[shape]++
	first := r.shapes[shape] == 1 && len(r.shapes) <= r.o.Shapes
	if first && r.o.Shrink {
		d = r.shrink(ctx, d)
	}
	if first {
		fmt.Fprintln(r.out, d)
	}
	if r.log == nil {
		return nil
	}
	if err := r.log.Encode(struct {
		Shape string
		*difference
	}{shape, d}); err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	return nil
}

// end prints the counts.
func (r *run) end() error {
	for _, about := range slices.Sorted(maps.Keys(r.judged)) {
		fmt.Fprintf(r.out, "%7d times: %s\n", r.judged[about], about)
	}
	fmt.Fprintf(r.out, "%d cases from seed %d, %d statements; %d cases differ in %d shapes, %d had no answer\n",
		r.o.Cases, r.o.Seed, r.statements, r.differing, len(r.shapes), r.silent)
	if r.differing > 0 {
		return fmt.Errorf("%d cases differ", r.differing)
	}
	return nil
}

// pair is the two engines that are compared.
type pair struct {
	ours, theirs Answerer
	timeout      time.Duration
	doubt        *regexp.Regexp // judgements that do not count, or nil
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

// compare asks both for their answers and has the first difference that is not judged yet, or nil, and what the
// judged ones before it are about. Behind a judged difference of a statement that writes nothing is compared: the data
// is not the same any more.
func (p *pair) compare(ctx context.Context, c *Case) (d *difference, about []string, err error) {
	ours, theirs, err := p.ask(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	asked := c.asked()
	asked, ours = withoutCommits(asked, ours) // they have an answer here, and none there
	for from := 0; ; {
		i := firstDifference(ours[min(from, len(ours)):], theirs[min(from, len(theirs)):])
		if i < 0 {
			return nil, about, nil
		}
		d := newDifference(c, asked, ours, theirs, from+i)
		if notRun(d) && from+i+1 < min(len(ours), len(theirs)) { // the statement that failed tells
			from += i + 1
			continue
		}
		j := judge(d, p.doubt)
		if j == nil {
			return d, about, nil
		}
		about = append(about, j.about)
		if j.ends || !reads.MatchString(d.Statement) {
			return nil, about, nil
		}
		from += i + 1
	}
}

// notRun tells statements that one engine did not run, or took back, because another failed.
func notRun(d *difference) bool {
	const text = "The query was not executed due to a "
	return strings.HasPrefix(d.Ours.Text, text) || strings.HasPrefix(d.Theirs.Text, text)
}

// withoutCommits leaves out the COMMITs of failed transactions.
func withoutCommits(asked []string, answers []Answer) ([]string, []Answer) {
	var kept []string
	var left []Answer
	for i, a := range answers {
		if a.Failed && strings.HasPrefix(a.Text, "Cannot COMMIT: the transaction was aborted") {
			continue
		}
		left = append(left, a)
		if i < len(asked) {
			kept = append(kept, asked[i])
		}
	}
	return kept, left
}

func newDifference(c *Case, asked []string, ours, theirs []Answer, i int) *difference {
	d := &difference{Case: c, Statement: "(number of answers)"}
	if i < len(asked) {
		d.Statement = asked[i]
	}
	if i < len(ours) {
		d.Ours = ours[i]
	}
	if i < len(theirs) {
		d.Theirs = theirs[i]
	}
	return d
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
				if got, _, err := p.compare(ctx, &smaller); err == nil && got != nil && got.Statement == d.Statement {
					d, again = got, true
				}
			}
		}
	}
	return d
}

// stays tells the statements without which the others would be another question: tables that are not there,
// transactions that do not end, users who were never signed in.
func stays(s string) bool {
	return s == "BEGIN" || s == "COMMIT" || s == "CANCEL" || strings.HasPrefix(s, "DEFINE TABLE ") ||
		strings.HasPrefix(s, "CREATE user:") || strings.HasPrefix(s, "DEFINE ACCESS ")
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

// shape returns the common form of differing statements of one likely cause.
func (d *difference) shape() string {
	word := literals.ReplaceAllString(d.Statement, "#")
	if len(word) > 28 {
		word = word[:28]
	}
	return fmt.Sprintf("%s %v %v", word, d.Ours.Failed, d.Theirs.Failed)
}
