package engine_test

import "testing"

// BenchmarkStoredCode runs the code of definitions once for each of a thousand rows.
func BenchmarkStoredCode(b *testing.B) {
	for _, bench := range []struct{ name, define, text string }{
		{"value", "DEFINE FIELD v ON t VALUE $value + n * 2", "UPDATE t SET n += 1 RETURN NONE"},
		{"assert", "DEFINE FIELD v ON t ASSERT n >= 0", "UPDATE t SET v = 1 RETURN NONE"},
		{"computed", "DEFINE FIELD v ON t COMPUTED n * 2 + n", "SELECT VALUE v FROM t WHERE v < 0"},
		{"function", "DEFINE FUNCTION fn::twice($n: number) { $n * 2 }", "SELECT VALUE id FROM t WHERE fn::twice(n) < 0"},
		{"computed by a function", "DEFINE FUNCTION fn::twice($n: number) { $n * 2 }; DEFINE FIELD v ON t COMPUTED fn::twice(n)", "SELECT VALUE v FROM t WHERE v < 0"},
		{"computed by a select", "DEFINE FIELD v ON t COMPUTED (SELECT VALUE n FROM ONLY one:1)", "SELECT VALUE v FROM t WHERE v < 0"},
		{"event", "DEFINE EVENT e ON t WHEN $after.n < 0 THEN {}", "UPDATE t SET n += 1 RETURN NONE"},
		{"closure", "", "SELECT VALUE id FROM t WHERE [n].any(|$x| $x < 0)"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := openQuiet(b).RootSession()
			run(b, s, "USE NS n DB d; DEFINE TABLE t; DEFINE TABLE one; CREATE one:1 SET n = 1; CREATE |t:1000| SET n = 1, v = 1 RETURN NONE; "+bench.define)
			b.ReportAllocs()
			for b.Loop() {
				run(b, s, bench.text)
			}
		})
	}
	b.Run("permissions", func(b *testing.B) {
		e := openQuiet(b)
		run(b, e.RootSession(), `USE NS n DB d; DEFINE TABLE t PERMISSIONS FOR select WHERE owner = $auth.id OR n > 1;
			CREATE |t:1000| SET n = 1 RETURN NONE`)
		s := as(e, 1, 0)
		b.ReportAllocs()
		for b.Loop() {
			run(b, s, "SELECT VALUE id FROM t")
		}
	})
}
