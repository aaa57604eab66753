module github.com/nacredb/nacre/testdata/postgres/pq

go 1.26.8

require github.com/lib/pq v1.12.3
