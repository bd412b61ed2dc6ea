//go:build !unix

package output_test

import "errors"

func capFileSize(most uint64) error {
	if most == 0 {
		return nil
	}
	return errors.ErrUnsupported
}
