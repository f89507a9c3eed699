package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/spillway/spillway"
)

// Load reads a file.
func Load(path string) (Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Config{}, spillway.Errorf(spillway.CodeInvalid, "the configuration cannot be read: %w", err)
	}
	return Parse(data, path)
}

// maxFile bounds a file; a configuration of a thousand tenants has 100 KB.
const maxFile = 4 << 20

// Parse reads a configuration; name is what errors call it. The error is
// CodeInvalid and begins with name and line.
func Parse(data []byte, name string) (Config, error) {
	c, line, err := parse(data)
	if err == nil {
		return c, nil
	}
	where := name
	if line > 0 {
		where = fmt.Sprintf("%s:%d", name, line)
	}
	return Config{}, spillway.Errorf(spillway.CodeInvalid, "%s: %w", where, err)
}

func parse(data []byte) (c Config, line int, err error) {
	if len(data) > maxFile {
		return c, 0, fmt.Errorf("the file has more than %d bytes: is it a configuration?", maxFile)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		line, err = explain(err)
		return c, line, err
	}
	if len(file.Docs) > 1 {
		return c, file.Docs[1].GetToken().Position.Line, errors.New("a second document begins here: write one document")
	}
	if err := yaml.UnmarshalWithOptions(data, &c, yaml.Strict()); err != nil {
		line, err = explain(err)
		return c, line, err
	}
	if bad := c.validate(); bad != nil {
		return c, lineOf(file, bad.path), bad
	}
	c.withDefaults()
	return c, 0, nil
}

// explain turns an error of the YAML library into a line and words for who
// wrote the file.
func explain(err error) (line int, said error) {
	var at *positioned
	if errors.As(err, &at) {
		return at.line, at.err
	}
	var y yaml.Error
	if !errors.As(err, &y) {
		return 0, err
	}
	if t := y.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	msg := y.GetMessage()
	if what, ok := strings.CutPrefix(msg, "unknown field "); ok {
		return line, fmt.Errorf("unknown key %s: check its spelling and its place, or remove it", what)
	}
	var mismatch *yaml.TypeError
	if errors.As(err, &mismatch) {
		msg = fmt.Sprintf("a value of type %s is expected here, not %s", mismatch.DstType, mismatch.SrcType)
	}
	return line, errors.New(msg)
}

// UnmarshalYAML keeps the order of the file.
func (r *Resources) UnmarshalYAML(decode func(any) error) error {
	var byName map[string]Resource
	if err := decode(&byName); err != nil {
		return err
	}
	var order yaml.MapSlice
	if err := decode(&order); err != nil {
		return err
	}
	*r = make(Resources, 0, len(order))
	for _, item := range order {
		name := fmt.Sprint(item.Key)
		rule, ok := byName[name]
		if !ok {
			return fmt.Errorf("resources: the name %q must be written as a string, in quotes", name)
		}
		rule.Name = name
		*r = append(*r, rule)
	}
	return nil
}

// lineOf is the line of the longest part of a path of keys that the file has.
func lineOf(file *ast.File, path []string) int {
	if len(file.Docs) == 0 {
		return 0
	}
	node, line := file.Docs[0].Body, 0
	for _, key := range path {
		entry := find(node, key)
		if entry == nil {
			break
		}
		line, node = entry.Key.GetToken().Position.Line, entry.Value
	}
	return line
}

func find(n ast.Node, key string) *ast.MappingValueNode {
	switch x := n.(type) {
	case *ast.MappingValueNode:
		if x.Key.GetToken().Value == key {
			return x
		}
	case *ast.MappingNode:
		for _, v := range x.Values {
			if v.Key.GetToken().Value == key {
				return v
			}
		}
	}
	return nil
}
