package clients

// Client is one program that people run in sandboxes.
type Client struct {
	// Name is what people call it.
	Name string
	// Needs are the programs of the machine without which it cannot be run.
	Needs []string
	// Version is a shell command that prints which one it is.
	Version string
	// Brings is what it is called in the sandbox where a machine's own is too old and
	// a newer one is put there.
	Brings string
	// Fetch reads from the world under a base address, and prints or keeps what it
	// got. Change asks the world to take something, by another method than GET and
	// HEAD. Both are shell commands; $BASE is the address, such as
	// https://world.example, and they end with 0 only when they had their way.
	Fetch, Change string
	// Fetched is what Fetch prints when it worked.
	Fetched string
	// Proxy and Authority are the variables by which it learns of them, for people.
	Proxy, Authority string
	// Remark is what else a person should know, if anything.
	Remark string
}

// All are the clients of the table, in its order.
func All() []Client {
	return []Client{
		{
			Name: "curl", Needs: []string{"curl"}, Version: "curl --version",
			Fetch:     `curl -fsS "$BASE/hello"`,
			Change:    `curl -fsS -d news "$BASE/hello"`,
			Fetched:   greeting,
			Proxy:     "`https_proxy`, `HTTPS_PROXY`",
			Authority: "`CURL_CA_BUNDLE`",
		},
		{
			Name: "pip", Needs: []string{"/usr/bin/pip3"}, Version: "/usr/bin/pip3 --version",
			Fetch:     pip + ` download --no-deps --no-binary :none: -d got --index-url "$BASE/simple/" demo && ls got`,
			Change:    pip + ` search --index "$BASE/pypi" demo`,
			Fetched:   "demo-1.0-py3-none-any.whl",
			Proxy:     "`HTTPS_PROXY`",
			Authority: "`PIP_CERT`, `REQUESTS_CA_BUNDLE`",
		},
		{
			Name: "npm", Needs: []string{"npm"}, Version: "npm --version",
			Fetch: npm + ` pack --registry "$BASE/npm/" demo@1.0.0 && ls demo-1.0.0.tgz`,
			Change: `mkdir -p pack && cd pack && echo '{"name":"demo","version":"2.0.0"}' >package.json && ` +
				npm + ` publish --registry "$BASE/npm/" "--${BASE#https:}/npm/:_authToken=none"`,
			Fetched:   "demo-1.0.0.tgz",
			Proxy:     "`HTTPS_PROXY`",
			Authority: "`npm_config_cafile`",
		},
		{
			Name: "git over https", Needs: []string{"git"}, Version: "git --version",
			Fetch:     `git -c protocol.version=0 ls-remote "$BASE/repo.git" HEAD`,
			Change:    `git clone -q "$BASE/repo.git" cloned`,
			Fetched:   "HEAD",
			Proxy:     "`https_proxy`, `HTTPS_PROXY`",
			Authority: "`GIT_SSL_CAINFO`",
			Remark:    "From its protocol 2 on it asks for everything by POST: a rule for methods names GET and POST, and paths tell fetching from pushing.",
		},
		{
			Name: "Go net/http", Version: "./go-client version",
			Fetch:     `./go-client GET "$BASE/hello"`,
			Change:    `./go-client POST "$BASE/hello"`,
			Fetched:   greeting,
			Proxy:     "`HTTPS_PROXY`, `https_proxy`",
			Authority: "`SSL_CERT_FILE`",
		},
		{
			Name: "Java HttpClient", Needs: []string{"java"}, Version: "java -version",
			Fetch:     `java Client.java GET "$BASE/hello"`,
			Change:    `java Client.java POST "$BASE/hello"`,
			Fetched:   greeting,
			Proxy:     "`JAVA_TOOL_OPTIONS`",
			Authority: "`JAVA_TOOL_OPTIONS`",
			Remark:    "It says on its standard error that it picked the variable up.",
		},
		{
			Name: "Python requests", Needs: []string{"/usr/bin/python3"},
			Version:   `/usr/bin/python3 -c "import requests, sys; print(requests.__version__, sys.version)"`,
			Fetch:     `/usr/bin/python3 client.py GET "$BASE/hello"`,
			Change:    `/usr/bin/python3 client.py POST "$BASE/hello"`,
			Fetched:   greeting,
			Proxy:     "`HTTPS_PROXY`, `https_proxy`",
			Authority: "`REQUESTS_CA_BUNDLE`, `CURL_CA_BUNDLE`",
		},
		{
			Name: "Node fetch", Version: "./node --version",
			Brings:    "node",
			Fetch:     `./node client.mjs GET "$BASE/hello"`,
			Change:    `./node client.mjs POST "$BASE/hello"`,
			Fetched:   greeting,
			Proxy:     "`HTTPS_PROXY` with `NODE_USE_ENV_PROXY`",
			Authority: "`NODE_EXTRA_CA_CERTS`",
			Remark:    "From Node 22.21 and 24.5. An older `fetch` knows no proxy and reaches nothing.",
		},
	}
}

const (
	greeting = "hello from the world"

	pip = `/usr/bin/pip3 --disable-pip-version-check --no-cache-dir`
	npm = `npm --no-audit --no-fund --no-update-notifier --cache ./cache`
)
