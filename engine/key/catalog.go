package key

// Kind says what a definition defines.
type Kind byte

// The kinds of definitions, each at the levels where the language has it; their numbers are on disk.
const (
	KindNamespace Kind = iota + 1
	KindDatabase
	KindTable
	KindField
	KindIndex
	KindEvent
	KindParam
	KindFunction
	KindModule
	KindAnalyzer
	KindUser
	KindAccess
	KindGrant // access name, grant id
	KindSequence
	KindAPI
	KindBucket
	KindConfig
	KindModel
	KindTableName // name → id of a table, defined or only named by an edge or link
	KindRevoked   // when a token that was revoked expires, its hash; at root level
	KindSession   // a name of a session that outlives the process; at root level
)

// Meta is the key of a setting of the whole store: format version, schema version, id counters.
func Meta(dst []byte, name string) []byte { return append(append(dst, byte(ClassMeta)), name...) }

// RootDef is the key of a definition at root level; with no name it is what all of that kind start
// with, in name order. A second name is for what is defined inside a definition.
func RootDef(dst []byte, kind Kind, name ...string) []byte {
	return appendDef(append(dst, byte(ClassRootDef)), kind, name)
}

// NSDef is RootDef for a namespace.
func NSDef(dst []byte, ns uint32, kind Kind, name ...string) []byte {
	return appendDef(appendNS(dst, ClassNSDef, ns), kind, name)
}

// DBDef is RootDef for a database.
func DBDef(dst []byte, ns, db uint32, kind Kind, name ...string) []byte {
	return appendDef(appendDB(dst, ClassDBDef, ns, db), kind, name)
}

// TableDef is RootDef for a table.
func TableDef(dst []byte, ns, db, tb uint32, kind Kind, name ...string) []byte {
	return appendDef(appendTB(dst, ClassTableDef, ns, db, tb), kind, name)
}

func appendDef(dst []byte, kind Kind, names []string) []byte {
	dst = append(dst, byte(kind))
	for _, n := range names {
		dst = appendText(dst, n)
	}
	return dst
}

// DecodeDef is the kind and the names in a key made by RootDef, NSDef, DBDef or TableDef.
func DecodeDef(k []byte) (kind Kind, names []string, err error) {
	n := SpaceLen(k)
	if n == 0 || len(k) == n || Class(k[0]) < ClassRootDef || Class(k[0]) > ClassTableDef {
		return 0, nil, ErrMalformed
	}
	kind, k = Kind(k[n]), k[n+1:]
	for len(k) > 0 {
		var s string
		if s, k, err = readText(k); err != nil {
			return 0, nil, err
		}
		names = append(names, s)
	}
	return kind, names, nil
}

// Sequence is the key of the state of a sequence; further parts name what is under it.
func Sequence(dst []byte, ns, db uint32, name string, part ...string) []byte {
	dst = appendText(appendDB(dst, ClassSequence, ns, db), name)
	for _, p := range part {
		dst = appendText(dst, p)
	}
	return dst
}
