import bs58 from 'bs58'
import t, { type Test } from 'tap'
import {
  compileTransaction,
  readonly,
  writable,
  writableSigner,
  type Instruction,
} from '../../../src/sandbox/solana/compile-transaction.js'
import { deriveBundleId } from '../../../src/sandbox/upstreams/derive-bundle-id.js'
import { deriveBytes, deriveKeypair } from '../../../src/sandbox/solana/keypair.js'
import { transferLamports } from '../../../src/sandbox/solana/system-instructions.js'
import { RELAY_ROUTES, type RelayRoute } from '../../../src/submission/store/submission.js'
import { compileV0 } from '../../fixtures/sandbox/compile-v0.js'
import { compileV1 } from '../../fixtures/sandbox/compile-v1.js'
import { accepted } from '../../fixtures/submission/relay-engine.js'
import { answer, openRawUpstream } from '../../fixtures/submission/raw-upstream.js'
import { base64, openMachine, post, sendBundle, TIPS } from '../../fixtures/submission/relay.js'

const SERVICE_FLOOR = 1_000_000n
const ENGINE_FLOOR = 1_000n
const FLOORS =
  'one bundle member must pay at least the service tip floor (1000000 lamports) and the bundle-engine tip floor ' +
  '(1000 lamports) and include an application instruction with a writable static account'

const payer = deriveKeypair('qualifying', 'payer')
const state = deriveKeypair('qualifying', 'state').publicKey
const UNKNOWN = bs58.encode(deriveKeypair('qualifying', 'program').publicKey)
const SYSTEM = '1'.repeat(32)

let nonce = 0
const blockhash = (): Buffer => deriveBytes('blockhash', nonce++)

const calls = (
  program: string,
  accounts = [writable(state)],
  data: Uint8Array = Buffer.of(1),
): Instruction => ({
  programId: bs58.decode(program),
  accounts,
  data,
})
const pays = (to: string, lamports: bigint): Instruction =>
  transferLamports(payer.publicKey, bs58.decode(to), lamports)
const tipsOf = (route: RelayRoute): [service: string, engine: string] => [
  TIPS[route].service[0] ?? '',
  TIPS[route].engine[0] ?? '',
]
const paid = (route: RelayRoute): Instruction[] => {
  const [service, engine] = tipsOf(route)
  return [pays(service, SERVICE_FLOOR), pays(engine, ENGINE_FLOOR)]
}
const sign = (instructions: readonly Instruction[]): Buffer =>
  compileTransaction(instructions, [payer], blockhash())

/** An edge before an engine that takes everything, and how a bundle fares there. */
const open = async (t: Test) => {
  const engine = await openRawUpstream(t, (socket, { body }) =>
    socket.write(answer(accepted(body))),
  )
  const { edges } = await openMachine(t, { urls: [engine.url] })
  const send = (route: RelayRoute, members: readonly Uint8Array[]) =>
    post(edges[0].port, route, sendBundle(route, members.map(base64)))
  const outcomeOf = async (route: RelayRoute, members: readonly Uint8Array[]): Promise<string> => {
    const before = engine.received.length
    const { json } = await send(route, members)
    const isForwarded = engine.received.length > before
    if (isForwarded !== (json.error === undefined)) return 'forwarded and refused'
    return json.error?.message ?? 'taken'
  }
  return { engine, send, outcomeOf }
}

/** Programs that are no application: those of the fact sheet, by name. */
const EXEMPT: Readonly<Record<string, string>> = {
  System: SYSTEM,
  ComputeBudget: 'ComputeBudget111111111111111111111111111111',
  'Memo v1': 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo',
  'Memo v2': 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  Vote: 'Vote111111111111111111111111111111111111111',
  Ed25519: 'Ed25519SigVerify111111111111111111111111111',
  Secp256k1: 'KeccakSecp256k11111111111111111111111111111',
  Secp256r1: 'Secp256r1SigVerify1111111111111111111111111',
  AddressLookupTable: 'AddressLookupTab1e1111111111111111111111111',
}
const COUNTED: Readonly<Record<string, string>> = {
  Token: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'Token-2022': 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
  'Associated Token': 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL',
  Stake: 'Stake11111111111111111111111111111111111111',
  'an unknown one': UNKNOWN,
}

t.test('which programs are an application', async t => {
  const { outcomeOf } = await open(t)
  for (const route of RELAY_ROUTES) {
    for (const [name, program] of Object.entries(EXEMPT)) {
      const alone = sign([...paid(route), calls(program)])
      t.equal(await outcomeOf(route, [alone]), FLOORS, `${route}: ${name}`)
      const beside = sign([calls(program), ...paid(route), calls(UNKNOWN)])
      t.equal(await outcomeOf(route, [beside]), 'taken', `${route}: ${name}, and an application`)
    }
    for (const [name, program] of Object.entries(COUNTED))
      t.equal(await outcomeOf(route, [sign([...paid(route), calls(program)])]), 'taken', name)
  }
})

/** A version 0 transaction whose further keys come from a lookup table. */
const signV0 = (instructions: readonly Instruction[], addresses: readonly Uint8Array[]): Buffer =>
  compileV0(instructions, payer, bs58.encode(blockhash()), { key: deriveBytes('table'), addresses })

/** A System instruction with its number, lamports, and whatever follows. */
const system = (kind: number, lamports: bigint, more: Uint8Array = new Uint8Array()): Buffer => {
  const data = Buffer.alloc(12)
  data.writeUInt32LE(kind)
  data.writeBigUInt64LE(lamports, 4)
  return Buffer.concat([data, more])
}

t.test('which tips and which applications qualify', async t => {
  const { outcomeOf } = await open(t)
  for (const route of RELAY_ROUTES) {
    const [service, engine] = tipsOf(route)
    const serviceKey = bs58.decode(service)
    const application = calls(UNKNOWN)
    const enginePaid = pays(engine, ENGINE_FLOOR)
    const from = writableSigner(payer.publicKey)
    const transfer = (data: Buffer, accounts = [from, writable(serviceKey)]): Instruction =>
      calls(SYSTEM, accounts, data)
    const withService = (instruction: Instruction): Buffer =>
      sign([instruction, enginePaid, application])
    const readOnlyTip = sign([pays(service, SERVICE_FLOOR), enginePaid, calls(UNKNOWN, [from])])
    // Signer and two tip accounts are writable, two programs are not; one more read-only key
    // reaches the last tip.
    const changed = Buffer.from(readOnlyTip)
    changed.writeUInt8(3, 1 + 64 + 2)
    const resigned = Buffer.concat([
      Buffer.of(1),
      payer.sign(changed.subarray(65)),
      changed.subarray(65),
    ])
    const cases: [name: string, members: Buffer[], isTaken: boolean][] = [
      ['both floors and an application', [sign([...paid(route), application])], true],
      [
        'a tip in two transfers to two accounts of a class',
        [
          sign([
            pays(service, SERVICE_FLOOR - 1n),
            pays(TIPS[route].service[1] ?? '', 1n),
            enginePaid,
            application,
          ]),
        ],
        true,
      ],
      [
        'a lamport less in two transfers',
        [
          sign([
            pays(service, SERVICE_FLOOR - 2n),
            pays(TIPS[route].service[1] ?? '', 1n),
            enginePaid,
            application,
          ]),
        ],
        false,
      ],
      [
        'data of 11 bytes',
        [withService(transfer(system(2, SERVICE_FLOOR).subarray(0, 11)))],
        false,
      ],
      ['data of 12 bytes', [withService(transfer(system(2, SERVICE_FLOOR)))], true],
      ['data of 13 bytes', [withService(transfer(system(2, SERVICE_FLOOR, Buffer.of(0))))], true],
      [
        'a transfer with seed',
        [
          withService(
            transfer(system(11, SERVICE_FLOOR, Buffer.alloc(40)), [
              from,
              from,
              writable(serviceKey),
            ]),
          ),
        ],
        false,
      ],
      [
        'a withdrawal from a nonce account',
        [withService(transfer(system(5, SERVICE_FLOOR)))],
        false,
      ],
      ['a tip account that the header calls writable', [readOnlyTip], true],
      ['and one that it calls read-only', [resigned], false],
      [
        'a tip account of a lookup table',
        [signV0([transfer(system(2, SERVICE_FLOOR)), enginePaid, application], [serviceKey])],
        false,
      ],
      [
        'a writable account of a lookup table alone',
        [signV0([...paid(route), application], [state])],
        false,
      ],
      [
        'one that is in the transaction as well',
        [signV0([...paid(route), calls(UNKNOWN, [writable(state), from])], [state])],
        true,
      ],
      [
        'an application that only reads',
        [sign([...paid(route), calls(UNKNOWN, [readonly(state)])])],
        false,
      ],
      ['an application without accounts', [sign([...paid(route), calls(UNKNOWN, [])])], false],
      [
        'an application that writes the payer',
        [sign([...paid(route), calls(UNKNOWN, [from])])],
        true,
      ],
      [
        'a reserved key that the header calls writable',
        [
          sign([
            ...paid(route),
            calls(UNKNOWN, [writable(bs58.decode('SysvarC1ock11111111111111111111111111111111'))]),
          ]),
        ],
        false,
      ],
      [
        'the program itself as the account',
        [sign([...paid(route), calls(UNKNOWN, [writable(bs58.decode(UNKNOWN))])])],
        false,
      ],
      [
        'the same beside the upgradeable loader',
        [
          sign([
            ...paid(route),
            calls(UNKNOWN, [
              writable(bs58.decode(UNKNOWN)),
              readonly(bs58.decode('BPFLoaderUpgradeab1e11111111111111111111111')),
            ]),
          ]),
        ],
        false,
      ],
      [
        'a payment to somebody else',
        [sign([...paid(route), pays(bs58.encode(state), 1_000_000n)])],
        false,
      ],
      [
        'tips in one member, the application in another',
        [sign(paid(route)), sign([application])],
        false,
      ],
      [
        'the last of three members',
        [sign([application]), sign(paid(route)), sign([...paid(route), application])],
        true,
      ],
    ]
    for (const [name, members, isTaken] of cases)
      t.equal(await outcomeOf(route, members), isTaken ? 'taken' : FLOORS, `${route}: ${name}`)
  }
})

t.test('version 1 qualifies, and its first signature is at its end', async t => {
  const { engine, send } = await open(t)
  for (const route of RELAY_ROUTES) {
    const v1 = await compileV1(payer, bs58.encode(blockhash()), [...paid(route), calls(UNKNOWN)])
    const legacy = sign([calls(UNKNOWN)])
    t.equal(v1[0], 0x81)
    engine.received.length = 0
    const { json, headers } = await send(route, [v1, legacy])
    const signatures = [v1.subarray(-64), legacy.subarray(1, 65)]
    const id = deriveBundleId(signatures)
    t.strictSame(json.result, route === '/relay' ? signatures.map(one => bs58.encode(one)) : id)
    t.equal(headers['x-bundle-id'], id)
    t.equal(engine.received.length, 1)

    const forged = Buffer.from(v1)
    forged.writeUInt8(forged.readUInt8(forged.length - 10) ^ 1, forged.length - 10)
    const refused = await send(route, [forged, legacy])
    t.equal(refused.json.error?.message, 'transaction 0 signature verification failure')

    // Up to 4,096 bytes elsewhere, but here one packet.
    const [tip, ...others] = [...paid(route), calls(UNKNOWN)]
    const padded = async (byteCount: number): Promise<Buffer> => {
      const make = (more: number) =>
        compileV1(payer, bs58.encode(blockhash()), [
          ...(tip === undefined
            ? []
            : [{ ...tip, data: Buffer.concat([tip.data, Buffer.alloc(more)]) }]),
          ...others,
        ])
      return make(byteCount - (await make(0)).length)
    }
    t.ok((await send(route, [await padded(1_232)])).json.result, '1,232 bytes')
    const long = await send(route, [await padded(1_233)])
    t.equal(long.json.error?.message, 'transaction 0 exceeds 1232 bytes')
    t.equal(engine.received.length, 2)
  }
})
