package azblobsink

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // what the service compares what it received with; nobody's trust rests on it
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output/objectsink"
)

// Store keeps objects as block blobs of one container. Make one with [New].
type Store struct {
	client   *container.Client
	location string // of the container, without a query
}

var _ objectsink.Store = (*Store)(nil)

// New makes a store of a container that exists. It asks nothing of the service yet.
func New(client *container.Client) (*Store, error) {
	if client == nil {
		return nil, errors.New("opening a blob store: no container client")
	}
	location, err := url.Parse(client.URL())
	if err != nil {
		return nil, errors.New("opening a blob store: the client's address is no URL") // err repeats it, signature and all
	}
	location.RawQuery, location.Fragment, location.User = "", "", nil
	return &Store{client: client, location: strings.TrimSuffix(location.String(), "/")}, nil
}

// Locate is the blob's address without any signature.
func (s *Store) Locate(key string) string { return s.location + "/" + key }

// octets is the media type of what none was declared for.
const octets = "application/octet-stream"

// Stage sends the content in blocks, one in memory at a time.
func (s *Store) Stage(ctx context.Context, key string, content io.Reader, size int64, mediaType string) (objectsink.Staged, error) {
	if mediaType == "" {
		mediaType = octets
	}
	staged := &blocks{store: s, key: key, client: s.client.NewBlockBlobClient(key), mediaType: mediaType}
	if err := staged.send(ctx, content, size); err != nil {
		return nil, err
	}
	return staged, nil
}

// Read downloads a small blob.
func (s *Store) Read(ctx context.Context, key string, most int64) (content []byte, version string, err error) {
	response, err := s.client.NewBlobClient(key).DownloadStream(ctx, nil)
	if statusOf(err) == http.StatusNotFound && codeOf(err) != "ContainerNotFound" {
		return nil, "", objectsink.ErrAbsent
	}
	if err != nil {
		return nil, "", clean("reading "+key, err)
	}
	// It resumes where a connection breaks off, at the same version.
	body := response.NewRetryReader(ctx, nil)
	defer func() { _ = body.Close() }()
	content, err = io.ReadAll(io.LimitReader(body, most+1))
	switch {
	case err != nil:
		return nil, "", clean("reading "+key, err)
	case int64(len(content)) > most:
		return nil, "", fmt.Errorf("reading %s: it is longer than %d bytes", key, most)
	case response.ETag == nil || *response.ETag == "":
		return nil, "", fmt.Errorf("reading %s: the service answered no version", key)
	}
	return content, string(*response.ETag), nil
}

// Swap uploads a small blob in one request, under a condition.
func (s *Store) Swap(ctx context.Context, key string, content []byte, version string) error {
	condition := blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}
	if version != "" {
		condition = blob.ModifiedAccessConditions{IfMatch: new(azcore.ETag(version))}
	}
	sum := md5.Sum(content) //nolint:gosec // as above
	_, err := s.client.NewBlockBlobClient(key).Upload(ctx, streaming.NopCloser(bytes.NewReader(content)), &blockblob.UploadOptions{
		AccessConditions:        &blob.AccessConditions{ModifiedAccessConditions: &condition},
		HTTPHeaders:             &blob.HTTPHeaders{BlobContentType: new("application/json"), BlobContentMD5: sum[:]},
		TransactionalValidation: blob.TransferValidationTypeMD5(sum[:]),
	})
	if stands(err) {
		return objectsink.ErrConflict
	}
	return clean("writing "+key, err)
}

// List goes through the container a page at a time.
func (s *Store) List(ctx context.Context, prefix string, each func(objectsink.Object) error) error {
	pager := s.client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &prefix})
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return clean("listing "+prefix, err)
		}
		if page.Segment == nil {
			continue
		}
		for _, item := range page.Segment.BlobItems {
			if item == nil || item.Name == nil || item.Properties == nil || item.Properties.ContentLength == nil || item.Properties.LastModified == nil {
				return fmt.Errorf("listing %s: the service described a blob without its name, length or time", prefix)
			}
			if err := each(objectsink.Object{
				Key: *item.Name, Size: *item.Properties.ContentLength, Modified: *item.Properties.LastModified,
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Delete removes a blob with its snapshots.
func (s *Store) Delete(ctx context.Context, key string) error {
	_, err := s.client.NewBlobClient(key).Delete(ctx, &blob.DeleteOptions{DeleteSnapshots: to.Ptr(blob.DeleteSnapshotsOptionTypeInclude)})
	if codeOf(err) == "BlobNotFound" {
		return nil
	}
	return clean("removing "+key, err)
}
