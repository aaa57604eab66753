package value

import (
	"reflect"
	"testing"
	"unsafe"
)

// TestValuesStayInRegisters: the compiler keeps structs of at most four fields and four words in registers. One field
// more costs scans, groups and sorts a quarter to a half of their time.
func TestValuesStayInRegisters(t *testing.T) {
	n, size := reflect.TypeFor[Value]().NumField(), unsafe.Sizeof(Value{})
	if n > 4 || size > 4*unsafe.Sizeof(uintptr(0)) {
		t.Errorf("a value has %d fields in %d bytes", n, size)
	}
}
