// Code generated from keywords.txt by go generate; DO NOT EDIT.

package parse

// The keywords, in the order of keywordNames.
const (
	kwAccess kind = iota + kwFirst + 1
	kwAfter
	kwAlgorithm
	kwAll
	kwAllinside
	kwAlter
	kwAlways
	kwAnalyzer
	kwAnd
	kwAny
	kwAnyinside
	kwApi
	kwArabic
	kwArray
	kwAs
	kwAscending
	kwAscii
	kwAssert
	kwAsync
	kwAt
	kwAudience
	kwAuthenticate
	kwAuto
	kwBackend
	kwBatch
	kwBearer
	kwBefore
	kwBegin
	kwBlank
	kwBm25
	kwBool
	kwBreak
	kwBucket
	kwBy
	kwBytes
	kwCamel
	kwCancel
	kwCapacity
	kwCascade
	kwChangefeed
	kwChanges
	kwChebyshev
	kwClass
	kwCollate
	kwCollection
	kwComment
	kwCommit
	kwCompact
	kwComputed
	kwConcurrently
	kwConfig
	kwContains
	kwContainsall
	kwContainsany
	kwContainsnone
	kwContainsnot
	kwContent
	kwContinue
	kwCosine
	kwCount
	kwCreate
	kwDanish
	kwDatabase
	kwDatetime
	kwDecimal
	kwDefault
	kwDefine
	kwDelete
	kwDescending
	kwDiff
	kwDimension
	kwDistance
	kwDrop
	kwDuplicate
	kwDuration
	kwDutch
	kwEddsa
	kwEdgengram
	kwEfc
	kwElse
	kwEnd
	kwEnforced
	kwEnglish
	kwEs256
	kwEs384
	kwEs512
	kwEuclidean
	kwEvent
	kwExclude
	kwExists
	kwExpired
	kwExplain
	kwExpunge
	kwExtendCandidates
	kwF32
	kwF64
	kwFalse
	kwFeature
	kwFetch
	kwField
	kwFields
	kwFile
	kwFilters
	kwFlexible
	kwFloat
	kwFn
	kwFor
	kwFrench
	kwFrom
	kwFull
	kwFulltext
	kwFunction
	kwFunctions
	kwGeometry
	kwGerman
	kwGet
	kwGrant
	kwGraphql
	kwGreek
	kwGroup
	kwHamming
	kwHashedVector
	kwHeaders
	kwHighlights
	kwHnsw
	kwHs256
	kwHs384
	kwHs512
	kwHungarian
	kwI16
	kwI32
	kwI64
	kwIf
	kwIgnore
	kwIn
	kwInclude
	kwIndex
	kwInfo
	kwInline
	kwInsert
	kwInside
	kwInt
	kwIntersects
	kwInto
	kwIs
	kwIssuer
	kwItalian
	kwJaccard
	kwJwks
	kwJwt
	kwKeepPrunedConnections
	kwKey
	kwKill
	kwLet
	kwLimit
	kwLine
	kwLive
	kwLm
	kwLowercase
	kwM
	kwM0
	kwManhattan
	kwMapper
	kwMaxdepth
	kwMerge
	kwMiddleware
	kwMinkowski
	kwMl
	kwMod
	kwModel
	kwModule
	kwMultiline
	kwMultipoint
	kwMultipolygon
	kwNamespace
	kwNgram
	kwNo
	kwNoindex
	kwNone
	kwNoneinside
	kwNormal
	kwNorwegian
	kwNot
	kwNotinside
	kwNull
	kwNumber
	kwNumeric
	kwObject
	kwOmit
	kwOn
	kwOnly
	kwOption
	kwOr
	kwOrder
	kwOriginal
	kwOut
	kwOutside
	kwOverwrite
	kwParallel
	kwParam
	kwPasshash
	kwPassword
	kwPatch
	kwPearson
	kwPermissions
	kwPoint
	kwPolygon
	kwPortuguese
	kwPost
	kwPrepare
	kwPs256
	kwPs384
	kwPs512
	kwPunct
	kwPurge
	kwPut
	kwRand
	kwRange
	kwReadonly
	kwRebuild
	kwRecord
	kwReference
	kwReferences
	kwRefresh
	kwRegex
	kwReject
	kwRelate
	kwRelation
	kwRemove
	kwReplace
	kwRetry
	kwReturn
	kwRevoke
	kwRevoked
	kwRoles
	kwRomanian
	kwRoot
	kwRs256
	kwRs384
	kwRs512
	kwRussian
	kwSchemafull
	kwSchemaless
	kwScope
	kwSelect
	kwSequence
	kwSession
	kwSet
	kwShow
	kwSignin
	kwSignup
	kwSilo
	kwSince
	kwSleep
	kwSnowball
	kwSpanish
	kwSplit
	kwStart
	kwStrict
	kwString
	kwStructure
	kwSwedish
	kwSystem
	kwTable
	kwTables
	kwTamil
	kwTempfiles
	kwThen
	kwThrow
	kwTimeout
	kwTo
	kwToken
	kwTokenizers
	kwTrace
	kwTransaction
	kwTrue
	kwTurkish
	kwType
	kwUlid
	kwUnique
	kwUnset
	kwUpdate
	kwUppercase
	kwUpsert
	kwUrl
	kwUse
	kwUser
	kwUuid
	kwValue
	kwValues
	kwVersion
	kwWhen
	kwWhere
	kwWith
)

// maxKeyword is the length of the longest keyword.
const maxKeyword = 23

// keywordNames are the texts of keywords in error messages, from kwFirst on.
var keywordNames = [...]string{
	"ACCESS",
	"AFTER",
	"ALGORITHM",
	"ALL",
	"ALLINSIDE",
	"ALTER",
	"ALWAYS",
	"ANALYZER",
	"AND",
	"ANY",
	"ANYINSIDE",
	"API",
	"ARABIC",
	"ARRAY",
	"AS",
	"ASCENDING",
	"ASCII",
	"ASSERT",
	"ASYNC",
	"AT",
	"AUDIENCE",
	"AUTHENTICATE",
	"AUTO",
	"BACKEND",
	"BATCH",
	"BEARER",
	"BEFORE",
	"BEGIN",
	"BLANK",
	"BM25",
	"BOOL",
	"BREAK",
	"BUCKET",
	"BY",
	"BYTES",
	"CAMEL",
	"CANCEL",
	"CAPACITY",
	"CASCADE",
	"CHANGEFEED",
	"CHANGES",
	"CHEBYSHEV",
	"CLASS",
	"COLLATE",
	"COLLECTION",
	"COMMENT",
	"COMMIT",
	"COMPACT",
	"COMPUTED",
	"CONCURRENTLY",
	"CONFIG",
	"CONTAINS",
	"CONTAINSALL",
	"CONTAINSANY",
	"CONTAINSNONE",
	"CONTAINSNOT",
	"CONTENT",
	"CONTINUE",
	"COSINE",
	"COUNT",
	"CREATE",
	"DANISH",
	"DATABASE",
	"DATETIME",
	"DECIMAL",
	"DEFAULT",
	"DEFINE",
	"DELETE",
	"DESCENDING",
	"DIFF",
	"DIMENSION",
	"DISTANCE",
	"DROP",
	"DUPLICATE",
	"DURATION",
	"DUTCH",
	"EDDSA",
	"EDGENGRAM",
	"EFC",
	"ELSE",
	"END",
	"ENFORCED",
	"ENGLISH",
	"ES256",
	"ES384",
	"ES512",
	"EUCLIDEAN",
	"EVENT",
	"EXCLUDE",
	"EXISTS",
	"EXPIRED",
	"EXPLAIN",
	"EXPUNGE",
	"EXTEND_CANDIDATES",
	"F32",
	"F64",
	"false",
	"FEATURE",
	"FETCH",
	"FIELD",
	"FIELDS",
	"FILE",
	"FILTERS",
	"FLEXIBLE",
	"FLOAT",
	"fn",
	"FOR",
	"FRENCH",
	"FROM",
	"FULL",
	"FULLTEXT",
	"FUNCTION",
	"FUNCTIONS",
	"GEOMETRY",
	"GERMAN",
	"GET",
	"GRANT",
	"GRAPHQL",
	"GREEK",
	"GROUP",
	"HAMMING",
	"HASHED_VECTOR",
	"HEADERS",
	"HIGHLIGHTS",
	"HNSW",
	"HS256",
	"HS384",
	"HS512",
	"HUNGARIAN",
	"I16",
	"I32",
	"I64",
	"IF",
	"IGNORE",
	"IN",
	"INCLUDE",
	"INDEX",
	"INFO",
	"INLINE",
	"INSERT",
	"INSIDE",
	"INT",
	"INTERSECTS",
	"INTO",
	"IS",
	"ISSUER",
	"ITALIAN",
	"JACCARD",
	"JWKS",
	"JWT",
	"KEEP_PRUNED_CONNECTIONS",
	"KEY",
	"KILL",
	"LET",
	"LIMIT",
	"LINE",
	"LIVE",
	"LM",
	"LOWERCASE",
	"M",
	"M0",
	"MANHATTAN",
	"MAPPER",
	"MAXDEPTH",
	"MERGE",
	"MIDDLEWARE",
	"MINKOWSKI",
	"ml",
	"mod",
	"MODEL",
	"MODULE",
	"MULTILINE",
	"MULTIPOINT",
	"MULTIPOLYGON",
	"NAMESPACE",
	"NGRAM",
	"NO",
	"NOINDEX",
	"NONE",
	"NONEINSIDE",
	"NORMAL",
	"NORWEGIAN",
	"NOT",
	"NOTINSIDE",
	"NULL",
	"NUMBER",
	"NUMERIC",
	"OBJECT",
	"OMIT",
	"ON",
	"ONLY",
	"OPTION",
	"OR",
	"ORDER",
	"ORIGINAL",
	"OUT",
	"OUTSIDE",
	"OVERWRITE",
	"PARALLEL",
	"PARAM",
	"PASSHASH",
	"PASSWORD",
	"PATCH",
	"PEARSON",
	"PERMISSIONS",
	"POINT",
	"POLYGON",
	"PORTUGUESE",
	"POST",
	"PREPARE",
	"PS256",
	"PS384",
	"PS512",
	"PUNCT",
	"PURGE",
	"PUT",
	"RAND",
	"RANGE",
	"READONLY",
	"REBUILD",
	"RECORD",
	"REFERENCE",
	"REFERENCES",
	"REFRESH",
	"REGEX",
	"REJECT",
	"RELATE",
	"RELATION",
	"REMOVE",
	"REPLACE",
	"RETRY",
	"RETURN",
	"REVOKE",
	"REVOKED",
	"ROLES",
	"ROMANIAN",
	"ROOT",
	"RS256",
	"RS384",
	"RS512",
	"RUSSIAN",
	"SCHEMAFULL",
	"SCHEMALESS",
	"SCOPE",
	"SELECT",
	"SEQUENCE",
	"SESSION",
	"SET",
	"SHOW",
	"SIGNIN",
	"SIGNUP",
	"silo",
	"SINCE",
	"SLEEP",
	"SNOWBALL",
	"SPANISH",
	"SPLIT",
	"START",
	"STRICT",
	"STRING",
	"STRUCTURE",
	"SWEDISH",
	"SYSTEM",
	"TABLE",
	"TABLES",
	"TAMIL",
	"TEMPFILES",
	"THEN",
	"THROW",
	"TIMEOUT",
	"TO",
	"TOKEN",
	"TOKENIZERS",
	"TRACE",
	"TRANSACTION",
	"true",
	"TURKISH",
	"TYPE",
	"ULID",
	"UNIQUE",
	"UNSET",
	"UPDATE",
	"UPPERCASE",
	"UPSERT",
	"URL",
	"USE",
	"USER",
	"UUID",
	"VALUE",
	"VALUES",
	"VERSION",
	"WHEN",
	"WHERE",
	"WITH",
}

// keywordOf is the keyword that an upper-case word is, or 0.
func keywordOf(upper []byte) kind {
	switch string(upper) {
	case "ACCESS":
		return kwAccess
	case "AFTER":
		return kwAfter
	case "ALGORITHM":
		return kwAlgorithm
	case "ALL":
		return kwAll
	case "ALLINSIDE":
		return kwAllinside
	case "ALTER":
		return kwAlter
	case "ALWAYS":
		return kwAlways
	case "ANALYZER":
		return kwAnalyzer
	case "AND":
		return kwAnd
	case "ANY":
		return kwAny
	case "ANYINSIDE":
		return kwAnyinside
	case "API":
		return kwApi
	case "ARABIC", "AR", "ARA":
		return kwArabic
	case "ARRAY":
		return kwArray
	case "AS":
		return kwAs
	case "ASCENDING", "ASC":
		return kwAscending
	case "ASCII":
		return kwAscii
	case "ASSERT":
		return kwAssert
	case "ASYNC":
		return kwAsync
	case "AT":
		return kwAt
	case "AUDIENCE":
		return kwAudience
	case "AUTHENTICATE":
		return kwAuthenticate
	case "AUTO":
		return kwAuto
	case "BACKEND":
		return kwBackend
	case "BATCH":
		return kwBatch
	case "BEARER":
		return kwBearer
	case "BEFORE":
		return kwBefore
	case "BEGIN":
		return kwBegin
	case "BLANK":
		return kwBlank
	case "BM25":
		return kwBm25
	case "BOOL":
		return kwBool
	case "BREAK":
		return kwBreak
	case "BUCKET":
		return kwBucket
	case "BY":
		return kwBy
	case "BYTES":
		return kwBytes
	case "CAMEL":
		return kwCamel
	case "CANCEL":
		return kwCancel
	case "CAPACITY":
		return kwCapacity
	case "CASCADE":
		return kwCascade
	case "CHANGEFEED":
		return kwChangefeed
	case "CHANGES":
		return kwChanges
	case "CHEBYSHEV":
		return kwChebyshev
	case "CLASS":
		return kwClass
	case "COLLATE":
		return kwCollate
	case "COLLECTION":
		return kwCollection
	case "COMMENT":
		return kwComment
	case "COMMIT":
		return kwCommit
	case "COMPACT":
		return kwCompact
	case "COMPUTED":
		return kwComputed
	case "CONCURRENTLY":
		return kwConcurrently
	case "CONFIG":
		return kwConfig
	case "CONTAINS":
		return kwContains
	case "CONTAINSALL":
		return kwContainsall
	case "CONTAINSANY":
		return kwContainsany
	case "CONTAINSNONE":
		return kwContainsnone
	case "CONTAINSNOT":
		return kwContainsnot
	case "CONTENT":
		return kwContent
	case "CONTINUE":
		return kwContinue
	case "COSINE":
		return kwCosine
	case "COUNT":
		return kwCount
	case "CREATE":
		return kwCreate
	case "DANISH", "DA", "DAN":
		return kwDanish
	case "DATABASE", "DB":
		return kwDatabase
	case "DATETIME":
		return kwDatetime
	case "DECIMAL":
		return kwDecimal
	case "DEFAULT":
		return kwDefault
	case "DEFINE":
		return kwDefine
	case "DELETE":
		return kwDelete
	case "DESCENDING", "DESC":
		return kwDescending
	case "DIFF":
		return kwDiff
	case "DIMENSION":
		return kwDimension
	case "DISTANCE", "DIST":
		return kwDistance
	case "DROP":
		return kwDrop
	case "DUPLICATE":
		return kwDuplicate
	case "DURATION":
		return kwDuration
	case "DUTCH", "NL", "NLD":
		return kwDutch
	case "EDDSA":
		return kwEddsa
	case "EDGENGRAM":
		return kwEdgengram
	case "EFC":
		return kwEfc
	case "ELSE":
		return kwElse
	case "END":
		return kwEnd
	case "ENFORCED":
		return kwEnforced
	case "ENGLISH", "EN", "ENG":
		return kwEnglish
	case "ES256":
		return kwEs256
	case "ES384":
		return kwEs384
	case "ES512":
		return kwEs512
	case "EUCLIDEAN":
		return kwEuclidean
	case "EVENT":
		return kwEvent
	case "EXCLUDE":
		return kwExclude
	case "EXISTS":
		return kwExists
	case "EXPIRED":
		return kwExpired
	case "EXPLAIN":
		return kwExplain
	case "EXPUNGE":
		return kwExpunge
	case "EXTEND_CANDIDATES":
		return kwExtendCandidates
	case "F32":
		return kwF32
	case "F64":
		return kwF64
	case "FALSE":
		return kwFalse
	case "FEATURE":
		return kwFeature
	case "FETCH":
		return kwFetch
	case "FIELD":
		return kwField
	case "FIELDS", "COLUMNS":
		return kwFields
	case "FILE":
		return kwFile
	case "FILTERS":
		return kwFilters
	case "FLEXIBLE", "FLEX", "FLEXI":
		return kwFlexible
	case "FLOAT":
		return kwFloat
	case "FN":
		return kwFn
	case "FOR":
		return kwFor
	case "FRENCH", "FR", "FRA":
		return kwFrench
	case "FROM":
		return kwFrom
	case "FULL":
		return kwFull
	case "FULLTEXT":
		return kwFulltext
	case "FUNCTION":
		return kwFunction
	case "FUNCTIONS":
		return kwFunctions
	case "GEOMETRY":
		return kwGeometry
	case "GERMAN", "DE", "DEU":
		return kwGerman
	case "GET":
		return kwGet
	case "GRANT":
		return kwGrant
	case "GRAPHQL":
		return kwGraphql
	case "GREEK", "EL", "ELL":
		return kwGreek
	case "GROUP":
		return kwGroup
	case "HAMMING":
		return kwHamming
	case "HASHED_VECTOR":
		return kwHashedVector
	case "HEADERS":
		return kwHeaders
	case "HIGHLIGHTS":
		return kwHighlights
	case "HNSW":
		return kwHnsw
	case "HS256":
		return kwHs256
	case "HS384":
		return kwHs384
	case "HS512":
		return kwHs512
	case "HUNGARIAN", "HU", "HUN":
		return kwHungarian
	case "I16":
		return kwI16
	case "I32":
		return kwI32
	case "I64":
		return kwI64
	case "IF":
		return kwIf
	case "IGNORE":
		return kwIgnore
	case "IN":
		return kwIn
	case "INCLUDE":
		return kwInclude
	case "INDEX":
		return kwIndex
	case "INFO":
		return kwInfo
	case "INLINE":
		return kwInline
	case "INSERT":
		return kwInsert
	case "INSIDE":
		return kwInside
	case "INT":
		return kwInt
	case "INTERSECTS":
		return kwIntersects
	case "INTO":
		return kwInto
	case "IS":
		return kwIs
	case "ISSUER":
		return kwIssuer
	case "ITALIAN", "IT", "ITA":
		return kwItalian
	case "JACCARD":
		return kwJaccard
	case "JWKS":
		return kwJwks
	case "JWT":
		return kwJwt
	case "KEEP_PRUNED_CONNECTIONS":
		return kwKeepPrunedConnections
	case "KEY":
		return kwKey
	case "KILL":
		return kwKill
	case "LET":
		return kwLet
	case "LIMIT":
		return kwLimit
	case "LINE":
		return kwLine
	case "LIVE":
		return kwLive
	case "LM":
		return kwLm
	case "LOWERCASE":
		return kwLowercase
	case "M":
		return kwM
	case "M0":
		return kwM0
	case "MANHATTAN":
		return kwManhattan
	case "MAPPER":
		return kwMapper
	case "MAXDEPTH":
		return kwMaxdepth
	case "MERGE":
		return kwMerge
	case "MIDDLEWARE":
		return kwMiddleware
	case "MINKOWSKI":
		return kwMinkowski
	case "ML":
		return kwMl
	case "MOD":
		return kwMod
	case "MODEL":
		return kwModel
	case "MODULE":
		return kwModule
	case "MULTILINE":
		return kwMultiline
	case "MULTIPOINT":
		return kwMultipoint
	case "MULTIPOLYGON":
		return kwMultipolygon
	case "NAMESPACE", "NS":
		return kwNamespace
	case "NGRAM":
		return kwNgram
	case "NO":
		return kwNo
	case "NOINDEX":
		return kwNoindex
	case "NONE":
		return kwNone
	case "NONEINSIDE":
		return kwNoneinside
	case "NORMAL":
		return kwNormal
	case "NORWEGIAN", "NOR":
		return kwNorwegian
	case "NOT":
		return kwNot
	case "NOTINSIDE":
		return kwNotinside
	case "NULL":
		return kwNull
	case "NUMBER":
		return kwNumber
	case "NUMERIC":
		return kwNumeric
	case "OBJECT":
		return kwObject
	case "OMIT":
		return kwOmit
	case "ON":
		return kwOn
	case "ONLY":
		return kwOnly
	case "OPTION":
		return kwOption
	case "OR":
		return kwOr
	case "ORDER":
		return kwOrder
	case "ORIGINAL":
		return kwOriginal
	case "OUT":
		return kwOut
	case "OUTSIDE":
		return kwOutside
	case "OVERWRITE":
		return kwOverwrite
	case "PARALLEL":
		return kwParallel
	case "PARAM":
		return kwParam
	case "PASSHASH":
		return kwPasshash
	case "PASSWORD":
		return kwPassword
	case "PATCH":
		return kwPatch
	case "PEARSON":
		return kwPearson
	case "PERMISSIONS":
		return kwPermissions
	case "POINT":
		return kwPoint
	case "POLYGON":
		return kwPolygon
	case "PORTUGUESE", "POR", "PT":
		return kwPortuguese
	case "POST":
		return kwPost
	case "PREPARE":
		return kwPrepare
	case "PS256":
		return kwPs256
	case "PS384":
		return kwPs384
	case "PS512":
		return kwPs512
	case "PUNCT":
		return kwPunct
	case "PURGE":
		return kwPurge
	case "PUT":
		return kwPut
	case "RAND":
		return kwRand
	case "RANGE":
		return kwRange
	case "READONLY":
		return kwReadonly
	case "REBUILD":
		return kwRebuild
	case "RECORD":
		return kwRecord
	case "REFERENCE":
		return kwReference
	case "REFERENCES":
		return kwReferences
	case "REFRESH":
		return kwRefresh
	case "REGEX":
		return kwRegex
	case "REJECT":
		return kwReject
	case "RELATE":
		return kwRelate
	case "RELATION":
		return kwRelation
	case "REMOVE":
		return kwRemove
	case "REPLACE":
		return kwReplace
	case "RETRY":
		return kwRetry
	case "RETURN":
		return kwReturn
	case "REVOKE":
		return kwRevoke
	case "REVOKED":
		return kwRevoked
	case "ROLES":
		return kwRoles
	case "ROMANIAN", "RO", "RON":
		return kwRomanian
	case "ROOT", "KV":
		return kwRoot
	case "RS256":
		return kwRs256
	case "RS384":
		return kwRs384
	case "RS512":
		return kwRs512
	case "RUSSIAN", "RU", "RUS":
		return kwRussian
	case "SCHEMAFULL", "SCHEMAFUL":
		return kwSchemafull
	case "SCHEMALESS":
		return kwSchemaless
	case "SCOPE", "SC":
		return kwScope
	case "SELECT":
		return kwSelect
	case "SEQUENCE":
		return kwSequence
	case "SESSION":
		return kwSession
	case "SET":
		return kwSet
	case "SHOW":
		return kwShow
	case "SIGNIN":
		return kwSignin
	case "SIGNUP":
		return kwSignup
	case "SILO":
		return kwSilo
	case "SINCE":
		return kwSince
	case "SLEEP":
		return kwSleep
	case "SNOWBALL":
		return kwSnowball
	case "SPANISH", "ES", "SPA":
		return kwSpanish
	case "SPLIT":
		return kwSplit
	case "START":
		return kwStart
	case "STRICT":
		return kwStrict
	case "STRING":
		return kwString
	case "STRUCTURE":
		return kwStructure
	case "SWEDISH", "SV", "SWE":
		return kwSwedish
	case "SYSTEM":
		return kwSystem
	case "TABLE", "TB":
		return kwTable
	case "TABLES":
		return kwTables
	case "TAMIL", "TA", "TAM":
		return kwTamil
	case "TEMPFILES":
		return kwTempfiles
	case "THEN":
		return kwThen
	case "THROW":
		return kwThrow
	case "TIMEOUT":
		return kwTimeout
	case "TO":
		return kwTo
	case "TOKEN":
		return kwToken
	case "TOKENIZERS":
		return kwTokenizers
	case "TRACE":
		return kwTrace
	case "TRANSACTION":
		return kwTransaction
	case "TRUE":
		return kwTrue
	case "TURKISH", "TR", "TUR":
		return kwTurkish
	case "TYPE":
		return kwType
	case "ULID":
		return kwUlid
	case "UNIQUE":
		return kwUnique
	case "UNSET":
		return kwUnset
	case "UPDATE":
		return kwUpdate
	case "UPPERCASE":
		return kwUppercase
	case "UPSERT":
		return kwUpsert
	case "URL":
		return kwUrl
	case "USE":
		return kwUse
	case "USER":
		return kwUser
	case "UUID":
		return kwUuid
	case "VALUE":
		return kwValue
	case "VALUES":
		return kwValues
	case "VERSION":
		return kwVersion
	case "WHEN":
		return kwWhen
	case "WHERE":
		return kwWhere
	case "WITH":
		return kwWith
	}
	return 0
}
