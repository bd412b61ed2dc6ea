package main

import "fmt"

// silence turns off the logging of the plugin's libraries where nobody can see
// it. They log every attribute of every object at trace level unless told
// otherwise, and Terraform parses each line and drops it while neither TF_LOG nor
// TF_LOG_PROVIDER is set: that was two fifths of the CPU time of a plan of 400
// objects. A level that somebody chose for one of the loggers stays.
func silence(getenv func(string) string, setenv func(key, value string) error) error {
	for _, shown := range []string{"TF_LOG", "TF_LOG_PROVIDER"} {
		if getenv(shown) != "" {
			return nil
		}
	}
	for _, logger := range []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_PROVIDER_SANDBOX"} {
		if getenv(logger) != "" {
			continue
		}
		if err := setenv(logger, "off"); err != nil {
			return fmt.Errorf("turn off %s: %w", logger, err)
		}
	}
	return nil
}
