package value_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/value"
)

// TestRowsAreRecords: an object of Rows is the same as one of the same fields, and is stored as that is, for any
// size, and with many blocks that are full.
func TestRowsAreRecords(t *testing.T) {
	var rows value.Rows
	var made, want []value.Value
	for i, size := range []int{0, 1, 10, 100, 1000, 20_000, 70_000, 5, 0, 300, 70_000, 1} {
		for n := range 40 {
			fields := []value.Field{
				{Name: "b", Value: value.Str(strings.Repeat("x", size))},
				{Name: "a", Value: value.Int(int64(n))},
				{Name: "d", Value: value.Array(value.Null, value.None, value.Float(0.5))},
				{Name: "c", Value: value.None},
			}
			order := []int{1, 0, 3, 2}
			for k := range n * i {
				fields = append(fields, value.Field{Name: fmt.Sprintf("e%03d", k), Value: value.Bool(k%2 == 0)})
				order = append(order, len(fields)-1)
			}
			o, err := rows.Make(fields, order)
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, value.ObjectOf(o))
			want = append(want, value.ObjectOf(value.NewObject(fields...)))
		}
	}
	for i := range made {
		a, err := value.EncodeRecord(nil, made[i].Object())
		b, err2 := value.EncodeRecord(nil, want[i].Object())
		if err != nil || err2 != nil || !bytes.Equal(a, b) || !value.Equal(made[i], want[i]) {
			t.Fatalf("object %d is %.100s, want %.100s; %v, %v", i, made[i].Text(), want[i].Text(), err, err2)
		}
		if made[i].Object().StoredWithoutNone() {
			t.Fatalf("object %d is said to hold no NONE", i)
		}
	}
	deep := value.Int(1)
	for range 300 {
		deep = value.Array(deep)
	}
	if _, err := rows.Make([]value.Field{{Name: "a", Value: deep}}, []int{0}); err == nil {
		t.Error("a value was taken that is too deep to be stored")
	}
	o, err := rows.Make([]value.Field{{Name: "a", Value: value.Str("ok")}}, []int{0})
	if err != nil || value.ObjectOf(o).Text() != "{ a: 'ok' }" || !o.StoredWithoutNone() {
		t.Errorf("after an object that was refused comes %v, %v", value.ObjectOf(o).Text(), err)
	}
}
