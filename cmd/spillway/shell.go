package main

import (
	"path/filepath"
	"regexp"
	"strings"
)

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellWord quotes a word for a POSIX shell where it must be.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// shellLine is the command line that starts these words.
func shellLine(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = shellWord(w)
	}
	if strings.Contains(argv[0], string(filepath.Separator)+"go-build") {
		words[0] = "go run ./cmd/spillway"
	}
	return strings.Join(words, " ")
}

// withFlag is the command line with a flag added behind its verb, if it has
// none of that name.
func withFlag(argv []string, verb, flag, value string) []string {
	for _, w := range argv {
		if w == flag || strings.HasPrefix(w, flag+"=") {
			return argv
		}
	}
	out := make([]string, 0, len(argv)+2)
	for i, w := range argv {
		out = append(out, w)
		if w == verb && i > 0 && value != "" {
			out = append(out, flag, value)
			value = ""
		}
	}
	return out
}
