// The client makes one request, by the method and to the address that its
// arguments name.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
)

func main() {
	if len(os.Args) == 2 {
		fmt.Println(runtime.Version())
		return
	}
	if err := request(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func request(method, address string) error {
	var body io.Reader
	if method != http.MethodGet {
		body = strings.NewReader("news")
	}
	request, err := http.NewRequestWithContext(context.Background(), method, address, body)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	fmt.Println(response.StatusCode, string(content))
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("the answer is %s", response.Status)
	}
	return nil
}
