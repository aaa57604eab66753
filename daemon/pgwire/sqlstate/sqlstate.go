// Package sqlstate is the errors of the PostgreSQL wire: a code of five characters and a text.
package sqlstate

import "fmt"

// Code is a SQLSTATE.
type Code string

// The codes that the server answers.
const (
	NoData               Code = "02000"
	FeatureNotSupported  Code = "0A000"
	CardinalityViolation Code = "21000"
	StringTooLong        Code = "22001"
	OutOfRange           Code = "22003"
	InvalidDatetime      Code = "22007"
	DatetimeOverflow     Code = "22008"
	SubscriptError       Code = "2202E"
	NullNotAllowed       Code = "22004"
	DivisionByZero       Code = "22012"
	InvalidFrameSize     Code = "22013"
	InvalidNtile         Code = "22014"
	InvalidNthValue      Code = "22016"
	BadEncoding          Code = "22021"
	InvalidParameter     Code = "22023"
	InvalidRegex         Code = "2201B"
	InvalidLimit         Code = "2201W"
	InvalidText          Code = "22P02"
	InvalidBinary        Code = "22P03"
	BadCopy              Code = "22P04"
	NotNullViolation     Code = "23502"
	ForeignKeyViolation  Code = "23503"
	UniqueViolation      Code = "23505"
	CheckViolation       Code = "23514"
	ActiveTransaction    Code = "25001"
	ReadOnlyTransaction  Code = "25006"
	NoTransaction        Code = "25P01"
	FailedTransaction    Code = "25P02"
	UnknownStatement     Code = "26000"
	InvalidAuth          Code = "28000"
	InvalidPassword      Code = "28P01"
	UnknownCursor        Code = "34000"
	UnknownDatabase      Code = "3D000"
	UnknownSchema        Code = "3F000"
	UnknownSavepoint     Code = "3B001"
	Conflict             Code = "40001"
	Denied               Code = "42501"
	SyntaxError          Code = "42601"
	DuplicateColumn      Code = "42701"
	AmbiguousColumn      Code = "42702"
	UndefinedColumn      Code = "42703"
	UndefinedObject      Code = "42704"
	DuplicateObject      Code = "42710"
	DuplicateAlias       Code = "42712"
	AmbiguousFunction    Code = "42725"
	GroupingError        Code = "42803"
	TypeMismatch         Code = "42804"
	WrongObject          Code = "42809"
	WindowingError       Code = "42P20"
	CannotCoerce         Code = "42846"
	UndefinedFunction    Code = "42883"
	UndefinedTable       Code = "42P01"
	UndefinedParameter   Code = "42P02"
	DuplicateCursor      Code = "42P03"
	DuplicateDatabase    Code = "42P04"
	DuplicateStatement   Code = "42P05"
	DuplicateSchema      Code = "42P06"
	DuplicateTable       Code = "42P07"
	InvalidColumnRef     Code = "42P10"
	IndeterminateType    Code = "42P18"
	Resources            Code = "53000"
	DiskFull             Code = "53100"
	OutOfMemory          Code = "53200"
	TooManyConnections   Code = "53300"
	TooMuch              Code = "54000"
	TooDeep              Code = "54001"
	TooManyColumns       Code = "54011"
	TooManyArguments     Code = "54023"
	NotReady             Code = "55000"
	Cancelled            Code = "57014"
	AdminShutdown        Code = "57P01"
	CannotConnect        Code = "57P03"
	IdleTimeout          Code = "57P05"
	ConnectionFailure    Code = "08006"
	ProtocolViolation    Code = "08P01"
	Thrown               Code = "P0001"
	Internal             Code = "XX000"
)

// Error is an error as a client gets it.
type Error struct {
	Code     Code
	Msg      string
	Detail   string
	Hint     string
	Where    string
	Position int // in characters of the text, from 1; 0: nowhere
	// What the error is about, "" where that is not known.
	Table, Column, Constraint string
	Fatal                     bool // the connection ends
}

// Error implements error.
func (e *Error) Error() string { return e.Msg }

// New makes an error.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Msg: fmt.Sprintf(format, args...)}
}

// Fatal makes an error that ends the connection.
func Fatal(code Code, format string, args ...any) *Error {
	e := New(code, format, args...)
	e.Fatal = true
	return e
}

// Hinted is e with a hint.
func (e *Error) Hinted(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// At is e with a position, in characters from 1.
func (e *Error) At(position int) *Error {
	if e.Position == 0 {
		e.Position = position
	}
	return e
}
