package diff

// lexical is a case of one statement with a prefixed text: what does not parse has one answer for all of its text.
func (g *generator) lexical(seed uint64) *Case {
	q := g.pick(`"`, `'`)
	text := g.pick("b", "d", "f", "r", "s", "u", "", "b", "d", "u", "r", "f") + q + g.list(1, 12, "", g.piece) + q
	if g.chance(60) {
		text = g.nearlyRight(q)
	}
	return &Case{Seed: seed, Body: []string{"RETURN " + g.pick("", "[1, ", "\n  ") + text}}
}

// nearlyRight is a prefixed text of the right form, some of whose characters are escaped or replaced.
func (g *generator) nearlyRight(q string) string {
	form := g.pick("b00FFab", "d2024-05-06T07:08:09Z", "d2024-05-06T07:08:09.123456789+02:00", "d2024-05-06",
		"fbkt:/a/b.txt",
		"fbkt:/a", "rpen:1", "rpen:abc", "rpen:[1, 2]", "r`a b`:⟨x⟩", "rpen:{ a: 1 }", "rpen:1..3", "sabc", "stext",
		"u018f0d3e-6f3b-7aaa-8aaa-1234567890ab", "rpen:u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab'", "rpen:rand()",
		"rpen:'x'", "d-0001-01-01T00:00:00Z", "d2024-02-30T00:00:00Z", "d2024-05-06T24:00:00Z",
		"d+12024-05-06T07:08:09Z")
	out := form[:1] + q
	for _, c := range form[1:] {
		switch {
		case string(c) == q || g.chance(4):
			out += g.piece()
		case g.chance(12):
			out += g.f(`\u{%x}`, c)
		case g.chance(2): // it is left out
		default:
			out += string(c)
		}
	}
	return out + q
}

func (g *generator) piece() string {
	return g.pick("a", "0", "F", "Z", "-", ":", "/", ".", " ", "é", "山", `\n`, `\t`, `\r`, `\\`, `\'`, `\"`, `\b`,
		`\f`, `\0`,
		"\\`", `\/`, `\x41`, `\u`, `\u0041`, `\u{41}`, `\u{1F355}`, `\u{110000}`, `\u{D800}`, `\u{}`, `\u{zz}`,
		`\u{123456789}`,
		`\u{30}`, `\u{2f}`, `\u{7a}`, `\u{22}`, `\u{27}`, `\u{a}`, `\uD83C\uDF55`, `\ `, "+", "T", "Z", "1", "9",
		"x", "g", "pen:", "[", "}")
}
