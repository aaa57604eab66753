package diff

import (
	"regexp"
	"slices"
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

// judge has the judgement of a difference, or nil. Judgements about what doubt matches are passed over; doubt may be
// nil.
func judge(d *difference, doubt *regexp.Regexp) *judgement {
	for i := range judgements {
		if doubt != nil && doubt.MatchString(judgements[i].about) {
			continue
		}
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
			"to the type of the field", "as the ON DELETE clause of a record that refers to it failed",
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
			return noneAlone.MatchString(d.Ours.Text) || strings.HasPrefix(
				strings.TrimPrefix(d.Ours.Text, "["), "[{ op: 'replace', path: ''")
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
		when: statement(`[.@]\{[0-9.]+(\+\w+)*(=t:3)?\}`, func(d *difference) bool {
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
	{about: "+= and -= of sets and texts", when: statement("[+-]= ('|\"|\\{|<set>|<string>)", succeeded), ends: true},
	{about: "+= and -= of fields that may hold sets and texts", when: both(statement("[+-]= [a-z]", succeeded),
		func(d *difference) bool { return strings.ContainsAny(d.Ours.Text+d.Theirs.Text, "{'") }), ends: true},
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
		when: statement("^(UPDATE|UPSERT|CREATE) ", both(ofRecordUser, pattern(`COMPUTED count\((<-|->)`), succeeded))},
	{about: "ORDER BY what lies behind a link sorts", when: statement(`^SELECT (\w+)\.(\w+) AS (\w+), .*ORDER BY `,
		succeeded)},
	{about: "CANCEL of a failed transaction has an answer", when: statement("^CANCEL$", always)},
	{about: "SELECT *, a AS b keeps a", when: statement(`SELECT \*, .* AS`,
		func(d *difference) bool { return !d.Theirs.Failed && len(d.Ours.Text) > len(d.Theirs.Text) })},
	{about: "PATCH reaches elements by their positions", when: statement(`PATCH .*(path|from): '/[^']*/(\d+|-)(/|')`,
		always), ends: true},
	{about: "what such a PATCH left in the records", when: both(succeeded,
		pattern(`PATCH .*(path|from): '/[^']*/(\d+|-)(/|')`)), ends: true},
	{about: "the text about a range of references without a field", when: both(
		ours("Cannot scan a specific range of record references without a referencing field"),
		theirs("Range-bounded reference scans require a referencing field"))},
	{about: "escapes in the texts of record ids and files", when: statement(`\b[rf]['"].*\\`,
		func(d *difference) bool { return d.Ours.Failed || d.Theirs.Failed })},
	{about: "+= of a field that is a set", when: statement(`\+= `,
		both(succeededHere, theirs("set<"), theirs("but found `["))),
		ends: true},
	{about: "paths over an edge table that is removed", when: both(succeeded, statement("^SELECT ", always),
		pattern(`\nREMOVE TABLE `)), ends: true},
	{about: "a link of an edge to a table that does not exist", when: statement("^RELATE ",
		both(ours("Cannot perform"), theirs("' does not exist"))), ends: true},
	{about: "arguments of a function in an endpoint", when: statement("api::invoke", func(d *difference) bool {
		_, told, ok := strings.Cut(d.Ours.Text, "Failed to coerce argument `$")
		_, told, also := strings.Cut(told, "`: ")
		return ok && also && strings.Contains(d.Theirs.Text, told)
	})},
	{about: "the last member of a set", when: statement(`\}\[\$\]`, succeeded)},
	{about: "sets in writes and LET, by the older evaluator", when: statement(
		`^(CREATE|UPDATE|UPSERT|INSERT|RELATE|DELETE|LET) .*[^:,] ?\}+\[(\d|WHERE)`, always), ends: true},
	{about: "closures write nothing", when: ours("Couldn't write to a read only transaction"), ends: true},
	{about: "SPLIT of an alias", when: statement(`^SELECT .* AS (\w+)\b.* SPLIT `, succeeded)},
	{about: "what does not read the rows of a group is one value", when: statement(
		`^SELECT .*(\(SELECT|rand::|rand\(|\{ LET).* GROUP (ALL|BY)`, succeeded)},
	{about: ".* of NONE, NULL and scalars", when: statement(`(\.\*|\[\*\])`, func(d *difference) bool {
		return succeeded(d) && strings.Contains(d.Ours.Text, "NONE")
	})},
	{about: ".* of a set is its elements", when: statement(`(\.\*|\[\*\])`, func(d *difference) bool {
		return succeeded(d) && strings.Contains(d.Theirs.Text, "[{") && !strings.Contains(d.Theirs.Text, ": ")
	})},
	{about: "vectors that have no answer", when: both(succeededThere,
		ours("Incorrect arguments for function vector::"))},
	{about: "nanoseconds that do not fit", when: both(succeededThere,
		ours("Incorrect arguments for function time::nano()"))},
	{about: "aggregates over values of another type, in LET and sub-selects, by the older evaluator",
		when: statement(`^LET .*\(SELECT .* GROUP `, both(succeededHere, pattern(`GROUP`), func(d *difference) bool {
			return wrongAggregate.MatchString(d.Theirs.Text)
		})), ends: true},
	{about: "GROUP ALL over nothing, in writes and LET, by the older evaluator", when: both(
		pattern(`\(SELECT .* GROUP ALL\)`), func(d *difference) bool {
			return succeeded(d) && emptyGroup.MatchString(d.Ours.Text) && strings.Contains(d.Theirs.Text, "[]")
		})},
	{about: "paths from a record that is made or deleted by the statement", when: statement(
		`^(CREATE|UPSERT|INSERT|RELATE|DELETE) .*(->|<-)\w`, func(d *difference) bool {
			return succeeded(d) && strings.Contains(d.Ours.Text, "[]")
		}), ends: true},
	{about: "what such paths left in the records", when: both(statement(`^SELECT .* FROM`, succeeded),
		pattern(`(CREATE|UPSERT|INSERT|RELATE) [^;]*=[^;]*(->|<-)\w`), func(d *difference) bool {
			return strings.ReplaceAll(d.Ours.Text, "[]", "NONE") == strings.ReplaceAll(d.Theirs.Text, "[]", "NONE")
		}), ends: true},
	{about: "the id of a record that an endpoint has made", when: statement("api::invoke", func(d *difference) bool {
		return succeeded(d) && strings.Contains(d.Theirs.Text, "body: [NONE]") && d.Ours.Text != d.Theirs.Text
	})},
	{about: "GROUP ALL over nothing in the WHERE of a write", when: both(statement(
		`^(UPDATE|DELETE|UPSERT) .* WHERE .*\(SELECT .* GROUP ALL\)`, succeeded)), ends: true},
	{about: "the id of a row that is a list", when: statement(
		`^SELECT .*\bid\b.* FROM \(SELECT VALUE `, func(d *difference) bool {
			return succeeded(d) && strings.Contains(d.Ours.Text, "id: [") && strings.Contains(d.Theirs.Text, "id: NONE")
		})},
	{about: "the text of a record id ends with its key", when: statement(`\br['"]`,
		func(d *difference) bool {
			return strings.HasPrefix(d.Ours.Text, "Parse error: Invalid token `\\`") ||
				strings.HasPrefix(d.Ours.Text, "Parse error: Unexpected end of file, expected string to end.")
		})},
	{about: "numbers of tables after a DEFINE that failed", when: statement("STRUCTURE", func(d *difference) bool {
		return tableNumber.ReplaceAllString(d.Ours.Text, "") == tableNumber.ReplaceAllString(d.Theirs.Text, "")
	})},
	{about: "DELETE of a node fires the events of its edges", when: both(pattern(`EVENT [^;]*'DELETE'`),
		pattern(`\nDELETE \w+:`), succeeded), ends: true},
	{about: "numbers of a sequence in a VALUE that the reference evaluates twice", when: both(succeeded,
		setup("VALUE sequence::nextval")), ends: true},
	{about: "PERMISSIONS see COMPUTED fields", when: both(ofRecordUser, statement("^SELECT ", succeeded),
		pattern(`select WHERE (\w+)\b[^;]*;(?s:.*)DEFINE FIELD \w+ ON [^;]* COMPUTED`),
		func(d *difference) bool { return d.Theirs.Text == "[]" })},
	{about: "DEFAULT runs after the fields that it reads", when: both(succeeded,
		statement("^(CREATE|UPSERT|INSERT) ", always),
		pattern(`DEFINE FIELD \w+ ON \w+ [^;]*DEFAULT (ALWAYS )?[a-z]+\b`), func(d *difference) bool {
			return len(d.Ours.Text) > len(d.Theirs.Text)
		}), ends: true},
	{about: "DEFAULT of items inside of what is no list", when: both(succeededHere,
		theirs("Couldn't coerce value for field"), pattern(`DEFINE FIELD [opq]\.\*\.\w+\.\* ON [^;]*DEFAULT`)), ends: true},
	{about: "DEFAULT and ASSERT run after the VALUEs that they read", when: both(statement("^(CREATE|UPSERT|INSERT) ",
		succeededHere), pattern(`DEFINE FIELD \w+ ON \w+ (DEFAULT|ASSERT) array::len\(words`)), ends: true},
	{about: "the reference takes an id for changed", when: theirs("Found changed value for field `id`"), ends: true},
	{about: "paths and references of record users do not show what is hidden", when: both(ofRecordUser,
		pattern(`(->|<-|<~)\w`), statement("^SELECT ", succeeded), func(d *difference) bool {
			return strings.Contains(d.Ours.Text, "[]") && len(d.Ours.Text) < len(d.Theirs.Text)
		})},
	{about: "a missing field that ORDER BY or SPLIT names, in a sub-select of a write", when: statement(
		`^(CREATE|UPSERT|INSERT|RELATE|UPDATE) .*\(SELECT .*(SPLIT|ORDER BY)`, func(d *difference) bool {
			there := missingField.ReplaceAllString(d.Theirs.Text, "")
			return succeeded(d) && strings.ReplaceAll(there, ", }", " }") == d.Ours.Text
		})},
	{about: "ON DUPLICATE KEY UPDATE sees the record: what it wrote", when: both(statement("^SELECT ", succeeded),
		pattern(`ON DUPLICATE KEY UPDATE [^;]*\b[a-z]+ [+-]?= [a-z]`)), ends: true},
	{about: "$input of events is NONE in INSERT … ON DUPLICATE KEY UPDATE of a new record", when: both(
		statement("^SELECT .*FROM .*log", succeeded), pattern(`EVENT [^;]*\$input`), setup("ON DUPLICATE KEY UPDATE"))},
	{about: "paths of record users with edges that they may not see", when: statement(`^SELECT .* FROM \w+:\S*(->|<-)`,
		both(ofRecordUser, func(d *difference) bool { return d.Ours.Text == "[]" }))},
	{about: "UPSERT and RELATE of a record user ask for permission first", when: statement(`\b(UPSERT|RELATE) `,
		both(ofRecordUser, func(d *difference) bool {
			return d.Theirs.Failed && (d.Ours.Text == "NONE" || d.Ours.Text == "[]" ||
				strings.Contains(d.Statement, "THROW") && d.Ours.Failed)
		}))},
	{about: "WHERE of a write of record users on records that they may not write", when: statement(
		`\b(DELETE|UPDATE) .*WHERE `,
		both(ofRecordUser, func(d *difference) bool { return d.Theirs.Failed && !d.Ours.Failed }))},
	{about: "a hidden record that a write of a record user left", when: both(ofRecordUser, succeeded,
		statement("^SELECT ", always), pattern(`select[^;]* WHERE `),
		pattern(`(?s)the following as record user.*\b(DELETE|UPDATE) \w+ .*WHERE `)), ends: true},
	{about: "edges that go with a record that a record user deletes", when: both(ofRecordUser, succeeded,
		statement("^SELECT .*FROM (e|f)\\b", always), pattern(`\nDELETE \w+`)), ends: true},
	{about: "the order of rows that an index finds, in SPLIT", when: both(statement(` SPLIT `, succeeded),
		setup("DEFINE INDEX"), func(d *difference) bool { return sameLetters(d.Ours.Text, d.Theirs.Text) })},
	{about: "an index over fields inside of elements that may have any", when: statement(`^DEFINE INDEX .*(\.\*\.|…)`,
		both(succeededHere, theirs("The field '"))), ends: true},
	{about: "READONLY of a COMPUTED field", when: statement("^ALTER FIELD .*READONLY",
		ours("Cannot use the `READONLY` keyword with `COMPUTED`")), ends: true},
	{about: "ALTER FIELD … COMPUTED", when: theirs("Parse error: Unexpected token `COMPUTED`"), ends: true},
	{about: "FOR delete FULL is printed", when: statement("^INFO ", func(d *difference) bool {
		const full = ", FOR delete FULL"
		return strings.ReplaceAll(d.Ours.Text, full, "") == strings.ReplaceAll(d.Theirs.Text, full, "")
	})},
	{about: "the reference prints sets inside of lists as lists", when: statement("^INFO ", func(d *difference) bool {
		return innerSet.ReplaceAllString(d.Ours.Text, "[[$1]]") == innerSet.ReplaceAllString(d.Theirs.Text, "[[$1]]")
	})},
	{about: "COMPUTED fields that nothing reads are not evaluated", when: both(setup("COMPUTED (SELECT"),
		theirs("Reached excessive computation depth"))},
	{about: "a transaction sees its own DELETE", when: both(theirs("already exists"),
		pattern(`(?s)BEGIN;.*DELETE .*CREATE `))},
	{about: "the order in groups of rows that an index finds", when: statement(`array::group\(`,
		both(setup("DEFINE INDEX"), succeeded, func(d *difference) bool {
			return sameLetters(d.Ours.Text, d.Theirs.Text)
		}))},
	{about: "the order in groups, after a transaction", when: both(pattern(`DEFINE INDEX (?s:.*)array::group\(`),
		func(d *difference) bool { return succeeded(d) && sameLetters(d.Ours.Text, d.Theirs.Text) })},
	{about: "ORDER BY over the records of a graph path sorts", when: statement(`FROM \w+:\w+->.* ORDER BY `,
		func(d *difference) bool { return succeeded(d) && sameLetters(d.Ours.Text, d.Theirs.Text) })},
	{about: "a field of objects where lists stand in the way", when: both(sameUpTo("Expected"), setup("DEFINE FIELD"))},
	{about: "the same, where both go on", when: both(succeeded,
		statement("^(SELECT|CREATE|UPSERT|UPDATE) .*\\b[xy]\\b", always),
		pattern(`DEFINE FIELD (OVERWRITE |IF NOT EXISTS )?[opq](\.\*)?\.\w+ ON [xy]`)), ends: true},
	{about: "a view that is defined anew", when: theirs("The key being inserted already exists"), ends: true},
	{about: "a part of an element, below a definition of all elements", when: statement(`^DEFINE FIELD .*\[\d+\]\.`,
		both(succeededThere, ours("as it mismatched with field"))), ends: true},
	{about: "the reference leaves out the value that a COMPUTED field could not take",
		when: theirs("Failed to coerce computed field")},
	{about: "COMPUTED fields of rows that an index finds", when: both(statement("^SELECT ", succeeded),
		pattern("DEFINE INDEX"), func(d *difference) bool {
			ours := d.Ours.Text
			for _, m := range computedField.FindAllStringSubmatch(d.Case.String(), -1) {
				ours = withoutField(ours, m[1])
			}
			return ours != d.Ours.Text && ours == d.Theirs.Text
		})},
	{about: "rows of records that do not have all fields of an index", when: both(succeeded,
		pattern(`DEFINE INDEX [^;]* FIELDS \w+, \w+`), statement(`^SELECT .*(WHERE|ORDER BY) `,
			func(d *difference) bool { return d.Ours.Text == "[]" || d.Theirs.Text == "[]" }))},
	{about: "the id in $before and $input", when: both(succeeded, pattern(`\$before|\$input`),
		func(d *difference) bool { return withoutField(d.Ours.Text, "id") == withoutField(d.Theirs.Text, "id") })},
	{about: "elements of sets are those of the field", when: both(statement(`[{,] ?[0-9]+ ?[,}]|<set>`, succeededThere),
		ours("Couldn't coerce value for field `"), func(d *difference) bool {
			return strings.ContainsAny(fieldOf(d.Ours.Text), "*[")
		}), ends: true},
	{about: "UNSET of references in sets", when: both(succeeded, pattern(`set<record<p>>> REFERENCE ON DELETE UNSET`),
		statement("^SELECT .*FROM p, r0", always))},
	{about: "a field that may not be defined, for several reasons", when: statement("^DEFINE FIELD ",
		func(d *difference) bool {
			return d.Theirs.Failed && definitionError.MatchString(d.Ours.Text) && d.Ours.Failed
		})},
	{about: "ALTER FIELD does what DEFINE FIELD may", when: statement("^ALTER FIELD ", both(succeededThere,
		func(d *difference) bool {
			return d.Ours.Failed && (strings.HasPrefix(d.Ours.Text, "Cannot use the `") ||
				strings.HasPrefix(d.Ours.Text, "Parse error: FLEXIBLE can only be used with"))
		})), ends: true},
	{about: "data of an UPDATE that no record meets", when: statement("UPDATE .* WHERE ", both(succeededHere,
		theirs("Could not cast into")))},
	{about: "UPSERT with a WHERE that finds nothing tells why the new record fails", when: statement("^UPSERT .* WHERE ",
		func(d *difference) bool { return d.Ours.Failed && d.Theirs.Text == "[]" })},
	{about: "an API that is there is not defined again without OVERWRITE", when: statement("^DEFINE API ",
		both(succeededThere, ours("' already exists"))), ends: true},
	{about: "what LIMIT may not be is shown as it is written", when: both(ours("LIMIT must be a non-negative integer"),
		theirs("LIMIT must be a non-negative integer"))},
	{about: "the reference loses the database in a block", when: theirs("requires database context")},
	{about: "numbers of a sequence and its definition in one transaction", when: both(statement("^(ALTER|DEFINE) SEQUENCE",
		always), theirs("Write conflict")), ends: true},
}

var (
	noneAlone      = regexp.MustCompile(`^(NONE|\[NONE(, NONE)*\])$`)
	wrongAggregate = regexp.MustCompile(`^Incorrect arguments for function (math|time|array)::\w+\(\)\. Argument 1 was`)
	emptyGroup     = regexp.MustCompile(`\[\{ [^{}]*(\[\]|NaN|0|NONE|NULL)[^{}]* \}\]`)
	missingField   = regexp.MustCompile(`\b\w+: NONE(, )?`)
	tableNumber    = regexp.MustCompile(`\bid: \d+, `)
	computedField  = regexp.MustCompile(`DEFINE FIELD (\w+) ON [^;]*COMPUTED`)
	innerSet       = regexp.MustCompile(`[\[{]([^\[\]{}:]*)[\]}]`)
)

func succeededHere(d *difference) bool { return !d.Ours.Failed }

func succeededThere(d *difference) bool { return !d.Theirs.Failed }

// pattern tells cases whose text matches.
func pattern(p string) func(d *difference) bool {
	re := regexp.MustCompile(p)
	return func(d *difference) bool { return re.MatchString(d.Case.String()) }
}

// definitionError tells the refusals of definitions of fields.
var definitionError = regexp.MustCompile("^(Cannot (define|set) field|Computed fields cannot|FLEXIBLE can only)")

// withoutField leaves a field out of all objects of a text.
func withoutField(text, name string) string {
	re := regexp.MustCompile(`\b` + name + `: (\[[^\[\]]*\]|'[^']*'|[^,{}\[\]]+)(, | )`)
	return re.ReplaceAllString(text, "")
}

// sameUpTo tells errors that are the same before a word.
func sameUpTo(word string) func(d *difference) bool {
	return func(d *difference) bool {
		ours, _, ok := strings.Cut(d.Ours.Text, word)
		theirs, _, also := strings.Cut(d.Theirs.Text, word)
		return ok && also && d.Ours.Failed && d.Theirs.Failed && ours == theirs
	}
}

// sameLetters tells texts that are made of the same letters, in any order.
func sameLetters(a, b string) bool {
	x, y := []rune(a), []rune(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// fieldOf is the field that an error names.
func fieldOf(text string) string {
	if m := fieldName.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

var fieldName = regexp.MustCompile("field [`']([^`']*)[`']")
