package fulltext

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nacredb/nacre/engine/ast"
)

func analyzer(t testing.TB, tokenizers string, filters ...ast.AnalyzerFilter) *Analyzer {
	t.Helper()
	def := &ast.DefineAnalyzer{Tokenizers: strings.Fields(tokenizers), Filters: filters}
	a, err := Compile(def, fstest.MapFS{"dir/words.txt": {Data: []byte("car\tcars\nbe\tis\n")}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func terms(tokens []Token) []string {
	out := []string{}
	for _, t := range tokens {
		out = append(out, t.Term)
	}
	return out
}

// The answers are those of the reference engine.
func TestAnalyze(t *testing.T) {
	named := func(names ...string) []ast.AnalyzerFilter {
		var out []ast.AnalyzerFilter
		for _, n := range names {
			out = append(out, ast.AnalyzerFilter{Name: n})
		}
		return out
	}
	grams := func(name string, least, most int64) []ast.AnalyzerFilter {
		return []ast.AnalyzerFilter{{Name: name, Min: least, Max: most}}
	}
	const mixed = "aé1٣Ⅷ½_-+=<>$€☃中文字アㄱ ก\u0301x\u0001y\u0085z"
	for _, tc := range []struct {
		tokenizers string
		filters    []ast.AnalyzerFilter
		text       string
		want       []string
	}{
		{"BLANK", nil, "  a\tb\nc\u00a0d\u2003e\u3000f\u200bg ", []string{"a", "b", "c", "d", "e", "f", "g"}},
		{"BLANK", nil, mixed, []string{"aé1٣Ⅷ½_-+=<>$", "中文字アㄱ", "ก", "x", "y", "z"}},
		{"CLASS", nil, mixed, []string{"aé", "1٣", "Ⅷ", "½", "_-+=<>$", "中文字アㄱ", "ก", "x", "y", "z"}},
		{"PUNCT", nil, mixed, []string{"aé1٣Ⅷ½", "_", "-", "+", "=", "<", ">", "$", "中文字アㄱ ก", "x", "y\u0085z"}},
		{"CAMEL", nil, mixed, []string{"aé1٣", "Ⅷ½_-+=<>$", "中文字アㄱ", "ก", "x", "y", "z"}},
		{"", named("ASCII"), mixed, []string{"ae13VIII1/2_-+=<>$", "Zhong Wen Zi ag k", "x", "yz"}},
		{"CLASS", nil, "don't stop\t\n x1y2 A.B", []string{"don", "'", "t", "stop", "x", "1", "y", "2", "A", ".", "B"}},
		{"CAMEL", nil, "XMLHttpRequest fooBARBaz aB1C éÉa bazQux 1A aA1 a_B a-B",
			[]string{"XMLHttp", "Request", "foo", "BARBaz", "a", "B1", "C", "é", "Éa", "baz", "Qux", "1", "A", "a",
				"A1", "a_", "B", "a-", "B"}},
		{"PUNCT", nil, "a—b…c¿d«e»f+g", []string{"a", "b", "c", "d", "e", "f", "+", "g"}},
		{"CAMEL", nil, "A1b ab12cd34EF5g -a .Ab 日1日 _a_B É1é",
			[]string{"A1", "b", "ab12", "cd34", "EF5", "g", "-", "a", ".", "Ab", "日1", "日",
				"_", "a_", "B", "É1", "é"}},
		{"", named("ASCII"), "a\u00a0b\u2003c\u3000d", []string{"a b c d"}},
		{"", named("ASCII"), "\ta\né\tb\nc\td", []string{"\ta\nebcd"}},
		{"", append(grams("NGRAM", 0, 2), named("LOWERCASE")...), "abc", []string{"a", "ab", "b", "bc", "c"}},
		{"", append(grams("NGRAM", 0, 1), grams("EDGENGRAM", 0, 1)...), "abc", []string{"", "a", "", "b", "", "c"}},
		{"", append(grams("EDGENGRAM", 0, 1), grams("NGRAM", 0, 1)...), "abc", []string{"", "a", ""}},
		{"PUNCT", nil, ".. a", []string{".", ".", " a"}},
		{"CLASS PUNCT", nil, "a+-..b", []string{"a", "+", "-", ".", ".", "b"}},
		{"CLASS", nil, "a+-..b  cc", []string{"a", "+-..", "b", "cc"}},
		{"BLANK CLASS CAMEL PUNCT", nil, "fooBar12-Baz, qux!!  XMLHttp",
			[]string{"foo", "Bar", "12", "-", "Baz", ",", "qux", "!", "!", "XMLHttp"}},
		{"", named("LOWERCASE"), "ÀÉİSS ẞ Σ ΑΣ", []string{"àéi̇ss ß σ ας"}},
		{"", named("UPPERCASE"), "àéißß ﬁ ς ŉ", []string{"ÀÉISSSS FI Σ ʼN"}},
		{"", grams("EDGENGRAM", 2, 4), "abcdef", []string{"ab", "abc", "abcd"}},
		{"", grams("EDGENGRAM", 2, 4), "a", []string{}},
		{"", grams("EDGENGRAM", 3, 1), "abcdef", []string{}},
		{"", grams("EDGENGRAM", 0, 2), "abc", []string{"", "a", "ab"}},
		{"", grams("NGRAM", 2, 4), "éab𝄞c", []string{"éa", "éab", "ab"}},
		{"", grams("NGRAM", 0, 2), "abc", []string{"", "a", "ab", "", "b", "bc", "", "c", ""}},
		{"BLANK", []ast.AnalyzerFilter{{Name: "MAPPER", Path: "dir/words.txt"}}, "cars is x",
			[]string{"car", "be", "x"}},
	} {
		got := terms(analyzer(t, tc.tokenizers, tc.filters...).Analyze(&Scratch{}, tc.text))
		if !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s %v %q: got %q, want %q", tc.tokenizers, tc.filters, tc.text, got, tc.want)
		}
	}
}

func TestStemmers(t *testing.T) {
	for _, tc := range []struct{ language, text, want string }{
		{"ARABIC", "والكتاب الكتب يكتبون", "والكتاب كتب يكتب"},
		{"ARABIC", `كتاب. a.b, "it's" 1/2 a\\b x-y #z ...`, "كتاب ab it's 12 ab x-y #z"},
		{"DANISH", "husene løber undervisningens", "hus løb undervisning"},
		{"DUTCH", "huizen lopende mogelijkheden", "huiz lopend mogelijk"},
		{"ENGLISH", "generalization skies dying news Running runner easily", "general sky die news run runner easili"},
		{"FRENCH", "continuellement mangeons Chevaux", "continuel mangeon cheval"},
		{"GREEK", "αντικείμενα άνθρωποι τρέχοντας", "αντικειμεν ανθρωπ τρεχ"},
		{"GERMAN", "aufeinanderfolgende häuser Straße", "aufeinanderfolg haus strass"},
		{"HUNGARIAN", "házakban szépségek", "ház szépség"},
		{"ITALIAN", "pronunciamento case", "pronunc cas"},
		{"NORWEGIAN", "havnemyndighetene husene", "havnemynd hus"},
		{"PORTUGUESE", "quilométricas casas", "quilométr cas"},
		{"ROMANIAN", "absolvenților casele", "absolvenț cas"},
		{"RUSSIAN", "важнейшие книги бегущий", "важн книг бегущ"},
		{"SPANISH", "torneadas casas", "torn cas"},
		{"SWEDISH", "jaktkarlarnas husen", "jaktkarl hus"},
		{"TAMIL", "வீடுகள் மரங்களை", "வீடுகள மரங களை"},
		{"TURKISH", "evlerimizden kitaplar", "ev kitap"},
	} {
		a := analyzer(t, "BLANK", ast.AnalyzerFilter{Name: "SNOWBALL", Language: tc.language})
		if got := strings.Join(terms(a.Analyze(&Scratch{}, tc.text)), " "); got != tc.want {
			t.Errorf("%s %q: got %q, want %q", tc.language, tc.text, got, tc.want)
		}
	}
}

func TestFold(t *testing.T) {
	for in, want := range map[string]string{
		"Çà": "Ca", "øßæÆœłđþﬁ": "ossaeAEoeldthfi", "中 Я": "Zhong Ia", "中": "Zhong", "①²½": "121/2", "ŉǆ": "'ndz",
	} {
		if got := fold(in); got != want {
			t.Errorf("fold(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMapperFilesAreBoundToTheirRoot(t *testing.T) {
	for _, path := range []string{"x.txt", "../dir/words.txt", "/etc/passwd", ""} {
		_, err := Compile(&ast.DefineAnalyzer{Filters: []ast.AnalyzerFilter{{Name: "MAPPER", Path: path}}}, nil)
		if err == nil || err.Error() != "No such file or directory (os error 2)" || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("mapper(%q): got %v", path, err)
		}
	}
}

func TestDirectories(t *testing.T) {
	outside, inside := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{filepath.Join(outside, "secret"): "a\tb",
		filepath.Join(inside, "words"): "car\tcars",
		inside + "x":                   "a\tb", filepath.Join(inside, "bad"): "no tab",
		filepath.Join(inside, "worse"): "a\tb\tc"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(inside, "link")); err != nil {
		t.Fatal(err)
	}
	const missing = "No such file or directory (os error 2)"
	for _, tc := range []struct{ path, want string }{
		{filepath.Join(inside, "words"), ""},
		{filepath.Join(inside, "none"), missing},
		{filepath.Join(outside, "secret"), missing},
		{filepath.Join(inside, "..", filepath.Base(outside), "secret"), missing},
		{filepath.Join(inside, "link"), missing},
		{inside, missing},
		{inside + "x", missing},
		{filepath.Join(inside, "bad"), "A value can't be analyzed: Expected two terms separated by a tab line 0"},
		{filepath.Join(inside, "worse"), "A value can't be analyzed: Expected two terms to not contain more then one tab 0"},
	} {
		def := &ast.DefineAnalyzer{Filters: []ast.AnalyzerFilter{{Name: "MAPPER", Path: tc.path}}}
		if _, err := Compile(def, Directories{inside}); fmt.Sprint(err) != cmp.Or(tc.want, "<nil>") {
			t.Errorf("mapper(%q): got %v, want %q", tc.path, err, tc.want)
		}
	}
}

// The stems are those of the reference engine.
func TestGreekStems(t *testing.T) {
	words := strings.Fields("αντικείμενα άνθρωποι τρέχοντας γράφω έγραφα γράψαμε διαβάζουμε αγαπημένος αγαπήθηκε μιλούσαμε " +
		"παίζοντας σπίτια σπιτάκι δρόμους θάλασσες βιβλία παιδάκια γυναίκες μητέρες φίλων χωριουδάκι " +
		"πόλεων νερό φαγητά κρέατα γεγονότα καθεστώτος τέρατα φώτα ελληνικός ευρωπαϊκού κυβερνήσεων " +
		"πολίτες οικονομικών σοσιαλισμός δανεισμού φιλόσοφος μαθήματα πανεπιστήμιο μαθητών δασκάλα " +
		"καλύτερος μεγαλύτερη ωραιότατος μικρότερα παππούδες γιαγιάδες αλεπούδες καφέδες βασιλιάς " +
		"ποιήματα αποφάσεις ημέρας ζούσε εργάζομαι εργάζονταν στέκεται μπορούμε εθνικιστής αρχίζω " +
		"μετανιώθηκα λυπήθηκε ήρθαμε πηγαίνετε αρχοντάς")
	want := strings.Fields("αντικειμεν ανθρωπ τρεχ γραφ εγραφ γραψ διαβαζ αγαπημεν αγαπ μιλ παιζ σπιτ σπιτ δρομ θαλασσ βιβλ " +
		"παιδ γυναικ μητερ φιλ χωρι πολ νερ φαγητ κρε γεγον καθεστ τερ φω ελληνικ ευρωπαηκ κυβερνησ πολιτ " +
		"οικονομ σοσιαλ δανει φιλοσοφ μαθημ πανεπιστημι μαθητ δασκαλ καλ μεγαλ ωραι μικρ παππ γιαγ αλεπ " +
		"καφ βασιλι ποιημ αποφασ ημερ ζ εργαζ εργαζ στεκ μπορ εθνικ αρχ μετανι λυπ ηρθ πηγαινετ αρχοντ")
	for i, w := range words {
		if got := greekStem(w); got != want[i] {
			t.Errorf("%s: got %s, want %s", w, got, want[i])
		}
	}
}
