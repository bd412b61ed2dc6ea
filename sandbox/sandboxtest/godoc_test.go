package sandboxtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// A reader of godoc sees no field of a type that lives in an internal package.
func TestTheCommentOfAnAliasNamesEverythingThatItsTypeHas(t *testing.T) {
	t.Parallel()
	comments := map[string]string{}
	for _, file := range []string{"run.go", "acas.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				continue
			}
			for _, spec := range decl.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok && s.Assign.IsValid() {
					comments[s.Name.Name] = decl.Doc.Text()
				}
			}
		}
	}
	types := map[string]reflect.Type{
		"Subject": reflect.TypeFor[sandboxtest.Subject](), "Guest": reflect.TypeFor[sandboxtest.Guest](),
		"Programs": reflect.TypeFor[sandboxtest.Programs](), "Bounds": reflect.TypeFor[sandboxtest.Bounds](),
		"Result": reflect.TypeFor[sandboxtest.Result](), "Outcome": reflect.TypeFor[sandboxtest.Outcome](),
		"Egress": reflect.TypeFor[sandboxtest.Egress](), "Observed": reflect.TypeFor[*sandboxtest.Observed](),
		"ACASFiles": reflect.TypeFor[*sandboxtest.ACASFiles](),
	}
	for name := range comments {
		if types[name] == nil {
			t.Errorf("the alias %s is not held to its type here", name)
		}
	}
	for name, typ := range types {
		for _, member := range members(typ) {
			if !regexp.MustCompile(`\b` + member + `\b`).MatchString(comments[name]) {
				t.Errorf("the comment of %s does not name %s", name, member)
			}
		}
	}
}

// members are the exported fields and methods of a type.
func members(typ reflect.Type) []string {
	var names []string
	for m := range typ.Methods() {
		names = append(names, m.Name)
	}
	if typ.Kind() == reflect.Struct {
		for f := range typ.Fields() {
			if f.IsExported() {
				names = append(names, f.Name)
			}
		}
	}
	return names
}
