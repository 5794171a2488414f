# pip install solana
import asyncio

from solana.rpc.async_api import AsyncClient


async def main() -> None:
    async with AsyncClient("SLOTLINE_RPC_URL") as client:
        latest = (await client.get_latest_blockhash()).value
        print(latest.blockhash, latest.last_valid_block_height)


asyncio.run(main())
