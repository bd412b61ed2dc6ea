package main

import (
	"maps"
	"testing"
)

func TestLoggersAreSilentOnlyWhereTerraformShowsNothing(t *testing.T) {
	t.Parallel()
	off := map[string]string{
		"TF_LOG_SDK": "off", "TF_LOG_SDK_PROTO": "off", "TF_LOG_SDK_FRAMEWORK": "off", "TF_LOG_PROVIDER_SANDBOX": "off",
	}
	with := func(changes map[string]string) map[string]string {
		all := maps.Clone(off)
		maps.Copy(all, changes)
		return all
	}
	for name, test := range map[string]struct{ env, want map[string]string }{
		"nothing set":                     {map[string]string{}, off},
		"all logs shown":                  {map[string]string{"TF_LOG": "warn"}, map[string]string{"TF_LOG": "warn"}},
		"logs of providers shown":         {map[string]string{"TF_LOG_PROVIDER": "trace"}, map[string]string{"TF_LOG_PROVIDER": "trace"}},
		"only Terraform's own logs shown": {map[string]string{"TF_LOG_CORE": "trace"}, with(map[string]string{"TF_LOG_CORE": "trace"})},
		"a level chosen for one logger":   {map[string]string{"TF_LOG_SDK": "info"}, with(map[string]string{"TF_LOG_SDK": "info"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := maps.Clone(test.env)
			err := silence(func(key string) string { return env[key] }, func(key, value string) error {
				env[key] = value
				return nil
			})
			if err != nil || !maps.Equal(env, test.want) {
				t.Errorf("%v %v, want %v", env, err, test.want)
			}
		})
	}
}
