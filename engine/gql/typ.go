package gql

import "strings"

// simpleTypes are the types of one word.
var simpleTypes = map[string]Type{
	"ANY": {Kind: TypeAny}, "NOTHING": {Kind: TypeNull}, "NULL": {Kind: TypeNull},
	"BOOL": {Kind: TypeBool}, "BOOLEAN": {Kind: TypeBool},
	"STRING": {Kind: TypeString}, "CHAR": {Kind: TypeString}, "VARCHAR": {Kind: TypeString},
	"BYTES": {Kind: TypeBytes}, "BINARY": {Kind: TypeBytes}, "VARBINARY": {Kind: TypeBytes},
	"INT": {Kind: TypeInt, Bits: 64}, "INTEGER": {Kind: TypeInt, Bits: 64}, "SMALLINT": {Kind: TypeInt, Bits: 16},
	"BIGINT": {Kind: TypeInt, Bits: 64}, "INT8": {Kind: TypeInt, Bits: 8}, "INT16": {Kind: TypeInt, Bits: 16},
	"INT32": {Kind: TypeInt, Bits: 32}, "INT64": {Kind: TypeInt, Bits: 64}, "INTEGER8": {Kind: TypeInt, Bits: 8},
	"INTEGER16": {Kind: TypeInt, Bits: 16}, "INTEGER32": {Kind: TypeInt, Bits: 32}, "INTEGER64": {Kind: TypeInt,
		Bits: 64},
	"UINT": {Kind: TypeInt, Bits: 64, Unsigned: true}, "UBIGINT": {Kind: TypeInt, Bits: 64, Unsigned: true},
	"USMALLINT": {Kind: TypeInt, Bits: 16, Unsigned: true}, "UINT8": {Kind: TypeInt, Bits: 8, Unsigned: true},
	"UINT16": {Kind: TypeInt, Bits: 16, Unsigned: true}, "UINT32": {Kind: TypeInt, Bits: 32, Unsigned: true},
	"UINT64": {Kind: TypeInt, Bits: 64, Unsigned: true},
	"INT128": {Kind: TypeDecimal}, "INT256": {Kind: TypeDecimal}, "INTEGER128": {Kind: TypeDecimal},
	"INTEGER256": {Kind: TypeDecimal},
	"DECIMAL":    {Kind: TypeDecimal}, "DEC": {Kind: TypeDecimal},
	"FLOAT": {Kind: TypeFloat}, "FLOAT16": {Kind: TypeFloat}, "FLOAT32": {Kind: TypeFloat},
	"FLOAT64":  {Kind: TypeFloat},
	"FLOAT128": {Kind: TypeFloat}, "FLOAT256": {Kind: TypeFloat}, "REAL": {Kind: TypeFloat},
	"DOUBLE":  {Kind: TypeFloat},
	"UINT128": {Kind: TypeDecimal, Unsigned: true}, "UINT256": {Kind: TypeDecimal, Unsigned: true},
	"TIMESTAMP": {Kind: TypeDatetime}, "DATETIME": {Kind: TypeDatetime}, "DATE": {Kind: TypeDate},
	"DURATION": {Kind: TypeDuration},
	"RECORD":   {Kind: TypeRecord}, "PATH": {Kind: TypePath}, "NODE": {Kind: TypeNode}, "VERTEX": {Kind: TypeNode},
	"EDGE": {Kind: TypeEdge}, "RELATIONSHIP": {Kind: TypeEdge},
}

// typ reads a type.
func (p *parser) typ() (*Type, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	start := p.tok.start
	if p.tok.kind != tokWord {
		return nil, p.unexpected("a type")
	}
	word := p.tok.upper
	t := &Type{}
	switch word {
	case "LIST", "ARRAY":
		if err := p.next(); err != nil {
			return nil, err
		}
		t.Kind, t.Name = TypeList, "LIST"
		if of, err := p.eatPunct("<"); err != nil {
			return nil, err
		} else if of {
			if t.Elem, err = p.typ(); err != nil {
				return nil, err
			}
			if err := p.expectPunct(">"); err != nil {
				return nil, err
			}
			t.Name = "LIST<" + t.Elem.Name + ">"
		}
	case "ZONED", "LOCAL":
		if err := p.next(); err != nil {
			return nil, err
		}
		switch {
		case p.isAny("DATETIME", "TIMESTAMP") && word == "ZONED":
			t.Kind, t.Name = TypeDatetime, "ZONED DATETIME"
		case p.isAny("DATETIME", "TIMESTAMP"):
			t.Kind, t.Name = TypeLocalDatetime, "LOCAL DATETIME"
		default:
			return nil, p.fail(start, p.tok.end, "", "Types of times of day are not supported")
		}
		if err := p.next(); err != nil {
			return nil, err
		}
	case "TIME":
		return nil, p.fail(start, p.tok.end, "", "Types of times of day are not supported")
	case "SIGNED", "UNSIGNED":
		if err := p.next(); err != nil {
			return nil, err
		}
		s, ok := simpleTypes[p.tok.upper]
		if p.tok.kind != tokWord || !ok || s.Kind != TypeInt || s.Unsigned {
			return nil, p.unexpected("an integer type")
		}
		s.Unsigned = word == "UNSIGNED"
		s.Name = p.tok.upper
		if s.Unsigned {
			s.Name = "UNSIGNED " + s.Name
		}
		*t = s
		if err := p.next(); err != nil {
			return nil, err
		}
	default:
		s, ok := simpleTypes[word]
		if !ok {
			return nil, p.unexpected("a type")
		}
		*t = s
		t.Name = word
		if err := p.next(); err != nil {
			return nil, err
		}
		if err := p.typeDetails(word); err != nil {
			return nil, err
		}
	}
	if p.is("NOT") {
		if next, err := p.peek(); err != nil {
			return nil, err
		} else if next.kind == tokWord && next.upper == "NULL" {
			t.NotNull = true
			t.Name = strings.TrimSuffix(t.Name, " NOT NULL") + " NOT NULL"
			if err := p.next(); err != nil {
				return nil, err
			}
			return t, p.next()
		}
	}
	return t, nil
}

// typeDetails reads what may follow the word of a type and does not narrow it here: lengths, PRECISION, the fields of
// durations.
func (p *parser) typeDetails(word string) error {
	switch word {
	case "DOUBLE":
		_, err := p.eat("PRECISION")
		return err
	case "DURATION":
		if !p.at("(") {
			return nil
		}
		if err := p.next(); err != nil {
			return err
		}
		if p.is("YEAR") {
			return p.fail(p.tok.start, p.tok.end, "", "Durations of years and months are not supported")
		}
		for _, w := range [...]string{"DAY", "TO", "SECOND"} {
			if err := p.expect(w); err != nil {
				return err
			}
		}
		return p.expectPunct(")")
	}
	return nil
}
