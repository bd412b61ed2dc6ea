package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// section is one piece of work and what it took each engine, ours first.
type section struct {
	work    string
	timings []timing
}

const oursName = "this engine"

// engines are the engines that were made to decide one corpus.
type engines struct {
	corpus *corpus
	plain  *plainCorpus
	ours   *compiled
	opa    *opaQuery
	sets   *cedarEngine // nil where Cedar is not asked
	rules  *cedarEngine
}

func newEngines(ctx context.Context, c *corpus) (*engines, error) {
	ours, err := compile(c)
	if err != nil {
		return nil, err
	}
	plain, err := toPlainCorpus(c, ours)
	if err != nil {
		return nil, err
	}
	opa, err := newOPA(ctx, plain)
	if err != nil {
		return nil, err
	}
	sets, err := newCedar(plain, true)
	if err != nil {
		return nil, err
	}
	rules, err := newCedar(plain, false)
	if err != nil {
		return nil, err
	}
	return &engines{corpus: c, plain: plain, ours: ours, opa: opa, sets: sets, rules: rules}, nil
}

// agree holds every engine to every code of every case.
func (e *engines) agree(ctx context.Context) error {
	for i := range e.corpus.cases {
		var want []sandbox.Code
		if kind := e.corpus.cases[i].refusal; kind != nil {
			want = kind.codes
		}
		got, err := e.ours.codes(i)
		if err != nil {
			return err
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("case %d: this engine says %v, the case was made for %v", i, got, want)
		}
		opa, err := e.opa.codes(ctx, i)
		if err != nil {
			return err
		}
		sets, err := e.sets.codes(i)
		if err != nil {
			return err
		}
		rules, err := e.rules.codes(i)
		if err != nil {
			return err
		}
		for name, codes := range map[string]map[sandbox.Code]bool{"OPA": opa, "Cedar with sets": sets, "Cedar by rule": rules} {
			if len(codes) != len(want) || slices.ContainsFunc(want, func(c sandbox.Code) bool { return !codes[c] }) {
				return fmt.Errorf("case %d: %s says %v, this engine %v", i, name, codes, want)
			}
		}
	}
	return nil
}

// lists are the cases that are allowed, those that are refused, and those that
// the reference can decide as well.
func (e *engines) lists() (allowed, refused, shared []int) {
	for i := range e.corpus.cases {
		kind := e.corpus.cases[i].refusal
		if kind == nil {
			allowed = append(allowed, i)
		} else {
			refused = append(refused, i)
		}
		if kind == nil || kind.reference {
			shared = append(shared, i)
		}
	}
	return allowed, refused, shared
}

// decisions checks that all engines agree, then times them. python is empty where
// the reference cannot run.
func decisions(ctx context.Context, python string) (sections []section, pythonVersion string, err error) {
	e, err := newEngines(ctx, newCorpus())
	if err != nil {
		return nil, "", err
	}
	if err := e.agree(ctx); err != nil {
		return nil, "", err
	}
	allowed, refused, shared := e.lists()
	var failed error
	contenders := []contender{
		{oursName, func(i int) { e.ours.decide(i) }},
		{"Cedar, hosts in one set", func(i int) { e.sets.decide(i) }},
		{"Cedar, a policy per rule", func(i int) { e.rules.decide(i) }},
		{"OPA", func(i int) {
			_, err := e.opa.eval(ctx, i)
			failed = errors.Join(failed, err)
		}},
	}
	sections = []section{
		{fmt.Sprintf("decide, %d allowed", len(allowed)), measure(allowed, contenders...)},
		{fmt.Sprintf("decide, %d refused", len(refused)), measure(refused, contenders...)},
	}
	if failed != nil || python == "" {
		return sections, "", failed
	}
	sharedSection := section{
		fmt.Sprintf("decide, the %d that the reference can express", len(shared)),
		measure(shared, contenders[0]),
	}
	reference, err := runReference(ctx, python, e.plain, map[string][]int{"allowed": allowed, "shared": shared})
	if err != nil {
		return nil, "", err
	}
	if err := reference.agree(e.corpus); err != nil {
		return nil, "", err
	}
	row := func(list string) timing {
		return timing{name: "the reference, no bound for egress", nanoseconds: reference.Nanoseconds[list], allocations: -1}
	}
	sections[0].timings = append(sections[0].timings, row("allowed"))
	sharedSection.timings = append(sharedSection.timings, row("shared"))
	return append(sections, sharedSection), reference.Python, nil
}
