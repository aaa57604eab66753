package parse

//go:generate go run ../../internal/keywordgen keywords.txt keyword.go

// kind is the kind of a token: a class (identifier, string, …), a punctuation mark or a keyword.
type kind uint16

const (
	tEOF kind = iota
	tIdent
	tParam
	tString
	tDigits
	tDatetime // d'…'
	tUUID     // u'…'
	tRecord   // r'…'
	tBytes    // b'…'
	tFile     // f'…'
	tNaN
	tInfinity
	tLParen
	tRParen
	tLBrace
	tRBrace
	tLBracket
	tRBracket
	tComma
	tSemi
	tColon
	tPath // ::
	tDot
	tDotDot
	tDotDotDot
	tDollar
	tAt
	tQuestion
	tNullish   // ??
	tTruthy    // ?:
	tAnyEqual  // ?=
	tEqual     // =
	tEqualTwo  // ==
	tNotEqual  // !=
	tBang      // !
	tNotTilde  // !~
	tTilde     // ~
	tAllEqual  // *=
	tStar      // *
	tPower     // **
	tPlus      // +
	tPlusEq    // +=
	tExtendEq  // +?=
	tMinus     // -
	tMinusEq   // -=
	tArrowR    // ->
	tLess      // <
	tLessEq    // <=
	tArrowL    // <-
	tArrowBoth // <->
	tArrowRef  // <~
	tKNN       // <|
	tMore      // >
	tMoreEq    // >=
	tAndAnd    // &&
	tOrOr      // ||
	tPipe      // |
	tKNNEnd    // |>
	tSlash     // /
	tPercent   // %
	tTimes     // ×
	tDivide    // ÷
	tContains
	tContainsNot
	tContainsAll
	tContainsAny
	tContainsNone
	tInside
	tNotInside
	tAllInside
	tAnyInside
	tNoneInside
	kwFirst
)

var tokenNames = [...]string{
	tEOF: "Eof", tIdent: "an identifier", tParam: "a parameter", tString: "a strand", tDigits: "a number",
	tDatetime: "a datetime", tUUID: "a uuid", tRecord: "a record-id strand", tBytes: "a bytestring", tFile: "a file",
	tNaN: "NaN", tInfinity: "Infinity", tLParen: "(", tRParen: ")", tLBrace: "{", tRBrace: "}", tLBracket: "[",
	tRBracket: "]",
	tComma:    ",", tSemi: ";", tColon: ":", tPath: "::", tDot: ".", tDotDot: "..", tDotDotDot: "...",
	tDollar: "$", tAt: "@",
	tQuestion: "?", tNullish: "??", tTruthy: "?:", tAnyEqual: "?=", tEqual: "=", tEqualTwo: "==", tNotEqual: "!=",
	tBang: "!", tNotTilde: "!~", tTilde: "~", tAllEqual: "*=", tStar: "*", tPower: "**", tPlus: "+", tPlusEq: "+=",
	tExtendEq: "+?=", tMinus: "-", tMinusEq: "-=", tArrowR: "->", tLess: "<", tLessEq: "<=", tArrowL: "<-",
	tArrowBoth: "<->", tArrowRef: "<~", tKNN: "<|", tMore: ">", tMoreEq: ">=", tAndAnd: "&&", tOrOr: "||", tPipe: "|",
	tKNNEnd: "|>", tSlash: "/", tPercent: "%", tTimes: "×", tDivide: "÷", tContains: "∋", tContainsNot: "∌",
	tContainsAll: "⊇", tContainsAny: "⊃", tContainsNone: "⊅", tInside: "∈", tNotInside: "∉", tAllInside: "⊆",
	tAnyInside: "⊂", tNoneInside: "⊄",
}

// String is the name of k in error messages.
func (k kind) String() string {
	if k > kwFirst {
		return keywordNames[k-kwFirst-1]
	}
	return tokenNames[k]
}

// token is one lexeme: its kind and the half-open range of its bytes. A number is lexed as its first
// digits only; the parser that wants a number, a duration or a record key reads on from start.
type token struct {
	kind       kind
	start, end int
}

// isIdent reports whether t may be an identifier: keywords may, almost everywhere.
func (t token) isIdent() bool { return t.kind == tIdent || t.kind > kwFirst }
