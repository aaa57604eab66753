package script_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/script"
	"github.com/nacredb/nacre/engine/value"
)

// TestOneStepIsBounded: what the interpreter does in one step, or before the first, does not outlive the limits.
func TestOneStepIsBounded(t *testing.T) {
	for _, source := range []string{
		"return [...'a'.repeat(4e6).matchAll(/a/g)].length", "return 'a'.repeat(4e6).match(/a/g).length",
		"return 'a'.repeat(4e6).replace(/a/g, () => 'b').length", "return 'a'.repeat(4e6).replaceAll(/a/g, 'b').length",
		"return [...'a'.repeat(4e6)].length", "return [.../a/g[Symbol.matchAll]('a'.repeat(4e6))].length",
		"return " + strings.Repeat("1+", 30_000) + "1", "return " + strings.Repeat("x=",
			30_000) + "1", "return " + strings.Repeat("!", 30_000) + "1",
		"let s = 'a'.repeat(1e6); for (;;) s = `${s}${s}`", "let s = 'a'.repeat(1e6); for (;;) s = s.concat(s)",
		"let s = 'a'.repeat(8e6); return `" + strings.Repeat("${s}", 5000) + "`.length",
	} {
		begin := time.Now()
		v, err := engineOf(script.CallLimits{Time: time.Second}).Run(t.Context(), source, value.None, nil, nil)
		if err == nil {
			t.Errorf("%.60s: got %.60s", source, v.Text())
		}
		if spent := time.Since(begin); spent > 15*time.Second { // generous: the machine may be busy
			t.Errorf("%.60s: it took %v", source, spent)
		}
	}
}

// TestGuardedStepsAnswerTheSame: what stands in the place of built-in ones does what they do.
func TestGuardedStepsAnswerTheSame(t *testing.T) {
	for source, want := range map[string]string{
		"return `a${1}b${[1, 2]}c`":                                                 `'a1b1,2c'`,
		"return `${{ toString() { return 'x' } }}`":                                 `'x'`,
		"const f = (a) => `<${a.map((x) => `(${x})`).join('')}>`; return f([1, 2])": `'<(1)(2)>'`,
		"return `\\n\\u0041${''}\\``":                                               "'\\nA`'",
		"const tag = (s, ...v) => s.raw[0] + v[0] + s[1]; return tag`a\\n${7}b`":    `'a\\n7b'`,
		"return `plain`": `'plain'`,
		"try { `${Symbol('x')}`; return 1 } catch (e) { return e.constructor.name }":  `'TypeError'`,
		"return [...'a1b22'.matchAll(/[a-z](\\d+)/g)].map((m) => m[1] + m.index)":     `['10', '222']`,
		"for (const m of 'ab'.matchAll('b')) return m.index":                          `1`,
		"try { 'a'.matchAll(/a/); return 1 } catch (e) { return e.constructor.name }": `'TypeError'`,
		"return [...'a😀b'].length":                                                    `3`,
		"return 'a'.concat(1, null, 'b')":                                             `'a1nullb'`,
		"return 'abcabc'.match(/b/g).length + 'abcabc'.replace(/b/g, 'x')":            `'2axcaxc'`,
		"return " + strings.Repeat("1+", 1000) + "1":                                  `1001`,
	} {
		v, err := engineOf(script.CallLimits{}).Run(t.Context(), source, value.None, nil, nil)
		if err != nil || v.Text() != want {
			t.Errorf("%.80s: got %s, %v; want %s", source, v.Text(), err, want)
		}
	}
}
