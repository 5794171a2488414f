"""solana-py sends and confirms with every commitment. Prints TAP.

Arguments: the RPC URL, the WebSocket URL, the secret key of a payer as a JSON array.
"""

import asyncio
import json
import sys

from solana.rpc.async_api import AsyncClient
from solana.rpc.commitment import Commitment
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

RPC_URL, WS_URL, SECRET = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
LAMPORTS = 1_000_000_000


async def main() -> None:
    payer = Keypair.from_bytes(bytes(SECRET))
    for number, level in enumerate(("processed", "confirmed", "finalized"), 1):
        commitment = Commitment(level)
        async with AsyncClient(RPC_URL, commitment=commitment) as client:
            to = Keypair().pubkey()
            latest = (await client.get_latest_blockhash()).value
            params = TransferParams(from_pubkey=payer.pubkey(), to_pubkey=to, lamports=LAMPORTS)
            message = MessageV0.try_compile(
                payer.pubkey(), [transfer(params)], [], latest.blockhash
            )
            transaction = VersionedTransaction(message, [payer])
            signature = (await client.send_transaction(transaction)).value
            await client.confirm_transaction(
                signature, commitment, last_valid_block_height=latest.last_valid_block_height
            )
            print(f"ok {number} - solana-py confirms at {level}", flush=True)
    print("1..3", flush=True)


asyncio.run(main())
