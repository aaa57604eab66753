package value

import (
	"errors"
	"testing"

	"github.com/nacredb/nacre/engine/decimal"
)

// The texts and places of errors are the reference's (offsets within the quotes).
func TestDatetimeErrors(t *testing.T) {
	for _, c := range []struct {
		in, msg     string
		offset, len int
		label       string
	}{
		{"", "Expected end of datetime, expected datetime digit character", 0, 0, ""},
		{"x", "Invalid datetime, expected digit character found `x`", 0, 1, ""},
		{"2024", "Expected end of string, expected datetime seperator character `-`", 4, 0, ""},
		{"2024-1x", "Invalid datetime, expected digit character found `x`", 6, 1, ""},
		{"2024/01", "Unexpected character `/`, expected datetime seperator characters `-`", 4, 1, ""},
		{"2024-01-32", "Invalid datetime digit section, section not within allowed range", 8, 2, "This section must be within 1..=31"},
		{"2024-00-01", "Invalid datetime digit section, section not within allowed range", 5, 2, "This section must be within 1..=12"},
		{"2024-02-30", "Invalid Datetime date: date outside of valid range", 0, 10, ""},
		{"262143-01-01", "Invalid Datetime date: date outside of valid range", 0, 12, ""},
		{"2024-01-01x", "Unexpected character `x`, expected time seperator `T`", 10, 1, ""},
		{"2024-01-01T25:00:00Z", "Invalid datetime digit section, section not within allowed range", 11, 2, "This section must be within 0..=24"},
		{"2024-01-01T24:00:00Z", "Invalid Datetime time: time outside of valid range", 11, 8, ""},
		{"2024-01-01T00:00:60Z", "Invalid Datetime time: time outside of valid range", 11, 8, ""},
		{"2024-01-01T00:00:00.9999999999Z", "Invalid Datetime time: time outside of valid range", 11, 19, ""},
		{"2024-01-01T00:00:00.Z", "Invalid datetime nanoseconds, expected at least a single digit", 20, 0, ""},
		{"2024-01-01T00:00:00", "Invalid end of datetime, expected datetime timezone", 19, 0, ""},
		{"2024-01-01T00:00:00x", "Unexpected character `x`, expected `Z` or a timezone offset.", 10, 10, ""},
		{"2024-01-01T00:00:00.1x", "Unexpected character `x`, expected `Z` or a timezone offset.", 10, 12, ""},
		{"2024-01-01T00:00:00+01", "Expected end of string, expected datetime seperator character `:`", 22, 0, ""},
		{"2024-01-01T00:00:00+24:00", "Invalid datetime digit section, section not within allowed range", 20, 2,
			"This section must be within 0..=23"},
		{"-262143-01-01T00:00:00+01:00", "Invalid Datetime, timezone was outside of the range of valid datetimes", 22, 6, ""},
		{"+99999999999999-01-01", "Unexpected character `9`, expected datetime seperator characters `-`", 8, 1, ""},
	} {
		_, err := ParseDatetime(c.in)
		var e *SyntaxError
		if !errors.As(err, &e) {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		if e.Msg != c.msg || e.Offset != c.offset || e.Len != c.len || e.Label != c.label {
			t.Errorf("%q: %+v", c.in, *e)
		}
	}
}

func TestUUIDErrors(t *testing.T) {
	for in, want := range map[string]SyntaxError{
		"":                                     {Msg: "Unexpected end of string, expected UUID token to finish"},
		"018f0d3e":                             {Msg: "Unexpected end of string, expected UUID token to finish", Offset: 8},
		"018f0d3ex6f3b-7aaa-8aaa-1234567890ab": {Msg: "Unexpected character `x`, expected byte seperator `-`", Offset: 8, Len: 1},
		"018f0d3g-6f3b-7aaa-8aaa-1234567890ab": {Msg: "Unexpected character `g` expected hexidecimal digit", Offset: 7, Len: 1},
	} {
		if _, err := ReadUUID(in); err == nil || *err != want {
			t.Errorf("%q: %+v", in, err)
		}
	}
}

func TestDecimalLiterals(t *testing.T) {
	for in, want := range map[string]string{
		"1.50": "1.5", "1.50e0": "1.50", "1.5e-3": "0.0015", "1e28": "10000000000000000000000000000",
		"123456.789e-5": "1.23456789", "1.5e+2": "150", "1_000.5_0": "1000.5", "1_0e1_0": "100000000000",
		"0.12345678901234567890123456785":   "0.1234567890123456789012345679",
		"7.92281625142643375935439503355":   "7.922816251426433759354395034",
		"79228162514264337593543950335.4":   "79228162514264337593543950335",
		"12345678901234567890123456789.123": "12345678901234567890123456789",
		"0.00000000000000000000000000005":   "0.0000000000000000000000000001",
		"1e-29":                             "Scale exceeds the maximum precision allowed: 29 > 28",
		"1e29":                              "Scale exceeds the maximum precision allowed: 29 > 28",
		"8e28":                              "Number exceeds maximum value that can be represented.",
		"79228162514264337593543950336":     "Invalid decimal: overflow from too many digits",
		"79228162514264337593543950335.5":   "Invalid decimal: overflow from mantissa after rounding",
		"1e999999999999999999999":           "Failed to parse",
	} {
		d, err := decimal.ParseLiteral(in)
		got := d.String()
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// A text that parses gives an equal value when its printed form is parsed.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"2024-01-01T00:00:00.1Z", "-0001-01-01", "1h30m", "18446744073709551615s",
		"018f0d3e-6f3b-7aaa-8aaa-1234567890ab", "1.5e3", "-0.5", "9223372036854775808",
		"+262142-12-31T23:59:59-23:59"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := ParseDatetime(s); err == nil {
			if back, err := ParseDatetime(d.String()); err != nil || back != d {
				t.Errorf("%q: %s, %s, %v", s, d, back, err)
			}
		}
		if d, err := ParseDuration(s); err == nil {
			if back, err := ParseDuration(d.String()); err != nil || back != d {
				t.Errorf("%q: %s, %s, %v", s, d, back, err)
			}
		}
		if d, err := decimal.ParseLiteral(s); err == nil {
			if back, err := decimal.Parse(d.String()); err != nil || back.Cmp(d) != 0 {
				t.Errorf("%q: %s, %s, %v", s, d, back, err)
			}
		}
		if u, err := ParseUUID(s); err == nil {
			if back, err := ParseUUID(u.String()); err != nil || back != u {
				t.Errorf("%q: %s, %s, %v", s, u, back, err)
			}
		}
		if n, err := ParseNumber(s); err == nil && n.Text() == "" {
			t.Errorf("%q: no text", s)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	b.Run("datetime", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseDatetime("2024-01-01T00:00:00.123456Z"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decimal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decimal.Parse("12345.6789"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
