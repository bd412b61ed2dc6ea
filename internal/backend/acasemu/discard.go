package acasemu

import (
	"io"
	"log"
)

// discard is for complaints about single connections: who broke one off knows, and
// nobody else can do anything about it.
func discard() *log.Logger { return log.New(io.Discard, "", 0) }
