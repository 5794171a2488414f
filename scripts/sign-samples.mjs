// Signs the transactions that the commands of docs/submission.md send to a running sandbox, and
// prints them as shell variables:
//   eval "$(node scripts/sign-samples.mjs)"
// The only argument is the sandbox's data directory, `.slotline` without one.
import { readFileSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import process from 'node:process'
import bs58 from 'bs58'
import { compileTransaction } from '../dist/test/src/sandbox/solana/compile-transaction.js'
import { deriveBundleId } from '../dist/test/src/sandbox/upstreams/derive-bundle-id.js'
import { createKeypair } from '../dist/test/src/sandbox/solana/keypair.js'
import { transferLamports } from '../dist/test/src/sandbox/solana/system-instructions.js'
import { mintTo } from '../dist/test/src/sandbox/solana/token-instructions.js'

const SOL = 1_000_000_000n
/** Tip floor of the lander, and of the service on relay routes. */
const TIP_LAMPORTS = 1_000_000n
const ENGINE_TIP_LAMPORTS = 1_000n
const LENGTH_BYTES = 2

const dataDir = process.argv[2] ?? '.slotline'
const fail = () => {
  process.stderr.write(`slotline: no sandbox runs with its data in ${dataDir}\n`)
  process.exit(1)
}

const readDescription = () => {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'sandbox.json'), 'utf8'))
  } catch {
    return fail()
  }
}
const { locations, tips, samples } = readDescription()
const [{ rpcUrl, submitUrl }] = locations
const payer = createKeypair(bs58.decode(samples.payerSecretKey).subarray(0, 32))

const latestBlockhash = async () => {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash"}',
  }).catch(fail)
  const { result } = await response.json()
  return bs58.decode(result.value.blockhash)
}
const blockhash = await latestBlockhash()

const pay = (to, lamports) => transferLamports(payer.publicKey, bs58.decode(to), lamports)
/** One SOL for a random wallet, so that no two transactions are equal. */
const sign = (...instructions) => {
  const wallet = bs58.encode(randomBytes(32))
  const bytes = compileTransaction([pay(wallet, SOL), ...instructions], [payer], blockhash)
  return { bytes, wallet, base64: Buffer.from(bytes).toString('base64') }
}
const signForLander = () => sign(pay(tips.lander[0], TIP_LAMPORTS))
const frame = bytes => {
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt16BE(bytes.length)
  return [length, bytes]
}

const transaction = signForLander()
const raw = signForLander()
const members = [signForLander(), signForLander()]
const batch = join(dataDir, 'batch.bin')
const records = [signForLander(), signForLander()].flatMap(({ bytes }) => frame(bytes))
writeFileSync(batch, Buffer.concat(records), { mode: 0o600 })
/** The qualifying member of a relay bundle: it pays both tips, and calls a program that writes. */
const signForRelay = () =>
  sign(
    pay(tips.service[0], TIP_LAMPORTS),
    pay(tips.engine[0], ENGINE_TIP_LAMPORTS),
    mintTo(
      bs58.decode(samples.program),
      { mint: bs58.decode(samples.mint), account: bs58.decode(samples.tokenAccount) },
      payer.publicKey,
      1n,
    ),
  )
const relayMember = signForRelay()
const bundleMember = signForRelay()
const variables = {
  SUBMIT: submitUrl,
  TRANSACTION: transaction.base64,
  WALLET: transaction.wallet,
  RAW_TRANSACTION: raw.base64,
  FIRST: members[0].base64,
  SECOND: members[1].base64,
  BATCH: batch,
  RELAY_MEMBER: relayMember.base64,
  BUNDLE_MEMBER: bundleMember.base64,
  BUNDLE_ID: deriveBundleId([bundleMember.bytes.subarray(1, 65)]),
  HEADERS: join(dataDir, 'headers.txt'),
}
for (const [name, value] of Object.entries(variables))
  process.stdout.write(`${name}='${value.replaceAll("'", `'\\''`)}'\n`)
