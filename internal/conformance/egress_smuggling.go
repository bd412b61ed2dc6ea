package conformance

// smuggled are requests that servers and proxies are known to read differently.
func smuggled() []smuggling {
	const (
		chunked = "Transfer-Encoding: chunked"
		end     = "0\r\n\r\n"
	)
	post := func(lines ...string) string { return head(append([]string{firstLine, toGood}, lines...)...) }
	at := func(line string, more ...string) string { return head(append([]string{line}, more...)...) }
	plain := post()
	return []smuggling{
		// How long it is.
		one("a length beside chunks", post("Content-Length: 5", chunked), post(chunked), end),
		{"chunks beside a length", post(chunked, "Content-Length: 0") + end, post("Content-Length: 0")},
		one("two lengths", post("Content-Length: 1", "Content-Length: 2"), post("Content-Length: 2"), "ab"),
		one("the same length twice", post("Content-Length: 2", "Content-Length: 2"), post("Content-Length: 2"), "ab"),
		one("a list of lengths", post("Content-Length: 2, 2"), post("Content-Length: 2"), "ab"),
		one("a signed length", post("Content-Length: +2"), post("Content-Length:  2 "), "ab"),
		one("a hexadecimal length", post("Content-Length: 0x2"), post("Content-Length: 02"), "ab"),
		{"no length", post("Content-Length:"), plain},
		{"a huge length", post("Content-Length: 18446744073709551617") + "a", post("Content-Length: 1") + "a"},
		one("another spelling of length", post("Content_Length: 5", chunked), post("Content-Lengths: 5", chunked), end),
		one("two encodings", post(chunked, "Transfer-Encoding: identity"), post("Transfer-Encoding: CHUNKED"), end),
		one("a list of encodings", post("Transfer-Encoding: identity, chunked"), post(chunked), end),
		{"an unknown encoding", post("Transfer-Encoding: xchunked") + end, post("Transfer-Encodings: xchunked")},
		one("a tab before an encoding", post("Transfer-Encoding:\x0bchunked"), post("Transfer-Encoding:\tchunked"), end),
		{"chunks in HTTP/1.0", at("POST http://"+goodHost+"/ HTTP/1.0", toGood, chunked) + end, post(chunked) + end},
		// Where a line ends.
		one("a folded header", post("X-A: b", " c: d"), post("X-A: b", "c: d")),
		one("a folded length", post("Content-Length:", " 2"), post("Content-Length: 2"), "ab"),
		{"bare line feeds", firstLine + "\n" + toGood + "\n\n", plain},
		one("a bare line feed in a value", post("X-A: b\nX-B: c"), post("X-A: b", "X-B: c")),
		one("a bare carriage return", post("X-A: b\rX-B: c"), post("X-A: b X-B: c")),
		one("a NUL", post("X-A: b\x00"), post("X-A: b")),
		one("a space before the colon", post("Content-Length : 0"), post("Content-Length: 0")),
		one("a line without a colon", post("X-A"), post("X-A:")),
		one("an empty name", post(": a"), post("a: a")),
		{"a line before the request", "\r\n" + plain, plain},
		// The request line.
		{"two spaces in the request line", at("POST  http://"+goodHost+"/ HTTP/1.1", toGood), plain},
		{"a space in the target", at("POST http://"+goodHost+"/ a HTTP/1.1", toGood), at("POST http://"+goodHost+"/%20a HTTP/1.1", toGood)},
		{"a tab in the request line", at("POST\thttp://"+goodHost+"/ HTTP/1.1", toGood), plain},
		{"no version", at("POST http://"+goodHost+"/", toGood), plain},
		{"another version", at("POST http://"+goodHost+"/ HTTP/1.2", toGood), plain},
		{"bytes outside ASCII in the target", at("GET http://"+goodHost+"/\xc3\xa9 HTTP/1.1", toGood), at("GET http://"+goodHost+"/%C3%A9 HTTP/1.1", toGood)},
		{"an escape that is none", at("GET http://"+goodHost+"/%zz HTTP/1.1", toGood), at("GET http://"+goodHost+"/%25zz HTTP/1.1", toGood)},
		// Which host it is for.
		one("two hosts", post("Host: "+evilHost), plain),
		one("the same host twice", post(toGood), plain),
		{"no host", at(firstLine, "X-A: b"), post("X-A: b")},
		{"a target that is a path", at("GET / HTTP/1.1", toGood), at("GET http://"+goodHost+"/ HTTP/1.1", toGood)},
		{"a target over TLS without a tunnel", at("GET https://"+goodHost+"/ HTTP/1.1", toGood), at("GET HTTP://"+goodHost+" HTTP/1.1", toGood)},
		{"a target of another scheme", at("GET ftp://"+goodHost+"/ HTTP/1.1", toGood), at("GET http://"+goodHost+"?a HTTP/1.1", toGood)},
		{"a tunnel with a body", at("CONNECT "+goodHost+":443 HTTP/1.1", toGood, "Content-Length: 1") + "a", plain},
		// A whole second request in what one reader takes for a body.
		{"a request behind a length of none", post("Content-Length: 0", chunked) + "0\r\n\r\n" + absolute(evilHost, "/"), plain},
		{"a request inside a chunk's extension", post(chunked, "Content-Length: 60") + "0;a=\n" + absolute(evilHost, "/"), plain},
	}
}
