package sandbox

import "strconv"

// TransferLimits bound what one direction of file transfer may move in one
// collection. All three hold at once, each inclusive: a file of exactly
// MaxBytesPerFile passes (spec A28, C10).
type TransferLimits struct {
	// MaxBytesPerFile and MaxTotalBytes are bytes, from 0 to 2^53-1.
	MaxBytesPerFile int64 `json:"max_bytes_per_file"`
	MaxTotalBytes   int64 `json:"max_total_bytes"`
	// MaxFiles counts files, from 0 to 2^53-1.
	MaxFiles int64 `json:"max_files"`
}

// MaxDocumentInteger is the largest integer a document may state: beyond it two
// different numbers can have one canonical form (RFC 8785 writes doubles).
const MaxDocumentInteger int64 = 1<<53 - 1

// DefaultTransferLimits hold where neither side states limits: 8 MiB a file,
// 32 MiB in all, 64 files (spec A29).
func DefaultTransferLimits() TransferLimits {
	return TransferLimits{MaxBytesPerFile: 8 << 20, MaxTotalBytes: 32 << 20, MaxFiles: 64}
}

// Within reports whether every limit of l is at most that of ceiling.
func (l TransferLimits) Within(ceiling TransferLimits) bool {
	return l.MaxBytesPerFile <= ceiling.MaxBytesPerFile &&
		l.MaxTotalBytes <= ceiling.MaxTotalBytes &&
		l.MaxFiles <= ceiling.MaxFiles
}

// String reads "8388608 bytes a file, 33554432 bytes in all, 64 files".
func (l TransferLimits) String() string {
	return strconv.FormatInt(l.MaxBytesPerFile, 10) + " bytes a file, " +
		strconv.FormatInt(l.MaxTotalBytes, 10) + " bytes in all, " +
		strconv.FormatInt(l.MaxFiles, 10) + " files"
}

// Or returns *l, or fallback when l is nil.
func (l *TransferLimits) Or(fallback TransferLimits) TransferLimits {
	if l == nil {
		return fallback
	}
	return *l
}
