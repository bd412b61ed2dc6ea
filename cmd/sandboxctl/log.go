package main

import (
	"io"
	"log"
)

// quiet drops what libraries write through package log. Servers choose a part of it,
// such as the bytes that one sends before it is asked, which net/http repeats without
// end and as they came; what a person has to know is said by package cli.
func quiet() { log.SetOutput(io.Discard) }
