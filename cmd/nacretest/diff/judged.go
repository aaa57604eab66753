package diff

import (
	"regexp"
	"strings"
)

// A judgement is a kind of difference that somebody has looked at and found right, or not ours. The page
// docs/differences.md gives the reasons.
type judgement struct {
	about string
	when  func(d *difference) bool
	ends  bool // what follows in the case is not to be compared
}

// reads are the statements that leave the data as it was.
var reads = regexp.MustCompile(`^(SELECT|RETURN|INFO|SHOW|LET|SLEEP) [^{}]*$`)

// judge has the judgement of a difference, or nil.
func judge(d *difference) *judgement {
	for i := range judgements {
		if judgements[i].when(d) {
			return &judgements[i]
		}
	}
	return nil
}

func theirs(text string) func(d *difference) bool {
	return func(d *difference) bool { return d.Theirs.Failed && strings.Contains(d.Theirs.Text, text) }
}

func ours(text string) func(d *difference) bool {
	return func(d *difference) bool { return d.Ours.Failed && strings.Contains(d.Ours.Text, text) }
}

// statement tells the differences of statements that match.
func statement(pattern string, more func(d *difference) bool) func(d *difference) bool {
	re := regexp.MustCompile(pattern)
	return func(d *difference) bool { return re.MatchString(d.Statement) && more(d) }
}

func always(*difference) bool { return true }

func both(all ...func(d *difference) bool) func(d *difference) bool {
	return func(d *difference) bool {
		for _, when := range all {
			if !when(d) {
				return false
			}
		}
		return true
	}
}

func ofRecordUser(d *difference) bool { return d.Case.Record }

func setup(text string) func(d *difference) bool {
	return func(d *difference) bool { return strings.Contains(d.Case.String(), text) }
}

var judgements = []judgement{
	{about: "the reference does not find its database in a closure or a list", when: theirs("Specify a database to use")},
	{about: "the reference meets unreachable logic", when: theirs("unreachable logic"), ends: true},
	{about: "rows of views are not written", when: ours("is a view: its rows follow"), ends: true},
	{about: "the reference prints the path of an API with two slashes", when: both(ours("The api '/"), theirs("The api '//"))},
	{about: "hashes of passwords are not shown", when: func(d *difference) bool { return strings.Contains(d.Ours.Text, "[REDACTED]") }},
	{about: "record users are not told conditions and values", when: both(ofRecordUser, func(d *difference) bool {
		for _, text := range []string{"the ASSERT of the field", "cannot follow the change", "to the type of the field",
			"already contains these values", "Found another record for the"} {
			if strings.Contains(d.Ours.Text, text) {
				return d.Theirs.Failed
			}
		}
		return false
	})},
	{about: "RELATE of a record user onto an edge that may not be updated", when: statement("^RELATE ",
		both(ofRecordUser, func(d *difference) bool { return d.Ours.Text == "[]" })), ends: true},
	{about: "INFO of a past version shows the indexes of then", when: statement("^INFO FOR TABLE .* VERSION", always)},
	{about: "a time to come is now", when: theirs("Can not fetch value at a future version")},
	{about: "bounds of recursions are refused when they are evaluated", when: func(d *difference) bool {
		return d.Theirs.Failed && (strings.Contains(d.Theirs.Text, "for bound but expected at least") ||
			strings.Contains(d.Theirs.Text, "Cannot construct a recursion plan"))
	}},
	{about: "the older evaluator of the reference says otherwise that a method is not there", when: theirs("no such method found for the")},
	{about: "LIMIT 0 reads nothing", when: statement(`LIMIT 0\b`, func(d *difference) bool { return d.Theirs.Failed })},
	{about: "DIFF of deleted records with COMPUTED fields", when: statement("^DELETE .*RETURN DIFF", setup("COMPUTED"))},
	{about: "DELETE of a source of a view that cannot follow", when: statement("^DELETE ", both(theirs("Cannot perform"),
		setup("DEFINE TABLE v4 AS")))},
	{about: "ON DUPLICATE KEY UPDATE sees the record", when: statement("ON DUPLICATE KEY UPDATE (k = n|a \\+= n|.*[a-z] = [a-z])", always), ends: true},
	{about: "INSERT RELATION and RELATE of an edge that is there", when: statement("INSERT RELATION|RELATE ", ours("already exists")), ends: true},
	{about: "fields of the written table, not of the node", when: statement(`^(UPDATE|DELETE) \w+:\S+->`, always), ends: true},
	{about: "SELECT *, a AS b keeps a", when: statement(`SELECT \*, .* AS`, func(d *difference) bool { return !d.Theirs.Failed && len(d.Ours.Text) > len(d.Theirs.Text) })},
}
