package config

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// A configuration file is TOML: one line for each setting, under the name of its flag (or of its variable without the
// prefix, in lower case), - and _ alike:
//
//	bind = "0.0.0.0:8000"
//	query-timeout = "30s"
//	http_max_sql_body_size = "2MiB"
//	deny-net = ["10.0.0.0/8", "192.168.0.0/16"]

// maxFile is the largest configuration file that is read.
const maxFile = 1 << 20

// ReadFile reads a configuration file into the names and texts that Sources takes.
func ReadFile(path string, read func(string) ([]byte, error)) (map[string]string, error) {
	if read == nil {
		read = os.ReadFile
	}
	b, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration file: %w", err)
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("%s is too large for a configuration file", path)
	}
	var raw map[string]any
	if _, err := toml.Decode(string(b), &raw); err != nil {
		if at, ok := errors.AsType[toml.ParseError](err); ok {
			return nil, fmt.Errorf("%s, line %d: %s", path, at.Position.Line, at.Message)
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	file := make(map[string]string, len(raw))
	for name, v := range raw {
		text, err := settingText(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %s %w", path, name, err)
		}
		plain := strings.ReplaceAll(strings.ToLower(name), "_", "-")
		if _, twice := file[plain]; twice {
			return nil, fmt.Errorf("%s: %s is set twice", path, plain)
		}
		file[plain] = text
	}
	return file, nil
}

// settingText is a value of a file as a flag would give it.
func settingText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case []any:
		if len(v) == 0 {
			return "none", nil
		}
		texts := make([]string, len(v))
		for i, e := range v {
			text, ok := e.(string)
			if !ok || strings.Contains(text, ",") {
				return "", errors.New("must be a list of texts without commas")
			}
			texts[i] = text
		}
		return strings.Join(texts, ","), nil
	case time.Time:
		return "", errors.New("must not be a time")
	case map[string]any:
		return "", errors.New("is a section: settings have none")
	}
	return "", errors.New("must be a text, a number, true, false or a list of texts")
}

// Load is Resolve with the configuration file that --config or its variable names.
func Load(table []*Setting, flagged func(flag string) bool, src Sources) (warnings []string, err error) {
	at := find(table, "config")
	if at == nil {
		return nil, errors.New("the table has no setting for the configuration file")
	}
	if _, err := Resolve([]*Setting{at}, flagged, Sources{Environ: src.Environ, ReadFile: src.ReadFile}); err != nil {
		return nil, err
	}
	if path := at.Value.String(); path != "" {
		if src.File, err = ReadFile(path, src.ReadFile); err != nil {
			return nil, err
		}
		if _, inside := src.File["config"]; inside {
			return nil, fmt.Errorf("%s: a configuration file cannot name another", path)
		}
	}
	return Resolve(table, flagged, src)
}
