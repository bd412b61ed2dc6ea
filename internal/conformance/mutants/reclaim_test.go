package mutants_test

import (
	"context"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

type reclaimed struct {
	ops
	reclaim func(o ops, dir string) error
}

func (o reclaimed) Reclaim(_ context.Context, dir string) error { return o.reclaim(o.ops, o.at(dir)) }

// reclaimMutants clean up after calls wrongly.
func reclaimMutants() []mutant {
	reclaiming := func(name, by string, reclaim func(o ops, dir string) error) mutant {
		return broken(name, by, func(o ops) sandbox.SessionOps { return reclaimed{o, reclaim} })
	}
	return []mutant{
		reclaiming("reclaim goes through links", "RECLAIM/a-linked-parent-is-refused", func(o ops, dir string) error {
			return o.view.Remove(dir)
		}),
		reclaiming("reclaim wants something to be there", "RECLAIM/a-missing-directory-is-success", func(o ops, dir string) error {
			if !o.view.Exists(dir) {
				return engine.ErrNotExist
			}
			return o.view.Remove(dir)
		}),
		reclaiming("reclaim does nothing", "RECLAIM/a-created-directory-is-gone", func(ops, string) error {
			return nil
		}),
		reclaiming("reclaim follows the links inside", "RECLAIM/a-link-inside-is-unlinked-not-followed", func(o ops, dir string) error {
			_ = o.view.Remove(dir + "/out/secret.txt")
			return o.view.Remove(dir)
		}),
	}
}
