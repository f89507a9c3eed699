package source

import "unicode/utf8"

const hex = "0123456789abcdef"

// appendEscaped appends the inside of a JSON string: what must be escaped is,
// and what is not UTF-8, like NUL, becomes U+FFFD. valid is false if a byte
// was not UTF-8.
func appendEscaped(out, raw []byte) (_ []byte, valid bool) {
	valid = true
	from := 0
	for i := 0; i < len(raw); {
		c := raw[i]
		if c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(raw[i:])
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		out = append(out, raw[from:i]...)
		i++
		from = i
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, '\\', 'n')
		case c == '\r':
			out = append(out, '\\', 'r')
		case c == '\t':
			out = append(out, '\\', 't')
		case c >= utf8.RuneSelf:
			valid = false
			out = append(out, "\uFFFD"...)
		case c == 0:
			out = append(out, "\uFFFD"...)
		default:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(out, raw[from:]...), valid
}

// head is the start of what is over its limit, without half a character.
func head(raw []byte, limit int) []byte {
	n := min(excerpt, limit)
	if len(raw) <= n {
		return raw
	}
	for n > 0 && !utf8.RuneStart(raw[n]) {
		n--
	}
	return raw[:n]
}
