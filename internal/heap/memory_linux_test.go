package heap

import "testing"

func TestTotalOf(t *testing.T) {
	for in, want := range map[string]uint64{
		"MemTotal:       24681828 kB\nMemFree: 1 kB\n": 24681828 << 10,
		"MemFree: 1 kB\nMemTotal: 5 kB":                5 << 10,
		"":                                             0,
		"MemTotal: many kB":                            0,
		"MemTotal: 5":                                  0,
	} {
		if got := totalOf([]byte(in)); got != want {
			t.Errorf("%q: got %d, want %d", in, got, want)
		}
	}
}
