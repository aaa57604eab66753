package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nacredb/nacre/memsvc/document"
	"github.com/nacredb/nacre/memsvc/model"
	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
	"github.com/nacredb/nacre/memsvc/text"
)

// Images and recordings: a provider makes text of them, or a vector in the space of images.

// hears reports whether the profile of a document reads images and recordings.
func hears(t *settings.Tenant, d *store.Document) bool {
	p := profile(t, d)
	return p == "StandardMultimodal" || p == "MultimodalFull"
}

// recognise makes text of an image or a recording by the provider of its kind. Other kinds, profiles that leave them
// out and providers that are not there are an error that says so: a document is never ready and empty.
func (s *Service) recognise(ctx context.Context, t *settings.Tenant, d *store.Document, b []byte, kind string,
	stage func(string)) (doc *document.Doc, err error) {
	if !hears(t, d) {
		return nil, Permanent{fmt.Errorf("the profile %s does not read documents of type %s", profile(t, d), kind)}
	}
	server := s.Schema.Server
	switch {
	case kind == "image" && (s.reads() || server.CLIP.URL != ""):
		doc, err = s.see(ctx, t, d, b, stage)
	case kind == "audio" && server.STT.URL != "":
		stage(DocTranscribing)
		var heard *model.Transcript
		if heard, err = s.Models.Client.Transcribe(ctx, model.Endpoint(server.STT), d.MimeType, b); err == nil {
			doc = &document.Doc{}
			doc.Text, doc.Spans = spoken(heard, t.Redaction)
		}
	default:
		return nil, Permanent{fmt.Errorf("no provider reads documents of type %s here", kind)}
	}
	if err != nil {
		return nil, lasting(err)
	}
	if doc.Text = strings.ToValidUTF8(doc.Text, "\uFFFD"); strings.TrimSpace(doc.Text) == "" {
		return nil, Permanent{fmt.Errorf("the provider found no words in this %s", kind)}
	}
	return doc, nil
}

// lasting makes an error of a provider permanent, where a repetition does not mend it.
func lasting(err error) error {
	var failed *model.Error
	if errors.As(err, &failed) && !failed.Temporary {
		return Permanent{err}
	}
	return err
}

// reads reports whether text in images can be read here: by a provider, which goes first, or on this machine.
func (s *Service) reads() bool { return s.Schema.Server.OCR.URL != "" || s.Schema.Server.OCRLocal }

// readImage is the text that an image shows.
func (s *Service) readImage(ctx context.Context, mime string, image []byte) (string, error) {
	if server := s.Schema.Server; server.OCR.URL != "" {
		return s.Models.Client.ReadImage(ctx, model.Endpoint(server.OCR), mime, image)
	}
	return model.ReadImageLocal(ctx, image)
}

// see reads the words in an image and, with the profile MultimodalFull, embeds what it shows. An image without words
// that is embedded has its title as text.
func (s *Service) see(ctx context.Context, t *settings.Tenant, d *store.Document, b []byte,
	stage func(string)) (*document.Doc, error) {
	stage(DocCaptioning)
	doc, server := &document.Doc{}, s.Schema.Server
	if s.reads() {
		var err error
		if doc.Text, err = s.readImage(ctx, d.MimeType, b); err != nil {
			return nil, err
		}
	}
	if server.CLIP.URL == "" || profile(t, d) != "MultimodalFull" {
		return doc, nil
	}
	vs, err := s.Models.Client.EmbedVisual(ctx, model.Endpoint(server.CLIP),
		model.Visual{Image: model.ImageOf(d.MimeType, b)})
	if err != nil {
		return nil, err
	}
	doc.Visual = vs[0]
	if strings.TrimSpace(doc.Text) == "" {
		doc.Text = "Image " + d.Title
		doc.Notes = append(doc.Notes, "no_words")
	}
	return doc, nil
}

// errFull ends the reading of a document whose text is as long as one may be.
var errFull = errors.New("the text is as long as it may be")

// readScan makes text of a document that holds images of its pages only.
func (s *Service) readScan(ctx context.Context, t *settings.Tenant, d *store.Document, b []byte,
	stage func(string)) (*document.Doc, error) {
	if d.MimeType != "application/pdf" || !s.reads() || !hears(t, d) {
		return nil, Permanent{errors.New("the document holds no text, and no provider recognises text in images here")}
	}
	stage(DocCaptioning)
	var out strings.Builder
	more, err := model.PDFImages(ctx, b, func(page []byte) error {
		words, err := s.readImage(ctx, "image/png", page)
		if err == nil && out.Len()+len(words) > document.MaxText {
			err = errFull
		}
		if err == nil {
			out.WriteString(strings.ToValidUTF8(words, "\uFFFD") + "\n\n")
		}
		return err
	})
	if errors.Is(err, errFull) {
		more, err = true, nil
	}
	if err != nil {
		return nil, lasting(err)
	}
	doc := &document.Doc{Text: out.String()}
	if strings.TrimSpace(doc.Text) == "" {
		return nil, Permanent{errors.New("no words were found in the pages of the document")}
	}
	if more {
		doc.Notes = append(doc.Notes, "pages_cut")
	}
	return doc, nil
}

// spoken is the text of a recording, a paragraph for each of its parts, and when each is spoken. Personal data is
// taken out of each part, since what is taken out of the whole would move the others. Parts that lie about their
// times have none.
func spoken(heard *model.Transcript, redact bool) (string, []document.Span) {
	var b strings.Builder
	var spans []document.Span
	for _, s := range heard.Segments {
		words := strings.TrimSpace(strings.ToValidUTF8(s.Text, "\uFFFD"))
		if words == "" {
			continue
		}
		if redact {
			words, _ = text.Redact(words)
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		start := b.Len()
		b.WriteString(words)
		if s.Start >= 0 && s.End >= s.Start && s.End < maxSeconds {
			spans = append(spans, document.Span{Start: start, End: b.Len(), From: int64(s.Start * 1000),
				Before: int64(s.End * 1000)})
		}
	}
	if b.Len() == 0 {
		return heard.Text, nil
	}
	return b.String(), spans
}

// maxSeconds is longer than any recording.
const maxSeconds = 1e7
