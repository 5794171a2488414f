// Signature checks at the native boundary. The sketch: of a record's 45 µs the signature takes 44;
// parsing, tips, base58 and the comparison of messages take one together, so the checks are as fast
// as a bare loop. What the event loop pays is measured on signed batches, which a lander's mostly
// are.
import assert from 'node:assert/strict'
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { onStart } from '../child.js'
import { median } from '../report/report.js'
import { compareLoops, createTransactionChecks } from '../../src/native/transactions.js'

/** Rounds of both loops in turn. */
export type Start = { readonly rounds: number }

export type Measured = {
  /** Speed of the checks as a share of the bare loop's, in processor time of one thread. */
  readonly ratio: number
  /** Signatures in a second of processor time, by a bare loop. */
  readonly barePerSecond: number
  /** The same through the addon, by the clock: one thread of the pool and the event loop. */
  readonly checkedPerSecond: number
  /** Of the event loop, for one body of 16 records: the call and the verdict's objects. */
  readonly loopMicros: number
}

const RECORDS = 16
/** Bodies of one measurement: 1,024 signatures over as many messages. */
const BODIES = 64
/** Times that each body is checked alone. */
const LOOP_ROUNDS = 16
/** Zeros behind a message: that of a usual swap has 400 to 600 bytes. */
const DATA_BYTES = 300

type Signer = { readonly publicKey: Buffer; readonly privateKey: KeyObject }

const newSigner = (): Signer => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return {
    publicKey: Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url'),
    privateKey,
  }
}

/**
 * One record: a transaction of one signer, whose one instruction writes the payer and has much
 * data.
 */
const newRecord = ({ publicKey, privateKey }: Signer, nonce: number): Buffer => {
  const data = Buffer.alloc(DATA_BYTES)
  data.writeUInt32LE(nonce)
  const message = Buffer.concat([
    Buffer.from([1, 0, 1, 2]),
    publicKey,
    Buffer.alloc(32, 0xa1),
    Buffer.alloc(32, 9),
    Buffer.from([1, 1, 1, 0, (DATA_BYTES & 127) | 128, DATA_BYTES >> 7]),
    data,
  ])
  const bytes = Buffer.concat([Buffer.from([1]), sign(null, message, privateKey), message])
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes])
}

const measure = async ({ rounds }: Start): Promise<Measured> => {
  const checks = createTransactionChecks(
    { tipClasses: [], exemptPrograms: [], signatureRule: 'strict' },
    { verifyThreads: 1, verifyNiceness: 0, verifyQueueMax: BODIES },
  )
  const signers = Array.from({ length: RECORDS }, newSigner)
  const bodies = Array.from({ length: BODIES }, (_, nth) =>
    Buffer.concat(signers.map((signer, at) => newRecord(signer, nth * RECORDS + at))),
  )
  /** Alternates body by body, so that other load of the machine affects both. */
  const loopsMicros = (): [bare: number, checked: number] => {
    const loops = bodies.map(compareLoops)
    assert(loops.every(({ signatures }) => signatures === RECORDS))
    return [
      loops.reduce((sum, { bareMicros }) => sum + bareMicros, 0),
      loops.reduce((sum, { checkedMicros }) => sum + checkedMicros, 0),
    ]
  }
  const checkedMicros = async (): Promise<number> => {
    const from = performance.now()
    const verdicts = await Promise.all(bodies.map(body => checks.checkBatch(body)))
    const micros = (performance.now() - from) * 1_000
    const members = verdicts.flatMap(({ members }) => members)
    assert(
      members.length === BODIES * RECORDS && members.every(({ isSigned }) => isSigned === true),
    )
    return micros
  }
  const measureLoop = async (): Promise<number> => {
    const before = performance.eventLoopUtilization()
    for (let round = 0; round < LOOP_ROUNDS; round++)
      for (const body of bodies) await checks.checkBatch(body)
    const { active } = performance.eventLoopUtilization(before)
    return (active * 1_000) / (LOOP_ROUNDS * BODIES)
  }
  loopsMicros()
  await checkedMicros()
  const pairs: [bare: number, checked: number][] = []
  const micros: number[] = []
  for (let round = 0; round < rounds; round++) {
    pairs.push(loopsMicros())
    micros.push(await checkedMicros())
  }
  const perSecond = (times: readonly number[]): number => (BODIES * RECORDS * 1e6) / median(times)
  return {
    ratio: median(pairs.map(([bare, checked]) => bare / checked)),
    barePerSecond: perSecond(pairs.map(([bare]) => bare)),
    checkedPerSecond: perSecond(micros),
    loopMicros: await measureLoop(),
  }
}

onStart<Start, Measured>(measure)
