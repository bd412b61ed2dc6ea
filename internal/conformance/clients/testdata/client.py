"""One request, by the method and to the address that the arguments name."""

import sys

import requests

method, address = sys.argv[1:]
answer = requests.request(method, address, data=None if method == "GET" else "news", timeout=30)
print(answer.status_code, answer.text)
sys.exit(0 if answer.ok else 1)
