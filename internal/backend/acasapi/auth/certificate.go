package auth

import (
	"encoding/base64"
	"errors"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

func (c Config) buildCertificate(options policy.ClientOptions) (azcore.TokenCredential, error) {
	file, err := c.certificateBytes()
	if err != nil {
		return nil, err
	}
	var password []byte
	if c.CertificatePassword.Set() {
		password = []byte(c.CertificatePassword.Reveal())
	}
	certificates, key, err := azidentity.ParseCertificates(file, password)
	if err != nil {
		return nil, errors.New("the certificate is neither PEM nor PKCS #12 that the password opens")
	}
	return azidentity.NewClientCertificateCredential(c.Tenant, c.ClientID, certificates, key, &azidentity.ClientCertificateCredentialOptions{
		ClientOptions: options, AdditionallyAllowedTenants: c.OtherTenants,
		DisableInstanceDiscovery: c.DisableInstanceDiscovery, SendCertificateChain: c.SendCertificateChain,
	})
}

func (c Config) certificateBytes() ([]byte, error) {
	if !c.Certificate.Set() {
		b, err := os.ReadFile(c.CertificateFile)
		if err != nil {
			return nil, unreadable("client certificate", err)
		}
		return b, nil
	}
	b, err := base64.StdEncoding.DecodeString(c.Certificate.Reveal())
	if err != nil {
		return nil, errors.New("the certificate is not base64")
	}
	return b, nil
}
