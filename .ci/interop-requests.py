"""How many requests the service's own clients send for what people do most.

    python interop-requests.py URL CA

The Python has the official SDK and the reference's backend for the service. URL is an
emulator with an engine, and counts. Prints a line for each: client, operation, count.
"""

import asyncio
import base64
import json
import os
import ssl
import sys
import urllib.request
import warnings

warnings.simplefilter("ignore")
url, ca = sys.argv[1:]
for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):  # before the libraries read them
    os.environ[name] = ca

import azure.identity.aio
from azure.containerapps.sandbox import SandboxGroupClient, SandboxGroupManagementClient
from azure.core.credentials import AccessToken
from maf_sandbox import Capability, Egress, SandboxKey, SandboxSpec
from maf_sandbox_acas import AcasSandboxBackend, AcasSandboxConfig

GROUP = {"subscription_id": "count", "resource_group": "count"}
BYTES = bytes(8 << 20)
trusting = ssl.create_default_context(cafile=ca)


class Credential:
    def get_token(self, scope, *rest, **options):
        claims = json.dumps({"aud": scope.removesuffix("/.default")}).encode()
        return AccessToken("e30." + base64.urlsafe_b64encode(claims).decode().rstrip("=") + ".", 1 << 40)


class AsyncCredential(Credential):
    async def get_token(self, *scopes, **options):
        return super().get_token(*scopes, **options)

    async def close(self):
        pass


def control(method):
    request = urllib.request.Request(url + "/_emulator/requests", method=method)
    with urllib.request.urlopen(request, context=trusting) as answer:
        return json.loads(answer.read() or "null")


def report(client, operation):
    print(client, operation, len(control("GET")), flush=True)


def sdk():
    group = SandboxGroupClient(url, Credential(), sandbox_group="count", **GROUP)
    control("DELETE")
    sandbox = group.begin_create_sandbox(disk="ubuntu", polling_interval=0).result()
    report("sdk", "create")
    control("DELETE")
    sandbox.exec("true")
    report("sdk", "exec")
    control("DELETE")
    sandbox.write_file("/tmp/big", BYTES)
    report("sdk", "write")
    sandbox.begin_delete(polling_interval=0).result()


async def reference():
    azure.identity.aio.DefaultAzureCredential = AsyncCredential
    backend = AcasSandboxBackend(AcasSandboxConfig(endpoint=url, sandbox_group="count", **GROUP))
    c = Capability
    spec = SandboxSpec(kind="count", image="ubuntu", requires=frozenset({c.EXEC, c.FILES_IN, c.FILES_OUT}), egress=Egress.CLOSED)
    work, key = "/maf-sandbox/work", SandboxKey("count", "count", "count")
    control("DELETE")
    sandbox = await backend.acquire(key, spec)
    report("reference", "create")
    control("DELETE")
    await sandbox.exec("true", working_directory=work, timeout=60)
    report("reference", "exec")
    control("DELETE")
    await sandbox.write_file("big", BYTES, working_directory=work)
    report("reference", "write")
    await backend.dispose(key)
    await backend.aclose()


arm = SandboxGroupManagementClient(Credential(), **GROUP)
arm._endpoint = url  # it has no setting for it
arm.begin_create_group("count", "Sweden Central", polling_interval=0).result()
sdk()
asyncio.run(reference())
