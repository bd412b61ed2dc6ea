package provider

import "testing"

func TestADisksSizeIsAPositiveNumberWithItsUnit(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"8Gi", "1024Mi", "1Ti", "0.5Gi"} {
		if !isDiskSize(text) {
			t.Errorf("%q is refused", text)
		}
	}
	for _, text := range []string{"", "banana", "8", "8GB", "8Ki", "8gi", "0Gi", "-8Gi", "+8Gi", "NaNGi", "InfGi", "1e3Gi", "0x8Gi", "8 Gi", "8GiGi", "8_0Gi", "Gi", ".Gi"} {
		if isDiskSize(text) {
			t.Errorf("%q passes", text)
		}
	}
}
