# pip install solana; KEYPAIR is a file of solana-keygen.
import asyncio
import os
from pathlib import Path

from solana.rpc.async_api import AsyncClient
from solana.rpc.models import TxOpts
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

payer = Keypair.from_json(Path(os.environ["KEYPAIR"]).read_text())
tip = transfer(
    TransferParams(
        from_pubkey=payer.pubkey(),
        to_pubkey=Pubkey.from_string("SLOTLINE_LANDER_TIP_ACCOUNT"),
        lamports=SLOTLINE_LANDER_TIP_LAMPORTS,
    )
)


async def main() -> None:
    async with AsyncClient("SLOTLINE_RPC_URL") as rpc:
        blockhash = (await rpc.get_latest_blockhash()).value.blockhash
    # Add your own instructions before the tip.
    message = MessageV0.try_compile(payer.pubkey(), [tip], [], blockhash)
    transaction = VersionedTransaction(message, [payer])
    async with AsyncClient("SLOTLINE_RPC_URL/lander") as lander:
        sent = await lander.send_transaction(transaction, TxOpts(skip_preflight=True))
        print(sent.value)


asyncio.run(main())
