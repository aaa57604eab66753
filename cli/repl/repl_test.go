package repl

import "testing"

func TestSecretsStayOutOfTheHistory(t *testing.T) {
	for text, want := range map[string]bool{
		"DEFINE USER u ON ROOT PASSWORD 'x'":                           true,
		"DEFINE ACCESS a ON DATABASE TYPE JWT ALGORITHM HS512 KEY 'k'": true,
		"SELECT * FROM person":                                         false,
		"CREATE keyboard SET tokens = 1":                               false,
		"let $pass = 'x'":                                              true,
	} {
		if got := secret(text); got != want {
			t.Errorf("secret(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestIsCommand(t *testing.T) {
	for line, want := range map[string]bool{`\q`: true, ` \dt`: true, "exit;": true, "quit": true, "RETURN 1": false,
		"exits": false} {
		if got := isCommand(line); got != want {
			t.Errorf("isCommand(%q) = %v, want %v", line, got, want)
		}
	}
}
