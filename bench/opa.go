package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

//go:embed sandbox.rego
var sandboxRego string

//go:embed match.rego
var matchRego string

// opaQuery is one prepared query with its inputs, both parsed beforehand. Data is
// held as OPA's own values, which spares it a conversion at each read.
type opaQuery struct {
	query  rego.PreparedEvalQuery
	inputs []ast.Value
}

func prepareOPA(ctx context.Context, query, module string, data any, inputs []any) (*opaQuery, error) {
	plain, err := viaJSON[map[string]any](data)
	if err != nil {
		return nil, err
	}
	store := inmem.NewFromObjectWithOpts(plain, inmem.OptReturnASTValuesOnRead(true))
	prepared, err := rego.New(rego.Query(query), rego.Module("bench.rego", module), rego.Store(store)).PrepareForEval(ctx)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", query, err)
	}
	q := &opaQuery{query: prepared}
	for _, in := range inputs {
		plain, err := viaJSON[any](in)
		if err != nil {
			return nil, err
		}
		value, err := ast.InterfaceToValue(plain)
		if err != nil {
			return nil, fmt.Errorf("convert an input: %w", err)
		}
		q.inputs = append(q.inputs, value)
	}
	return q, nil
}

// eval gives the value of the query, nil where it is undefined.
func (q *opaQuery) eval(ctx context.Context, i int) (any, error) {
	results, err := q.query.Eval(ctx, rego.EvalParsedInput(q.inputs[i]))
	if err != nil {
		return nil, fmt.Errorf("evaluate input %d: %w", i, err)
	}
	if len(results) == 0 {
		return nil, nil
	}
	return results[0].Expressions[0].Value, nil
}

func (q *opaQuery) codes(ctx context.Context, i int) (map[sandbox.Code]bool, error) {
	value, err := q.eval(ctx, i)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("case %d: deny is %T, not a set", i, value)
	}
	codes := map[sandbox.Code]bool{}
	for _, code := range list {
		codes[sandbox.Code(fmt.Sprint(code))] = true
	}
	return codes, nil
}

type opaInput struct {
	Policy   string        `json:"policy"`
	Backend  string        `json:"backend"`
	Workload plainWorkload `json:"workload"`
}

func newOPA(ctx context.Context, p *plainCorpus) (*opaQuery, error) {
	data := map[string]any{"policies": keyed(p.Policies), "backends": keyed(p.Backends)}
	inputs := make([]any, len(p.Cases))
	for i, c := range p.Cases {
		inputs[i] = opaInput{Policy: index(c.Policy), Backend: index(c.Backend), Workload: c.Workload}
	}
	return prepareOPA(ctx, "data.sandbox.deny", sandboxRego, data, inputs)
}

func index(i int) string { return fmt.Sprint(i) }

func keyed[T any](list []T) map[string]T {
	out := map[string]T{}
	for i, v := range list {
		out[index(i)] = v
	}
	return out
}

// viaJSON turns a value into what its JSON reads as, whole numbers kept whole.
func viaJSON[T any](v any) (out T, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return out, fmt.Errorf("write JSON: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&out); err != nil {
		return out, fmt.Errorf("read JSON: %w", err)
	}
	return out, nil
}
