"""Checks of solana-py against a running service. Prints TAP.

Arguments: the RPC URL, the WebSocket URL, the samples of sandbox.json as JSON, the process id of
the only edge, which is killed.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from solana.exceptions import SolanaRpcException
from solana.rpc.async_api import AsyncClient
from solana.rpc.commitment import Confirmed, Finalized
from solana.rpc.core import RPCException
from solana.rpc.jsonrpc import SolanaJsonRpcError
from solana.rpc.models import DataSliceOpts, MemcmpOpts
from solana.rpc.websocket_api import SolanaWsClient, Subscription
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.rpc.config import RpcTransactionLogsFilterMentions
from solders.rpc.requests import (
    AccountSubscribe,
    GetSlot,
    RootSubscribe,
    SlotSubscribe,
    batch_to_json,
)
from solders.rpc.responses import (
    AccountNotification,
    LogsNotification,
    ProgramNotification,
    RootNotification,
    SignatureNotification,
    SlotNotification,
    parse_websocket_message,
)
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError, WebSocketException

RPC_URL, WS_URL, SAMPLES = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
EDGE = int(sys.argv[4])
SYSTEM = Pubkey.default()
SOL = 1_000_000_000
TOKEN_ACCOUNT_BYTES = 165
WAIT_S = 30

checked = 0


def ok(is_right: bool, what: str) -> None:
    global checked
    checked += 1
    print(f"{'ok' if is_right else 'not ok'} {checked} - {what}", flush=True)


def equal(found: object, wanted: object, what: str) -> None:
    ok(found == wanted, what)
    if found != wanted:
        print(f"# found {found!r}, wanted {wanted!r}", flush=True)


def sample(name: str) -> Pubkey:
    return Pubkey.from_string(SAMPLES[name])


async def refused(call: Awaitable[object], error: type[Exception], what: str) -> Any:
    try:
        await call
    except error as refusal:
        ok(True, what)
        return refusal
    ok(False, what)


async def until(is_done: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not await is_done():
            await asyncio.sleep(0.05)


def signed(payer: Keypair, target: Pubkey, lamports: int, blockhash: Any) -> VersionedTransaction:
    move = transfer(
        TransferParams(from_pubkey=payer.pubkey(), to_pubkey=target, lamports=lamports)
    )
    return VersionedTransaction(
        MessageV0.try_compile(payer.pubkey(), [move], [], blockhash), [payer]
    )


async def check_reads(client: AsyncClient) -> None:
    latest = (await client.get_latest_blockhash()).value
    ok(latest.last_valid_block_height > 150, "get_latest_blockhash")
    mint = await client.get_account_info(sample("mint"), Confirmed)
    ok(mint.context.slot > 0, "the context has a slot")
    equal(mint.value.owner, sample("program"), "get_account_info")
    equal(len(mint.value.data), 82, "its data")
    packed = await client.get_account_info(sample("mint"), encoding="base64+zstd")
    equal(packed.value.data, mint.value.data, "the same, compressed")
    part = await client.get_account_info(
        sample("tokenAccount"), data_slice=DataSliceOpts(offset=0, length=32)
    )
    equal(part.value.data, bytes(sample("mint")), "a slice")
    nothing = await client.get_account_info(Keypair().pubkey())
    equal(nothing.value, None, "an account that does not exist")
    parsed = await client.get_account_info_json_parsed(sample("tokenAccount"))
    equal(parsed.value.data.parsed["info"]["mint"], SAMPLES["mint"], "parsed")
    several = await client.get_multiple_accounts([sample("wallet"), Keypair().pubkey()])
    equal(several.value[0].owner, SYSTEM, "get_multiple_accounts")
    equal(several.value[1], None, "the account that does not exist")
    supply = (await client.get_token_supply(sample("mint"))).value
    equal(supply.decimals, 6, "get_token_supply")
    balance = (await client.get_token_account_balance(sample("tokenAccount"))).value
    ok(0 < int(balance.amount) < int(supply.amount), "get_token_account_balance")
    largest = (await client.get_token_largest_accounts(sample("mint"))).value
    equal(len(largest), 20, "get_token_largest_accounts")
    ok((await client.get_slot(Confirmed)).value > 0, "get_slot")
    ok(await client.is_connected(), "get_health")
    await refused(
        client.get_token_supply(sample("wallet")), RPCException, "the supply of an account that is no mint"
    )
    await refused(
        client.get_inflation_rate(),
        (RPCException, SolanaJsonRpcError, SolanaRpcException),
        "an unknown method",
    )


async def check_sends(client: AsyncClient) -> Keypair:
    """Requests an airdrop, and transfers a part of it."""
    payer, target = Keypair(), Keypair().pubkey()

    async def has(holder: Pubkey, lamports: int) -> bool:
        return (await client.get_balance(holder, Confirmed)).value == lamports

    given = (await client.request_airdrop(payer.pubkey(), 50 * SOL, Confirmed)).value
    statuses = await client.confirm_transaction(given, Confirmed, 0.1)
    equal(statuses.value[0].err, None, "request_airdrop, confirmed")
    await until(lambda: has(payer.pubkey(), 50 * SOL))
    ok(True, "and readable")

    latest = (await client.get_latest_blockhash(Confirmed)).value
    transaction = signed(payer, target, SOL, latest.blockhash)
    outcome = (await client.simulate_transaction(transaction, sig_verify=True)).value
    equal(outcome.err, None, "simulate_transaction")
    sent = (await client.send_transaction(transaction)).value
    equal(sent, transaction.signatures[0], "send_transaction")
    statuses = await client.confirm_transaction(
        sent, Confirmed, 0.1, latest.last_valid_block_height
    )
    equal(statuses.value[0].err, None, "confirm_transaction")
    await until(lambda: has(target, SOL))
    ok(True, "transferred")
    fetched = await client.get_transaction(
        sent, commitment=Confirmed, max_supported_transaction_version=0
    )
    ok(fetched.value is not None, "get_transaction")
    statuses = await client.confirm_transaction(sent, Finalized, 0.1)
    equal(statuses.value[0].err, None, "and finalized")
    return payer


async def check_subscriptions(client: AsyncClient, payer: Keypair) -> None:
    target = Keypair().pubkey()
    # One list per subscription: the client returns notifications of all mixed.
    received: dict[int, list[Any]] = {}

    async with SolanaWsClient(WS_URL) as socket:
        latest = (await client.get_latest_blockhash(Confirmed)).value
        transaction = signed(payer, target, SOL, latest.blockhash)
        subscriptions = await asyncio.gather(
            socket.account_subscribe(pubkey=target, commitment=Confirmed, encoding="base64"),
            socket.account_subscribe(
                pubkey=payer.pubkey(),
                encoding="base64",
                data_slice=DataSliceOpts(offset=0, length=4),
            ),
            socket.program_subscribe(
                program_id=sample("program"),
                encoding="base64",
                filters=[TOKEN_ACCOUNT_BYTES, MemcmpOpts(offset=0, bytes=SAMPLES["mint"])],
            ),
            socket.program_subscribe(program_id=sample("program"), encoding="jsonParsed"),
            socket.logs_subscribe(filter_=RpcTransactionLogsFilterMentions(target)),
            socket.slot_subscribe(),
            socket.root_subscribe(),
            socket.signature_subscribe(
                signature=transaction.signatures[0], commitment=Confirmed
            ),
            socket.signature_subscribe(
                signature=transaction.signatures[0], commitment=Finalized
            ),
        )
        account, sliced, program, parsed, logs, slot, root, signature, final = subscriptions
        ids = {one.subscription_id for one in subscriptions}
        equal(len(ids), len(subscriptions), "each has its id")

        async def more(*wanted: Subscription) -> None:
            """Reads notifications until each of these has another one."""
            missing = {one.subscription_id for one in wanted}
            async with asyncio.timeout(WAIT_S):
                while missing:
                    notification = await socket.recv()
                    received.setdefault(notification.subscription, []).append(notification)
                    missing.discard(notification.subscription)

        def of(subscription: Subscription) -> list[Any]:
            return received.get(subscription.subscription_id, [])

        await client.send_transaction(transaction)
        await more(*subscriptions)

        [changed] = of(account)
        ok(isinstance(changed, AccountNotification), "account_subscribe")
        equal(changed.result.value.lamports, SOL, "its lamports")
        equal(changed.result.value.owner, SYSTEM, "its owner")
        paid = of(sliced)[0].result.value
        ok(paid.lamports < 49 * SOL, "another account, with a slice")
        held_by_program = of(program)[0]
        ok(isinstance(held_by_program, ProgramNotification), "program_subscribe")
        found = held_by_program.result.value.account
        equal(found.owner, sample("program"), "an account of the program")
        equal(bytes(found.data)[:32], bytes(sample("mint")), "of the mint")
        info = of(parsed)[0].result.value.account.data.parsed
        ok(info["type"] in ("account", "mint"), "the same, parsed")
        entry = of(logs)[0]
        ok(isinstance(entry, LogsNotification), "logs_subscribe")
        equal(entry.result.value.signature, transaction.signatures[0], "its signature")
        equal(entry.result.value.err, None, "no error")
        ok(any("success" in line for line in entry.result.value.logs), "its log lines")
        begun = of(slot)[0]
        ok(isinstance(begun, SlotNotification), "slot_subscribe")
        news = begun.result
        ok(news.slot > news.parent and news.slot >= news.root, "slot, parent and root")
        slots = [one.result.slot for one in of(slot)]
        equal(slots, sorted(set(slots)), "slots ascend without duplicates")
        ok(isinstance(of(root)[0], RootNotification), "root_subscribe")
        roots = [one.result for one in of(root)]
        equal(roots, sorted(set(roots)), "roots ascend without duplicates")
        # Without enable_received_notification: this client cannot parse that notification.
        [outcome] = of(signature)
        ok(isinstance(outcome, SignatureNotification), "signature_subscribe")
        equal(outcome.result.value.err, None, "it succeeded")
        [last] = of(final)
        ok(last.result.context.slot >= changed.result.context.slot, "finalized")

        again = await socket.signature_subscribe(
            signature=transaction.signatures[0], commitment=Confirmed
        )
        await more(again)
        equal(of(again)[0].result.value.err, None, "a signature that is already confirmed")

        refusal = await refused(
            socket.vote_subscribe(), SolanaJsonRpcError, "an unknown subscription"
        )
        equal(getattr(refusal, "code", None), -32601, "its code")

        for one in (account, sliced, program, parsed, logs, root):
            await socket.unsubscribe(one)
            ok(True, f"unsubscribe from {one.kind.value}")
        # Notifications that the client has buffered are of this slot or older.
        tip = (await client.get_slot(Confirmed)).value
        while of(slot)[-1].result.slot <= tip:
            await more(slot)
        received.clear()
        for _ in range(5):
            await more(slot)
        equal(list(received), [slot.subscription_id], "then only slots")
        await socket.unsubscribe(slot)
        equal(socket.dropped_notifications, 0, "nothing dropped")

    # The client has no accessor for it.
    equal(socket._ws.close_code if socket._ws else None, 1000, "closed by the client")


async def check_batch(payer: Keypair) -> None:
    """Subscriptions and a read in one message: earlier clients sent batches."""
    async with connect(WS_URL) as socket, asyncio.timeout(WAIT_S):
        calls = [
            SlotSubscribe(1),
            RootSubscribe(2),
            AccountSubscribe(payer.pubkey(), None, 3),
            GetSlot(None, 4),
        ]
        await socket.send(batch_to_json(calls))
        replies = json.loads(await socket.recv())
        equal(sorted(reply["id"] for reply in replies), [1, 2, 3, 4], "a batch has one reply")
        ids = {reply["id"]: reply["result"] for reply in replies}
        equal(len({ids[1], ids[2], ids[3]}), 3, "with three subscriptions")
        waiting = {ids[1], ids[2]}
        while waiting:
            [message] = parse_websocket_message(await socket.recv())
            waiting.discard(message.subscription)
        ok(True, "which get notifications")


async def check_restart() -> None:
    """The client does not reconnect; it must report the close of the connection."""
    async with SolanaWsClient(WS_URL) as socket:
        await socket.slot_subscribe()
        await socket.recv()
        os.kill(EDGE, signal.SIGKILL)

        async def listen() -> None:
            async with asyncio.timeout(WAIT_S):
                while True:
                    await socket.recv()

        await refused(listen(), ConnectionClosedError, "the close of a killed edge is reported")

    async def is_back() -> bool:
        try:
            async with SolanaWsClient(WS_URL) as socket:
                await socket.slot_subscribe()
                await socket.recv()
                return True
        except (OSError, WebSocketException):
            return False

    await until(is_back)
    ok(True, "another edge is running")


async def main() -> None:
    async with AsyncClient(RPC_URL, Confirmed) as client:
        await check_reads(client)
        payer = await check_sends(client)
        await check_subscriptions(client, payer)
        await check_batch(payer)
    await check_restart()
    print(f"1..{checked}", flush=True)


asyncio.run(main())
