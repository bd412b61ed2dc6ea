package guestenv

import (
	"net"
	"strings"
)

// Proxy are the variables by which programs find an HTTP proxy at host and port.
// Each is set in both cases, since programs differ in which one they read, and in
// which one wins; NO_PROXY is set and empty, since there is nothing that could be
// reached without the proxy.
//
// Git, curl, pip, Go, Ruby and most others read the general ones. Node reads them
// when NODE_USE_ENV_PROXY says so. Java reads none, and is told in [Java].
func Proxy(host, port string) []string {
	proxy := "http://" + net.JoinHostPort(host, port)
	var env []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"="+proxy, strings.ToLower(name)+"="+proxy)
	}
	return append(env, "NO_PROXY=", "no_proxy=", "NODE_USE_ENV_PROXY=1")
}

// Java is the one variable that every Java virtual machine reads. It says so on
// its standard error. trustStore is the file of [Trust.PKCS12], or empty.
//
// Java asks for a host below nonProxyHosts without a proxy; that is empty, as
// NO_PROXY is.
func Java(host, port, trustStore string) string {
	options := []string{
		"-Dhttp.proxyHost=" + host, "-Dhttp.proxyPort=" + port,
		"-Dhttps.proxyHost=" + host, "-Dhttps.proxyPort=" + port,
		"-Dhttp.nonProxyHosts=",
	}
	if trustStore != "" {
		options = append(options, "-Djavax.net.ssl.trustStore="+trustStore, "-Djavax.net.ssl.trustStoreType=PKCS12")
	}
	return "JAVA_TOOL_OPTIONS=" + strings.Join(options, " ")
}

// Bundle are the variables by which programs find certificate authorities in a PEM
// file. All of them, save Node's, take its content instead of what they would
// trust otherwise.
func Bundle(file string) []string {
	names := []string{
		"SSL_CERT_FILE",       // OpenSSL, and with it Python's ssl and Ruby; Go; rustls
		"CURL_CA_BUNDLE",      // curl, and Python's requests after its own
		"REQUESTS_CA_BUNDLE",  // Python's requests
		"PIP_CERT",            // pip
		"GIT_SSL_CAINFO",      // Git
		"NODE_EXTRA_CA_CERTS", // Node, beside its own
		"npm_config_cafile",   // npm, over what an npmrc of the machine says
		"CARGO_HTTP_CAINFO",   // Cargo
		"AWS_CA_BUNDLE",       // the AWS command line and SDKs
	}
	env := make([]string, len(names))
	for i, name := range names {
		env[i] = name + "=" + file
	}
	return env
}
