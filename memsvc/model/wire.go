package model

import (
	"encoding/json"
	"net/http"
	"net/url"
)

// wire is one way to ask: what is sent, and how an answer or one event of a stream is read.
type wire struct {
	// forms are the ways to ask for JSON, the strictest first; one form for plain text.
	forms   func(Request) []string
	request func(t Target, r Request, form string, stream bool) (url string, header http.Header, body map[string]any)
	// piece reads an answer or an event: its text, and whether the answer is whole with it.
	piece func(b []byte, out *Answer, stream bool) (text string, end bool, err error)
}

var wires = map[string]wire{
	ChatCompletions: {forms: openAIForms, request: openAIRequest, piece: openAIPiece},
	Messages:        {forms: oneForm, request: anthropicRequest, piece: anthropicPiece},
	GenerateContent: {forms: oneForm, request: googleRequest, piece: googlePiece},
}

const (
	formText   = ""
	formSchema = "json_schema"
	formObject = "json_object"
)

func oneForm(r Request) []string {
	if r.Schema != nil {
		return []string{formSchema}
	}
	return []string{formText}
}

func openAIForms(r Request) []string {
	if r.Schema != nil {
		return []string{formSchema, formObject, formText}
	}
	return []string{formText}
}

var errGarbled = &Error{Temporary: true, why: "sent an answer that cannot be read"}

// toolName is the tool that carries JSON where a wire has no other way.
const toolName = "answer"

func limit(r Request) int {
	if r.MaxTokens > 0 {
		return r.MaxTokens
	}
	return 2048
}

func openAIRequest(t Target, r Request, form string, stream bool) (string, http.Header, map[string]any) {
	var messages []Message
	if r.System != "" {
		messages = append(messages, Message{"system", r.System})
	}
	messages = append(messages, r.Messages...)
	body := map[string]any{"model": t.Model, "messages": messages, "max_tokens": limit(r), "temperature": 0}
	switch form {
	case formSchema:
		body["response_format"] = map[string]any{"type": formSchema,
			"json_schema": map[string]any{"name": toolName, "schema": r.Schema}}
	case formObject:
		body["response_format"] = map[string]any{"type": formObject}
	}
	if stream {
		body["stream"] = true
		body["stream_options"] = map[string]any{"include_usage": true}
	}
	h := http.Header{}
	if t.Key != "" {
		h.Set("Authorization", "Bearer "+t.Key)
	}
	return t.BaseURL + "/chat/completions", h, body
}

func openAIPiece(b []byte, out *Answer, stream bool) (string, bool, error) {
	var v struct {
		Choices []struct {
			Message, Delta struct {
				Content string `json:"content"`
			}
			Finish *string `json:"finish_reason"`
		} `json:"choices"`
		Usage *struct {
			In  int `json:"prompt_tokens"`
			Out int `json:"completion_tokens"`
		} `json:"usage"`
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(b, &v) != nil || len(v.Error) > 0 && string(v.Error) != "null" {
		return "", false, errGarbled
	}
	if v.Usage != nil {
		out.Usage = Usage{max(v.Usage.In, 0), max(v.Usage.Out, 0)}
	}
	if len(v.Choices) == 0 {
		if stream {
			return "", false, nil
		}
		return "", false, errGarbled
	}
	if stream {
		return v.Choices[0].Delta.Content, v.Choices[0].Finish != nil, nil
	}
	return v.Choices[0].Message.Content, true, nil
}

func anthropicRequest(t Target, r Request, form string, stream bool) (string, http.Header, map[string]any) {
	body := map[string]any{"model": t.Model, "messages": r.Messages, "max_tokens": limit(r), "temperature": 0}
	if r.System != "" {
		body["system"] = r.System
	}
	if form == formSchema {
		body["tools"] = []any{map[string]any{"name": toolName, "description": "Give the answer",
			"input_schema": r.Schema}}
		body["tool_choice"] = map[string]any{"type": "tool", "name": toolName}
	}
	if stream {
		body["stream"] = true
	}
	h := http.Header{}
	h.Set("anthropic-version", "2023-06-01")
	if t.Key != "" {
		h.Set("x-api-key", t.Key)
	}
	return t.BaseURL + "/v1/messages", h, body
}

func anthropicPiece(b []byte, out *Answer, stream bool) (string, bool, error) {
	type usage struct {
		In  int `json:"input_tokens"`
		Out int `json:"output_tokens"`
	}
	var v struct {
		Type    string `json:"type"`
		Content []struct {
			Type, Text string
			Input      json.RawMessage
		} `json:"content"`
		Delta struct {
			Text string `json:"text"`
			JSON string `json:"partial_json"`
		} `json:"delta"`
		Message struct {
			Usage usage `json:"usage"`
		} `json:"message"`
		Usage *usage `json:"usage"`
	}
	if json.Unmarshal(b, &v) != nil || v.Type == "error" {
		return "", false, errGarbled
	}
	out.Usage.Input = max(out.Usage.Input, v.Message.Usage.In)
	if v.Usage != nil {
		out.Usage = Usage{max(out.Usage.Input, v.Usage.In), max(out.Usage.Output, v.Usage.Out)}
	}
	if stream {
		return v.Delta.Text + v.Delta.JSON, v.Type == "message_stop", nil
	}
	if len(v.Content) == 0 {
		return "", false, errGarbled
	}
	text := ""
	for _, c := range v.Content {
		switch c.Type {
		case "text":
			text += c.Text
		case "tool_use":
			return string(c.Input), true, nil
		}
	}
	return text, true, nil
}

func googleRequest(t Target, r Request, form string, stream bool) (string, http.Header, map[string]any) {
	type part struct {
		Text string `json:"text"`
	}
	type content struct {
		Role  string `json:"role,omitempty"`
		Parts []part `json:"parts"`
	}
	var contents []content
	for _, m := range r.Messages {
		role := "user"
		if m.Role == "assistant" {
			role = "model"
		}
		contents = append(contents, content{role, []part{{m.Content}}})
	}
	conf := map[string]any{"temperature": 0, "maxOutputTokens": limit(r)}
	if form == formSchema {
		conf["responseMimeType"] = "application/json"
	}
	body := map[string]any{"contents": contents, "generationConfig": conf}
	if r.System != "" {
		body["systemInstruction"] = content{Parts: []part{{r.System}}}
	}
	h := http.Header{}
	if t.Key != "" {
		h.Set("x-goog-api-key", t.Key)
	}
	method := ":generateContent"
	if stream {
		method = ":streamGenerateContent?alt=sse"
	}
	return t.BaseURL + "/v1beta/models/" + url.PathEscape(t.Model) + method, h, body
}

func googlePiece(b []byte, out *Answer, stream bool) (string, bool, error) {
	var v struct {
		Candidates []struct {
			Content struct {
				Parts []struct {
					Text string `json:"text"`
				} `json:"parts"`
			} `json:"content"`
			Finish string `json:"finishReason"`
		} `json:"candidates"`
		Usage *struct {
			In  int `json:"promptTokenCount"`
			Out int `json:"candidatesTokenCount"`
		} `json:"usageMetadata"`
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(b, &v) != nil || len(v.Error) > 0 || len(v.Candidates) == 0 && !stream {
		return "", false, errGarbled
	}
	if v.Usage != nil {
		out.Usage = Usage{max(v.Usage.In, 0), max(v.Usage.Out, 0)}
	}
	text, end := "", false
	for _, c := range v.Candidates[:min(1, len(v.Candidates))] {
		for _, p := range c.Content.Parts {
			text += p.Text
		}
		end = c.Finish != ""
	}
	return text, end, nil
}
