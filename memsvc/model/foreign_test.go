package model

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestForeignAddress(t *testing.T) {
	for _, c := range []struct {
		address         string
		public, private bool // allowed without and with privateOK
	}{
		{"93.184.216.34", true, true}, {"2606:2800:220:1::1", true, true},
		{"127.0.0.1", false, true}, {"127.8.9.1", false, true}, {"::1", false, true}, {"::ffff:127.0.0.1", false, true},
		{"10.1.2.3", false, true}, {"172.16.0.1", false, true}, {"192.168.1.1", false, true}, {"fd12::1", false, true},
		{"100.64.0.1", false, true}, {"0.0.0.0", false, true}, {"::", false, true},
		{"64:ff9b::7f00:1", false, true}, {"2002:7f00:1::", false, true},
		{"169.254.169.254", false, false}, {"::ffff:169.254.169.254", false, false}, {"fe80::1", false, false},
		{"fd00:ec2::254", false, false}, {"224.0.0.1", false, false}, {"ff02::1", false, false},
		{"255.255.255.255", false, false},
	} {
		a := netip.MustParseAddr(c.address)
		if got := foreignAddress(a, false); got != c.public {
			t.Errorf("%s: %v", c.address, got)
		}
		if got := foreignAddress(a, true); got != c.private {
			t.Errorf("%s with private addresses: %v", c.address, got)
		}
	}
}

func TestForeignTargetsAreCheckedWhenTheyAreDialled(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked++ }))
	defer srv.Close()
	c := New(false)
	_, err := c.Generate(t.Context(), Target{Wire: ChatCompletions, BaseURL: srv.URL, Model: "m", Foreign: true},
		Request{Messages: []Message{{Role: "user", Content: "x"}}}, nil)
	var e *Error
	if !errors.As(err, &e) || e.Temporary || e.why != "is at an address that a Context may not name" {
		t.Errorf("the answer is %v", err)
	}
	if asked != 0 {
		t.Errorf("the server saw %d requests", asked)
	}
}
