package cli

import "testing"

func TestColoured(t *testing.T) {
	for _, tc := range []struct {
		mode, no, force string
		tty, want       bool
	}{
		{mode: "auto", tty: true, want: true},
		{mode: "auto"},
		{mode: "auto", tty: true, no: "1"},
		{mode: "auto", force: "1", want: true},
		{mode: "auto", force: "0"},
		{mode: "auto", force: "1", no: "1"},
		{mode: "always", no: "1", want: true},
		{mode: "never", force: "1", tty: true},
	} {
		t.Setenv("NO_COLOR", tc.no)
		t.Setenv("CLICOLOR_FORCE", tc.force)
		if got, err := coloured(tc.mode, tc.tty); err != nil || got != tc.want {
			t.Errorf("%+v: got %v, %v", tc, got, err)
		}
	}
	if _, err := coloured("loud", true); err == nil {
		t.Error("--color loud is accepted")
	}
}
