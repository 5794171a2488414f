# WALLET is an address, whose token accounts are listed.
import json
import os
from collections.abc import Iterator
from urllib.request import Request, urlopen

RPC_URL = "SLOTLINE_RPC_URL"
FILTER = {"programId": "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"}


def call(method: str, params: list) -> dict:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    headers = {"content-type": "application/json"}
    with urlopen(Request(RPC_URL, body.encode(), headers)) as response:
        answer = json.load(response)
    if "error" in answer:
        raise RuntimeError(answer["error"]["message"])
    return answer["result"]


def accounts_of(wallet: str) -> Iterator[dict]:
    """Yields the accounts of all pages."""
    key = None
    while True:
        page = {"encoding": "base64", "limit": 1000, "paginationKey": key}
        value = call("getTokenAccountsByOwnerV2", [wallet, FILTER, page])["value"]
        yield from value["accounts"]
        key = value["paginationKey"]
        # The last page has no key.
        if key is None:
            return


for account in accounts_of(os.environ["WALLET"]):
    print(account["pubkey"])
