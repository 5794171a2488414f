# pip install solana; KEYPAIR is a file of solana-keygen.
import base64
import json
import os
import random
from pathlib import Path
from typing import Any
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
RELAY_URL = f"{RPC_URL}/relay-bundle"
payer = Keypair.from_json(Path(os.environ["KEYPAIR"]).read_text())


def call(url: str, method: str, params: list) -> Any:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    headers = {"content-type": "application/json"}
    with urlopen(Request(url, body.encode(), headers)) as response:
        answer = json.load(response)
    if "error" in answer:
        raise RuntimeError(answer["error"]["message"])
    return answer["result"]


def pay(accounts: list[str], lamports: int) -> Instruction:
    # Traffic of one account slows its writers down: pay to another one each time.
    to = Pubkey.from_string(random.choice(accounts))
    return transfer(
        TransferParams(from_pubkey=payer.pubkey(), to_pubkey=to, lamports=lamports)
    )


def sign(blockhash: Hash, instructions: list[Instruction]) -> str:
    message = MessageV0.try_compile(payer.pubkey(), instructions, [], blockhash)
    transaction = VersionedTransaction(message, [payer])
    return base64.b64encode(bytes(transaction)).decode()


# In place of this, what your application does: here, an account for wrapped SOL, if absent.
mint = Pubkey.from_string("So11111111111111111111111111111111111111112")
application = create_idempotent_associated_token_account(
    payer.pubkey(), payer.pubkey(), mint
)

tips = call(RELAY_URL, "getServiceTipConfig", [])
latest = call(RPC_URL, "getLatestBlockhash", [])["value"]
blockhash = Hash.from_string(latest["blockhash"])
# One transaction has both tips and a call of a program. All land in this order, or none.
bundle = [
    sign(blockhash, [application]),
    sign(
        blockhash,
        [
            application,
            pay(tips["serviceTipAccounts"], tips["serviceTipFloorLamports"]),
            pay(tips["bundleEngineTipAccounts"], tips["bundleEngineTipFloorLamports"]),
        ],
    ),
]
print(call(RELAY_URL, "sendBundle", [bundle, {"encoding": "base64"}]))
