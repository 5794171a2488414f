# pip install solana
import asyncio

from solana.rpc.websocket_api import SolanaWsClient


async def main() -> None:
    async with SolanaWsClient("SLOTLINE_WS_URL") as socket:
        await socket.slot_subscribe()
        while True:
            notification = await socket.recv()
            print(notification.result.slot, notification.result.root, flush=True)


asyncio.run(main())
