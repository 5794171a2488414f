# pip install websockets
import asyncio
import json
import sys
from collections.abc import AsyncIterator

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
OPTIONS = {"commitment": "confirmed", "encoding": "base64"}


async def resumed(method: str, address: str, options: dict) -> AsyncIterator[dict]:
    """Yields each notification of a subscription once, and reconnects."""
    cursors: dict = {"cursor": True}
    while True:
        request = {"jsonrpc": "2.0", "id": 1, "method": method}
        request["params"] = [address, options | cursors]
        try:
            async with connect("SLOTLINE_WS_URL", max_size=2**25) as socket:
                await socket.send(json.dumps(request))
                async for message in socket:
                    answer = json.loads(message)
                    if "error" in answer:
                        raise RuntimeError(answer["error"]["message"])
                    if "method" not in answer:
                        continue
                    result = answer["params"]["result"]
                    cursors = {"from": (result.get("context") or result)["cursor"]}
                    if "gap" in result:
                        print(f"may be missing: {result['gap']}", file=sys.stderr)
                    else:
                        yield result
        except (OSError, WebSocketException) as error:
            print(f"connects again: {error}", file=sys.stderr)
        await asyncio.sleep(0.5)


async def main() -> None:
    async for change in resumed("programSubscribe", PROGRAM, OPTIONS):
        print(change["context"]["slot"], change["value"]["pubkey"], flush=True)


asyncio.run(main())
