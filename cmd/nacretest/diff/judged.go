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

func succeeded(d *difference) bool { return !d.Ours.Failed && !d.Theirs.Failed }

func ofRecordUser(d *difference) bool { return d.Case.Record }

func setup(text string) func(d *difference) bool {
	return func(d *difference) bool { return strings.Contains(d.Case.String(), text) }
}

var judgements = []judgement{
	{about: "the reference does not find its database in a closure or a list",
		when: theirs("Specify a database to use")},
	{about: "the reference meets unreachable logic", when: theirs("unreachable logic"), ends: true},
	{about: "rows of views are not written", when: ours("is a view: its rows follow"), ends: true},
	{about: "the reference prints the path of an API with two slashes", when: both(ours("The api '/"),
		theirs("The api '//"))},
	{about: "hashes of passwords are not shown", when: func(d *difference) bool {
		return strings.Contains(d.Ours.Text, "[REDACTED]") && strings.Contains(d.Theirs.Text, "PASSHASH")
	}},
	{about: "record users are not told conditions and values", when: both(ofRecordUser, func(d *difference) bool {
		for _, text := range []string{"the ASSERT of the field", "cannot follow the change",
			"to the type of the field",
			"already contains these values", "Found another record for the"} {
			if strings.Contains(d.Ours.Text, text) {
				return d.Theirs.Failed
			}
		}
		return false
	})},
	{about: "RELATE of a record user onto an edge that may not be updated", when: statement("^RELATE ",
		both(ofRecordUser, func(d *difference) bool { return d.Ours.Text == "[]" })), ends: true},
	{about: "INFO of a past version shows the indexes of then", when: statement("^INFO FOR TABLE .* VERSION",
		always)},
	{about: "a time to come is now", when: theirs("Can not fetch value at a future version")},
	{about: "bounds of recursions are refused when they are evaluated", when: func(d *difference) bool {
		return d.Theirs.Failed && (strings.Contains(d.Theirs.Text, "for bound but expected at least") ||
			strings.Contains(d.Theirs.Text, "Cannot construct a recursion plan"))
	}},
	{about: "the older evaluator of the reference says otherwise that a method is not there",
		when: theirs("no such method found for the")},
	{about: "LIMIT 0 reads nothing", when: statement(`LIMIT 0\b`,
		func(d *difference) bool { return d.Theirs.Failed })},
	{about: "DIFF of deleted records with COMPUTED fields", when: statement("^DELETE .*RETURN DIFF",
		setup("COMPUTED"))},
	{about: "DELETE of a source of a view that cannot follow", when: statement("^DELETE ",
		both(theirs("Cannot perform"),
			setup("DEFINE TABLE v4 AS")))},
	{about: "ON DUPLICATE KEY UPDATE sees the record",
		when: statement("ON DUPLICATE KEY UPDATE (k = n|a \\+= n|.*[a-z] = [a-z])", always), ends: true},
	{about: "INSERT RELATION and RELATE of an edge that is there", when: statement("INSERT RELATION|RELATE ",
		ours("already exists")), ends: true},
	{about: "fields of the written table, not of the node", when: statement(`^(UPDATE|DELETE) \w+:\S+->`, always),
		ends: true},
	{about: "what has no sum is an error, not silence", when: func(d *difference) bool {
		return d.Ours.Failed && strings.Contains(d.Statement, "=") &&
			(strings.HasPrefix(d.Ours.Text, "Cannot perform addition") || strings.HasPrefix(d.Ours.Text,
				"Cannot perform subtraction"))
	}, ends: true},
	{about: "arrays and sets are subtracted and added", when: func(d *difference) bool {
		return !d.Ours.Failed && (strings.HasPrefix(d.Theirs.Text, "Cannot perform subtraction with '[") ||
			strings.HasPrefix(d.Theirs.Text, "Cannot perform subtraction with '{") ||
			strings.HasPrefix(d.Theirs.Text, "Cannot perform addition with '{"))
	}, ends: true},
	{about: "ORDER BY of a field that is no column, computed cycles, ALTER and clauses of later releases",
		when: func(d *difference) bool {
			return strings.HasPrefix(d.Theirs.Text, "Parse error: Missing order idiom")
		}, ends: true},
	{about: "clauses of fields run in the order of what they read, and ASSERTs last",
		when: func(d *difference) bool {
			for _, a := range []Answer{d.Ours, d.Theirs} {
				if !a.Failed || !strings.Contains(a.Text, "must conform to") && !strings.Contains(a.Text,
					"Couldn't coerce value for field") &&
					!strings.Contains(a.Text, "but field is readonly") && !strings.Contains(a.Text,
					"no such field exists") {
					return false
				}
			}
			return fieldOf(d.Ours.Text) != fieldOf(d.Theirs.Text)
		}},
	{about: "INCLUDE ORIGINAL of the table decides", when: statement("^SHOW CHANGES",
		setup("DEFINE DATABASE OVERWRITE test CHANGEFEED")), ends: true},
	{about: "changefeeds show COMPUTED fields and rows of views", when: statement("^SHOW CHANGES",
		setup("COMPUTED")), ends: true},
	{about: "BEFORE of a new record with COMPUTED fields is NONE",
		when: statement("RETURN (BEFORE|VALUE \\$before|AFTER|DIFF)", func(d *difference) bool {
			return d.Ours.Text == "[NONE]" || d.Ours.Text == "NONE" || strings.HasPrefix(d.Ours.Text,
				"[[{ op: 'replace', path: ''")
		})},
	{about: "a sub-select that answers NONE is no row", when: statement(`FROM \(SELECT`,
		func(d *difference) bool { return d.Ours.Text == "[]" })},
	{about: "commits of the reference have a time a little later than the clock", when: statement(`VERSION \$v`,
		always), ends: true},
	{about: "an endpoint at / is found", when: statement("api::invoke\\('/?'",
		func(d *difference) bool { return strings.Contains(d.Theirs.Text, "status: 404") })},
	{about: "api::res::header of NONE takes a header away", when: both(statement("api::invoke", always),
		setup("api::res::header('x-a', NONE)")), ends: true},
	{about: "recursions in writes, LET and functions, by the older evaluator",
		when: statement(`\{[0-9.]*(\+\w+)*(=t:3)?\}`, func(d *difference) bool {
			return !reads.MatchString(d.Statement) || strings.HasPrefix(d.Statement, "LET")
		})},
	{about: "paths from the edge that RELATE returns",
		when: statement("^(RELATE|INSERT RELATION|UPDATE) .*RETURN .*(->|<-)", always)},
	{about: "writes of record users on hidden records", when: statement("^(UPDATE|DELETE|UPSERT) ",
		both(ofRecordUser, func(d *difference) bool { return d.Ours.Text == "[]" })), ends: true},
	{about: "record users do not define tables by CREATE", when: both(ofRecordUser, func(d *difference) bool {
		return strings.Contains(d.Ours.Text, "' does not exist") && strings.Contains(d.Case.String(), "nosuch")
	})},
	{about: "the own record of a record user is known while it is written", when: statement("^(UPDATE|UPSERT) ",
		both(ofRecordUser,
			func(d *difference) bool { return d.Theirs.Text == "[]" || d.Theirs.Text == "[{}]" })), ends: true},
	{about: "+= and -= of sets and texts", when: statement(`[+-]= `,
		func(d *difference) bool { return !d.Ours.Failed && !d.Theirs.Failed }), ends: true},
	{about: "DEFAULT of id", when: theirs("Cannot use the `DEFAULT` keyword on the `id` field"), ends: true},
	{about: "?? binds less tightly than arithmetic", when: statement("^INFO ", setup("?? ("))},
	{about: "every table of <~(a, b) is looked at", when: both(statement("^SELECT|^RETURN", always),
		setup("<~(r1, r2)"))},
	{about: "views follow edges that go with their record; the reference loses rows",
		when: statement(`^SELECT .*FROM v`, setup("DELETE"))},
	{about: "the reference names the method in errors of its closure",
		when: theirs("Incorrect arguments for method ")},
	{about: "what a record user may not read is told before other errors", when: both(ofRecordUser,
		ours("You don't have permission to"))},
	{about: "api::invoke looks at its fields in another order", when: both(ours("Failed to deserialize field"),
		theirs("Failed to deserialize field"))},
	{about: "an edge that is there is not inserted again", when: statement("^INSERT RELATION IGNORE", always),
		ends: true},
	{about: "bare count() counts all rows", when: statement(`^SELECT count\(\) FROM \w+$`, always)},
	{about: "endpoints read with the rights of their caller", when: statement("api::invoke",
		both(ofRecordUser, setup("DEFINE API"), setup("PERMISSIONS FOR select WHERE"), succeeded)), ends: true},
	{about: "LIMIT in functions, by the older evaluator",
		when: func(d *difference) bool {
			return strings.Contains(d.Theirs.Text, "but the LIMIT clause must evaluate to a positive integer")
		}},
	{about: "COMPUTED fields in the answers of writes are as SELECT shows them",
		when: statement("^(UPDATE|UPSERT|CREATE) ", both(ofRecordUser, setup("COMPUTED count(<-"), succeeded))},
	{about: "ORDER BY what lies behind a link sorts", when: statement(`^SELECT (\w+)\.(\w+) AS (\w+), .*ORDER BY `,
		succeeded)},
	{about: "CANCEL of a failed transaction has an answer", when: statement("^CANCEL$", always)},
	{about: "SELECT *, a AS b keeps a", when: statement(`SELECT \*, .* AS`,
		func(d *difference) bool { return !d.Theirs.Failed && len(d.Ours.Text) > len(d.Theirs.Text) })},
}

// fieldOf is the field that an error names.
func fieldOf(text string) string {
	if m := fieldName.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

var fieldName = regexp.MustCompile("field [`']([^`']*)[`']")
