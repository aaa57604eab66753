package diff

import (
	"fmt"
	"strings"
)

// Case is one generated question: a schema with data, and statements about it. It is made of its seed alone.
type Case struct {
	Seed   uint64
	Record bool     // the body is run by record user user:1, signed in by access method acc; else all by the owner
	Setup  []string // statements of the owner
	Body   []string
}

// Answer is the answer of one statement: the literal of its value, or the text of its error.
type Answer struct {
	Text   string
	Failed bool
}

// String is the answer as reports print it.
func (a Answer) String() string {
	if a.Failed {
		return "error " + a.Text
	}
	return a.Text
}

// text joins statements to a query, one on each line.
func text(statements []string) string { return strings.Join(statements, ";\n") + ";\n" }

// String is the case as a file that either engine can be fed with.
func (c *Case) String() string {
	who := "owner"
	if c.Record {
		who = "record user user:1"
	}
	return fmt.Sprintf("-- seed %d\n%s-- the following as %s\n%s", c.Seed, text(c.Setup), who, text(c.Body))
}

// asked are the statements that the answers of a run belong to.
func (c *Case) asked() []string {
	if c.Record {
		return c.Body
	}
	return append(append([]string{}, c.Setup...), c.Body...)
}
