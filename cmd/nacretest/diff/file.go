package diff

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
)

// RunFile compares the answers to the queries of a file, one on each line, each in a store of its own, and prints
// every answer that differs. A line that starts with "as user:" is a setup, ` ## `, and a body that record user user:1
// runs. Its error says that something differed.
func RunFile(ctx context.Context, out io.Writer, o Options, ours, theirs Answerer) error {
	raw, err := os.ReadFile(o.File)
	if err != nil {
		return fmt.Errorf("read the queries: %w", err)
	}
	p := &pair{ours: ours, theirs: theirs, timeout: o.Timeout}
	queries, differing := 0, 0
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		queries++
		a, b, err := p.ask(ctx, lineCase(line))
		if err != nil {
			fmt.Fprintf(out, "%s\n-- no answer: %v\n\n", line, err)
			continue
		}
		if firstDifference(a, b) < 0 {
			continue
		}
		differing++
		fmt.Fprintln(out, line)
		printDiffering(out, a, b)
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "%d queries, %d differ\n", queries, differing)
	if differing > 0 {
		return fmt.Errorf("%d queries differ", differing)
	}
	return nil
}

// lineCase is the case that a line of a file stands for.
func lineCase(line string) *Case {
	if rest, ok := strings.CutPrefix(line, "as user:"); ok {
		setup, body, _ := strings.Cut(rest, " ## ")
		setup = "DEFINE ACCESS acc ON DATABASE TYPE RECORD; CREATE user:1;" + setup
		return &Case{Record: true, Setup: []string{setup}, Body: []string{body}}
	}
	return &Case{Body: []string{line}}
}

func printDiffering(out io.Writer, ours, theirs []Answer) {
	none := Answer{Text: "(no answer)"}
	for i := range max(len(ours), len(theirs)) {
		a, b := none, none
		if i < len(ours) {
			a = ours[i]
		}
		if i < len(theirs) {
			b = theirs[i]
		}
		if !sameAnswer(a, b) {
			fmt.Fprintf(out, "  %d nacre:     %s\n    reference: %s\n", i+1, clip(a.String()), clip(b.String()))
		}
	}
}
