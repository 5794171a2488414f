# pip install solana; KEYPAIR is a file of solana-keygen.
import base64
import json
import os
from pathlib import Path
from urllib.request import Request, urlopen

from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction
from spl.token.instructions import create_idempotent_associated_token_account

RPC_URL = "SLOTLINE_RPC_URL"
payer = Keypair.from_json(Path(os.environ["KEYPAIR"]).read_text())


def call(url: str, method: str, params: list) -> dict:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    headers = {"content-type": "application/json"}
    with urlopen(Request(url, body.encode(), headers)) as response:
        return json.load(response)


def pay(account: str, lamports: int) -> Instruction:
    to = Pubkey.from_string(account)
    return transfer(
        TransferParams(from_pubkey=payer.pubkey(), to_pubkey=to, lamports=lamports)
    )


# In place of this, what your application does: here, an account for wrapped SOL, if absent.
mint = Pubkey.from_string("So11111111111111111111111111111111111111112")
application = create_idempotent_associated_token_account(
    payer.pubkey(), payer.pubkey(), mint
)

instructions = [
    application,
    pay("SLOTLINE_SERVICE_TIP_ACCOUNT", SLOTLINE_SERVICE_TIP_LAMPORTS),
    pay("SLOTLINE_ENGINE_TIP_ACCOUNT", SLOTLINE_ENGINE_TIP_LAMPORTS),
]
latest = call(RPC_URL, "getLatestBlockhash", [])["result"]["value"]
blockhash = Hash.from_string(latest["blockhash"])
message = MessageV0.try_compile(payer.pubkey(), instructions, [], blockhash)
transaction = VersionedTransaction(message, [payer])
text = base64.b64encode(bytes(transaction)).decode()
print(call(f"{RPC_URL}/relay-bundle", "sendBundle", [[text], {"encoding": "base64"}]))
