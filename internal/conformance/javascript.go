package conformance

// JavaScript are [Programs] for the interpreter that wasm sandboxes run by default.
func JavaScript() Programs {
	return Programs{
		Streams:   `print("to stdout"); console.error("to stderr"); exit(7)`,
		Loop:      `for (;;);`,
		Flood:     `for (;;) print("x".repeat(4096))`,
		Echo:      `print(input())`,
		SetGlobal: `globalThis.mark = 1`,
		GetGlobal: `print(typeof mark === "undefined" ? "fresh" : "stale")`,
		WriteFile: `writeFile("made.txt", "from the program")`,
	}
}
