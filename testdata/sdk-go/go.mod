module github.com/nacredb/nacre/testdata/sdk-go

go 1.26.8

require (
	github.com/gofrs/uuid v4.4.0+incompatible
	github.com/surrealdb/surrealdb.go v1.3.0
)

require (
	github.com/fxamacker/cbor/v2 v2.7.0 // indirect
	github.com/gorilla/websocket v1.5.3 // indirect
	github.com/x448/float16 v0.8.4 // indirect
)
