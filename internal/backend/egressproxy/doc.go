// Package egressproxy is the forward proxy through which a sandbox without a
// network reaches what its rules admit, and nothing else. Each sandbox has a proxy
// and a Unix socket of its own; which rules apply is chosen by the socket that a
// connection came in by, never by anything the guest says.
//
// It decides with package egress, the matcher of the plan, and adds only what a
// running connection needs: names are decided before they are looked up, looked up
// once, and no address is dialled that was not judged; a tunnel has to begin with
// TLS for the very host of its CONNECT, also where the server asks for a second
// ClientHello; each request of a kept connection is judged
// by itself. TLS is passed through untouched, except where the sandbox's rules for
// the host ask for methods or paths: there it is opened, by an authority that can
// speak for those hosts only.
//
// It never degrades: what cannot be judged is refused, with a code of package
// sandbox. It reads no environment variable, uses no other proxy than the [Upstream]
// it is given, writes no file but its socket, and logs nothing; decisions go to an
// [egress.Observer]. What net/http logs goes by package log, with bytes that a server
// has chosen where it says more than it was asked: a program sets where that writes.
//
// Start with [Config], [New] and [Proxy.Serve]; [Listen] makes the socket, and a
// [Pool] bounds what several sandboxes use together. Its parts are packages of
// their own: httphead judges heads of requests, clienthello reads server names,
// leafca is the authority, stubdns looks names up, egressworld is an internet for
// tests.
//
// What it does not see: with Encrypted ClientHello only the outer name, and inside
// TLS that is passed through neither the server name of a renegotiation (TLS 1.2) nor the Host header nor what an allowed host does
// with what it is sent.
package egressproxy
