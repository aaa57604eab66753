package parse

import (
	"math"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

func (p *parser) defineIndex() ast.Statement {
	s := &ast.DefineIndex{Mode: p.mode(), Name: p.name(), Table: p.onTable()}
	fieldsAt := token{}
	for p.err == nil && p.indexClause(s, &fieldsAt) {
	}
	if p.err != nil {
		return s
	}
	switch n := len(s.Fields); {
	case n > 0 && s.Kind == ast.IndexCount:
		p.fail("Cannot create a count index with fields", fieldsAt, "")
	case n == 0 && s.Kind > ast.IndexCount:
		p.fail("Expected one column, found none", p.tok, "")
	case n == 0 && s.Kind != ast.IndexCount:
		p.fail("Expected at least one column - Use FIELDS to define columns", p.tok, "")
	case n > 1 && s.Kind > ast.IndexCount:
		p.fail("Expected one column, found "+value.Int(int64(n)).Text(), fieldsAt, "")
	}
	return s
}

// indexClause parses one clause; false where there is none.
func (p *parser) indexClause(s *ast.DefineIndex, fieldsAt *token) bool {
	switch p.tok.kind {
	case kwFields:
		p.advance()
		*fieldsAt = p.tok
		s.Fields = []ast.Expr{p.expr()}
		for p.err == nil && p.eat(tComma) {
			*fieldsAt = p.tok // the error names the last one
			s.Fields = append(s.Fields, p.expr())
		}
	case kwUnique:
		p.advance()
		s.Kind = ast.IndexUnique
	case kwCount:
		p.advance()
		s.Kind = ast.IndexCount
		if p.eat(kwWhere) {
			s.CountWhere = p.expr()
		}
	case kwFulltext:
		p.advance()
		s.Kind, s.FullText = ast.IndexFullText, p.fullText()
	case kwHnsw:
		p.advance()
		s.Kind, s.Vector = ast.IndexHNSW, p.hnsw()
	case kwConcurrently:
		p.advance()
		s.Concurrently = true
	case kwComment:
		p.advance()
		s.Comment = p.expr()
	default:
		switch {
		case p.isWord("DISKANN"):
			p.advance()
			s.Kind, s.Vector = ast.IndexDiskANN, p.diskANN()
		case p.isWord("DEFER"):
			p.advance()
			s.Defer = true
		default:
			return false
		}
	}
	return true
}

// float is a literal number, as a float.
func (p *parser) float() float64 {
	if p.tok.kind != tDigits && p.tok.kind != tMinus && p.tok.kind != tPlus {
		p.unexpected("a floating point number")
		return 0
	}
	return floatOf(p.number())
}

func (p *parser) fullText() *ast.FullText {
	f := &ast.FullText{Analyzer: "like", BM25: true, K1: 1.2, B: 0.75}
	for p.err == nil {
		switch p.tok.kind {
		case kwAnalyzer:
			p.advance()
			f.Analyzer = p.ident()
		case kwBm25:
			p.advance()
			if p.tok.kind == tLParen {
				open := p.advance()
				f.K1 = p.float()
				p.expect(tComma)
				f.B = p.float()
				p.closes(tRParen, open)
			}
		case kwHighlights:
			p.advance()
			f.Highlights = true
		default:
			return f
		}
	}
	return f
}

// hnsw are the parameters of an HNSW index, with the defaults of those not written.
func (p *parser) hnsw() *ast.VectorIndex {
	v := p.dimension()
	v.Distance, v.Type, v.EFC, v.M, v.M0 = kwEuclidean.String(), "F32", 150, 12, -1
	p.hnswClauses(v)
	if v.M0 < 0 {
		v.M0 = 2 * v.M
	}
	if v.LM.IsNone() {
		v.LM = value.Float(1 / math.Log(float64(v.M)))
	}
	return v
}

// mostLinks is the largest M: the default of M0 is twice that.
const mostLinks = 127

func (p *parser) hnswClauses(v *ast.VectorIndex) {
	for p.err == nil {
		switch p.tok.kind {
		case kwDistance:
			p.advance()
			v.Distance, v.Order = p.distance()
		case kwType:
			p.advance()
			v.Type = p.vectorType()
		case kwLm:
			p.advance()
			v.LM = p.number()
		case kwM0:
			p.advance()
			v.M0 = p.unsigned(255)
		case kwM:
			p.advance()
			t := p.tok
			if v.M = p.unsigned(255); v.M > mostLinks {
				// the spelling is upstream's
				p.fail("Invalid value for HNSW parameter `M`", t, "`M` cannot be larger then 127")
			}
		case kwEfc:
			p.advance()
			v.EFC = p.unsigned(1<<16 - 1)
		case kwExtendCandidates:
			p.advance()
			v.Extend = true
		case kwKeepPrunedConnections:
			p.advance()
			v.KeepPruned = true
		case kwHashedVector:
			p.advance()
			v.Hashed = true
		default:
			return
		}
	}
}

func (p *parser) dimension() *ast.VectorIndex {
	p.expect(kwDimension)
	return &ast.VectorIndex{Dimension: p.unsigned(1<<16 - 1)}
}

// vectorType is the type of a vector's elements.
func (p *parser) vectorType() string {
	word := ""
	if p.tok.isIdent() {
		word = strings.ToUpper(p.text(p.tok))
	}
	switch word {
	case "F64", "F32", "F16", "I64", "I32", "I16", "I8", "U8":
		p.advance()
		return word
	}
	p.unexpected("a vector type")
	return ""
}

// diskANN is DISKANN DIMENSION d and what tunes it.
func (p *parser) diskANN() *ast.VectorIndex {
	v := p.dimension()
	for p.err == nil {
		switch {
		case p.tok.kind == kwDistance:
			p.advance()
			v.Distance, v.Order = p.distance()
		case p.tok.kind == kwType:
			p.advance()
			v.Type = p.vectorType()
		case p.isWord("DEGREE"):
			p.advance()
			v.Degree = p.unsigned(1<<16 - 1)
		case p.isWord("L_BUILD"):
			p.advance()
			v.LBuild = p.unsigned(1<<16 - 1)
		case p.isWord("ALPHA"):
			p.advance()
			v.Alpha = p.number()
		case p.tok.kind == kwHashedVector:
			p.advance()
			v.Hashed = true
		default:
			return v
		}
	}
	return v
}

func (p *parser) defineAnalyzer() ast.Statement {
	s := &ast.DefineAnalyzer{Mode: p.mode(), Name: p.name()}
	for p.err == nil && p.analyzerClause(s) {
	}
	return s
}

// analyzerClause parses one clause of DEFINE ANALYZER; false where there is none.
func (p *parser) analyzerClause(s *ast.DefineAnalyzer) bool {
	switch p.tok.kind {
	case kwFilters:
		p.advance()
		s.Filters = []ast.AnalyzerFilter{p.filter()}
		for p.err == nil && p.eat(tComma) {
			s.Filters = append(s.Filters, p.filter())
		}
	case kwTokenizers:
		p.advance()
		s.Tokenizers = []string{p.tokenizer()}
		for p.err == nil && p.eat(tComma) {
			s.Tokenizers = append(s.Tokenizers, p.tokenizer())
		}
	case kwFunction:
		p.advance()
		s.Function = p.functionName()
	case kwComment:
		p.advance()
		s.Comment = p.expr()
	default:
		return false
	}
	return true
}

func (p *parser) tokenizer() string {
	switch p.tok.kind {
	case kwBlank, kwCamel, kwClass, kwPunct:
		return p.advance().kind.String()
	}
	p.unexpected("a tokenizer")
	return ""
}

func (p *parser) filter() ast.AnalyzerFilter {
	k := p.tok.kind
	f := ast.AnalyzerFilter{Name: k.String()}
	switch k {
	case kwAscii, kwLowercase, kwUppercase:
		p.advance()
	case kwEdgengram, kwNgram:
		p.advance()
		open := p.expect(tLParen)
		f.Min = p.unsigned(1<<16 - 1)
		p.expect(tComma)
		f.Max = p.unsigned(1<<16 - 1)
		p.closes(tRParen, open)
	case kwSnowball:
		p.advance()
		open := p.expect(tLParen)
		f.Language = p.language()
		p.closes(tRParen, open)
	case kwMapper:
		p.advance()
		open := p.expect(tLParen)
		f.Path = p.strand()
		p.closes(tRParen, open)
	default:
		p.unexpected("a filter")
	}
	return f
}

// strand is a literal string.
func (p *parser) strand() string {
	if p.tok.kind != tString {
		p.unexpected("a strand")
		return ""
	}
	return p.stringText(p.advance())
}

func (p *parser) language() string {
	switch p.tok.kind {
	case kwArabic, kwDanish, kwDutch, kwEnglish, kwFrench, kwGerman, kwGreek, kwHungarian, kwItalian, kwNorwegian,
		kwPortuguese, kwRomanian, kwRussian, kwSpanish, kwSwedish, kwTamil, kwTurkish:
		return p.advance().kind.String()
	case kwNo:
		p.advance()
		return kwNorwegian.String()
	}
	p.unexpected("a language")
	return ""
}
