package dump

// AppendLiteral is appendLiteral for the tests of another package.
var AppendLiteral = appendLiteral
