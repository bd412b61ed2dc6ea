package azblobsink

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// Open makes a store of a container by its address. Without a credential the address
// carries a shared access signature. Options may be nil; their transport is used, and
// by default one that follows no redirect, with Go's usual one below it.
//
// Unlike a client that the host makes itself, this one keeps signatures and
// authorizations out of what the Azure library logs where the host has it log: the
// library redacts requests, and repeats errors of the transport and answers of the
// server as they are.
func Open(address string, credential azcore.TokenCredential, options *container.ClientOptions) (*Store, error) {
	own := container.ClientOptions{}
	if options != nil {
		own = *options
	}
	if own.Transport == nil {
		own.Transport = &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	own.Transport = discreet{own.Transport}
	var (
		client *container.Client
		err    error
	)
	if credential == nil {
		client, err = container.NewClientWithNoCredential(address, &own)
	} else {
		client, err = container.NewClient(address, credential, &own)
	}
	if err != nil {
		return nil, errors.New("opening a blob store: the address is no container's") // err may repeat it
	}
	return New(client)
}

// discreet takes secrets of a request out of what comes back for it.
type discreet struct{ next policy.Transporter }

// maxRefusal is how much of a refusal's body is kept.
const maxRefusal = 64 << 10

func (d discreet) Do(r *http.Request) (*http.Response, error) {
	response, err := d.next.Do(r)
	if addressed, is := errors.AsType[*url.Error](err); is {
		err = addressed.Err
	}
	if err != nil || response.StatusCode < http.StatusBadRequest {
		return response, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	for _, secret := range secretsOf(r) {
		body = bytes.ReplaceAll(body, []byte(secret), []byte("REDACTED"))
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return response, nil
}

// secretsOf lists what of a request opens the account, in each spelling.
func secretsOf(r *http.Request) []string {
	var secrets []string
	if signature := r.URL.Query().Get("sig"); signature != "" {
		secrets = append(secrets, signature, url.QueryEscape(signature), url.PathEscape(signature))
	}
	if authorization := r.Header.Get("Authorization"); authorization != "" {
		secrets = append(secrets, authorization)
	}
	return secrets
}
