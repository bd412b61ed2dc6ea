package azblobsink

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // what the service compares what it received with; nobody's trust rests on it
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output/objectsink"
)

const (
	blockSize = 4 << 20
	// maxBlocks and maxBlock are the service's.
	maxBlocks = 50_000
	maxBlock  = 4000 << 20
)

// blocks is a blob whose blocks were sent and not committed.
type blocks struct {
	store     *Store
	key       string
	client    *blockblob.Client
	mediaType string

	ids  []string
	size int64
	md5  []byte
}

// sizeOfBlocks is the usual one until a blob of that many would have too many.
func sizeOfBlocks(size int64) int64 {
	return max(blockSize, (size+maxBlocks-1)/maxBlocks)
}

func (b *blocks) send(ctx context.Context, content io.Reader, size int64) error {
	each := sizeOfBlocks(size)
	if each > maxBlock {
		return fmt.Errorf("sending %s: %d bytes are more than a blob has", b.key, size)
	}
	buffer := make([]byte, min(each, size))
	whole := md5.New() //nolint:gosec // as above
	nonce := make([]byte, 16)
	if _, err := rand.Read(nonce); err != nil {
		return fmt.Errorf("sending %s: %w", b.key, err)
	}
	for b.size < size {
		n, err := io.ReadFull(content, buffer[:min(each, size-b.size)])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("sending %s: %d bytes instead of %d", b.key, b.size+int64(n), size)
		}
		if err != nil {
			return err // the content's own, which its owner recognises
		}
		if err := b.sendOne(ctx, nonce, buffer[:n]); err != nil {
			return err
		}
		whole.Write(buffer[:n])
		b.size += int64(n)
	}
	b.md5 = whole.Sum(nil)
	return nil
}

// sendOne sends a block under an id of its own. Sent again by a retry it is the same
// block, and the list names it once.
func (b *blocks) sendOne(ctx context.Context, nonce, block []byte) error {
	id := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(bytes.Clone(nonce), uint32(len(b.ids))))
	sum := md5.Sum(block) //nolint:gosec // as above
	_, err := b.client.StageBlock(ctx, id, streaming.NopCloser(bytes.NewReader(block)), &blockblob.StageBlockOptions{
		TransactionalValidation: blob.TransferValidationTypeMD5(sum[:]),
	})
	if err != nil {
		return clean("sending "+b.key, err)
	}
	b.ids = append(b.ids, id)
	return nil
}

// Commit makes the blob of its blocks, unless one of that name is there. One that is
// there with the same content was made by an attempt whose answer was lost: nobody
// else writes this key.
func (b *blocks) Commit(ctx context.Context) error {
	_, err := b.client.CommitBlockList(ctx, b.ids, &blockblob.CommitBlockListOptions{
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}},
		HTTPHeaders: &blob.HTTPHeaders{
			BlobContentType: &b.mediaType, BlobContentMD5: b.md5,
			// A browser shows nothing of it as a page of the account.
			BlobContentDisposition: new("attachment"),
		},
	})
	if !stands(err) {
		return clean("committing "+b.key, err)
	}
	properties, err := b.client.GetProperties(ctx, nil)
	if err != nil {
		return clean("looking at "+b.key, err)
	}
	if properties.ContentLength == nil || *properties.ContentLength != b.size || !bytes.Equal(properties.ContentMD5, b.md5) {
		return objectsink.ErrConflict
	}
	return nil
}

// Discard leaves the blocks to the service: see the package's comment.
func (b *blocks) Discard(context.Context) error { return nil }
