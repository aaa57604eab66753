package value

// Truthy says how v counts in a condition. Empty things are false, and so are the kinds that hold no
// data of their own: ranges, files, regexes, tables, closures. NaN, every datetime, uuid, record id
// and geometry are true.
func Truthy(v Value) bool {
	switch v.Kind() {
	case KindBool, KindInt, KindString, KindBytes, KindArray, KindSet:
		return v.n != 0
	case KindFloat:
		return v.Float() != 0
	case KindDecimal:
		return !v.Decimal().IsZero()
	case KindDuration:
		return v.n != 0 || v.aux() != 0
	case KindObject:
		return v.Object().Len() != 0
	case KindDatetime, KindUUID, KindRecord, KindGeometry:
		return true
	}
	return false
}
