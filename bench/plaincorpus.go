package main

// plainCorpus is the corpus in the plain forms.
type plainCorpus struct {
	Policies []plainPolicy  `json:"policies"`
	Backends []plainBackend `json:"backends"`
	Cases    []plainCase    `json:"cases"`
}

type plainCase struct {
	Policy   int           `json:"policy"`
	Backend  int           `json:"backend"`
	Workload plainWorkload `json:"workload"`
}

func toPlainCorpus(c *corpus, ours *compiled) (*plainCorpus, error) {
	out := &plainCorpus{}
	for i := range c.policies {
		p, err := toPlainPolicy(&c.policies[i])
		if err != nil {
			return nil, err
		}
		out.Policies = append(out.Policies, p)
	}
	for i := range c.backends {
		out.Backends = append(out.Backends, toPlainBackend(&c.backends[i]))
	}
	for i := range c.cases {
		w, err := toPlainWorkload(&c.cases[i].spec, ours.specs[i].Required())
		if err != nil {
			return nil, err
		}
		out.Cases = append(out.Cases, plainCase{Policy: c.cases[i].policy, Backend: c.cases[i].backend, Workload: w})
	}
	return out, nil
}
