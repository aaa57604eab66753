package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/prepare"
)

// Parse gives the script of a text, from the cache where it is there. It ends when ctx does.
func (ex *Executor) Parse(ctx context.Context, text string) (*prepare.Script, error) {
	if s, ok := ex.cache.Get(text); ok {
		return s, nil
	}
	q, err := ex.ParseQuery(text, ctx.Err)
	if err != nil {
		return nil, err
	}
	s := prepare.Of(q)
	if s.Weigh(text); len(text) <= ex.Limits.CacheText {
		ex.cache.Put(text, s, max(s.Weight, prepare.MostWeight(text))) // Weigh does not look into statements that write
	}
	return s, nil
}

// ParseAs is Parse for a text in another language, which parse reads. The script has its weight already.
func (ex *Executor) ParseAs(language, text string,
	parse func(text string) (*prepare.Script, error)) (*prepare.Script, error) {
	key := "\x00" + language + "\x00" + text
	if s, ok := ex.cache.Get(key); ok {
		return s, nil
	}
	s, err := parse(text)
	if err != nil {
		return nil, err
	}
	if len(text) <= ex.Limits.CacheText {
		ex.cache.Put(key, s, s.Weight)
	}
	return s, nil
}
