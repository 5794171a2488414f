import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { runBatch } from '../../src/rpc/batch.js'
import { LoopTurn } from '../../src/shared/event-loop/loop-turn.js'
import { defaults } from '../../src/rpc/options.js'
import type { Outcome } from '../../src/rpc/outcome.js'
import { RpcError } from '../../src/shared/errors.js'
import type { Call } from '../../src/shared/jsonrpc.js'
import { readBody, textSource } from '../fixtures/rpc/fake-reads.js'

const anyElement = fc.record({
  kind: fc.constantFrom('bytes', 'source', 'error', 'notification', 'refusal'),
  turns: fc.nat(3),
  text: fc.nat().map(String),
})

const ERROR = '{"code":-32601,"message":"Method not found"}'
const reused = Buffer.alloc(32)

t.test('replies are in request order, however long each call takes', async t => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyElement, { maxLength: 30 }),
      fc.nat(9),
      async (elements, batchWaitingMax) => {
        const sources: { readonly closeCount: number }[] = []
        const outcomeOf = ({ kind, text }: (typeof elements)[number]): Outcome => {
          if (kind === 'error') return new RpcError('methodNotFound')
          // Like a native result: valid until the next one is written.
          if (kind === 'bytes') return reused.subarray(0, reused.write(text))
          const source = textSource(text, { isSlow: true, stepBytes: 2 })
          sources.push(source)
          return source
        }
        const calls = elements.map(({ kind }, index) => {
          const id = kind === 'notification' ? undefined : String(index)
          return kind === 'refusal' && id !== undefined
            ? { id, error: new RpcError('methodNotFound') }
            : { id, method: String(index), params: [] }
        })
        const run = (call: Call): Outcome | Promise<Outcome> => {
          const element = elements[Number(call.method)]
          assert(element !== undefined)
          if (element.turns === 0) return outcomeOf(element)
          const wait = async (): Promise<Outcome> => {
            for (let turn = 0; turn < element.turns; turn++) await new Promise(setImmediate)
            const outcome = outcomeOf(element)
            return outcome instanceof Uint8Array ? Buffer.from(outcome) : outcome
          }
          return wait()
        }
        const body = runBatch(calls, run, {
          ...defaults,
          atOnce: batchWaitingMax,
          turn: new LoopTurn(60_000, () => performance.now()),
        })
        const waits = elements.some(
          ({ kind, turns }) => turns > 0 && !['notification', 'refusal'].includes(kind),
        )
        assert.equal(body instanceof Promise, waits)
        const replies = elements.flatMap(({ kind, text }, index) => {
          if (kind === 'notification') return []
          const isError = kind === 'error' || kind === 'refusal'
          return `{"jsonrpc":"2.0",${isError ? `"error":${ERROR}` : `"result":${text}`},"id":${index}}`
        })
        const expected = replies.length === 0 ? '' : `[${replies.join(',')}]`
        assert.equal(await readBody(await body, 5), expected)
        assert.ok(sources.every(({ closeCount }) => closeCount === 1))
      },
    ),
  )
  t.pass()
})

t.test('batches leave the event loop after their time of each turn', async t => {
  let nowMs = 0
  const turn = new LoopTurn(2, () => nowMs)
  const log: string[] = []
  const batchOf = (name: string): Promise<string> => {
    const calls = Array.from({ length: 4 }, (_, nth) => ({
      id: String(nth),
      method: `${name}${nth}`,
      params: [],
    }))
    const run = ({ method }: Call): Outcome => {
      nowMs += 1
      log.push(method)
      return Buffer.from('0')
    }
    const body = runBatch(calls, run, { ...defaults, atOnce: 8, turn })
    return Promise.resolve(body).then(settled => readBody(settled))
  }
  const [first, second] = [batchOf('a'), batchOf('b')]
  t.strictSame(log, ['a0', 'a1'], 'the second waits for a turn, too')
  await new Promise(setImmediate)
  t.strictSame(log, ['a0', 'a1', 'a2', 'a3'])
  const replies = [0, 1, 2, 3].map(id => `{"jsonrpc":"2.0","result":0,"id":${id}}`)
  t.equal(await first, `[${replies.join(',')}]`)
  t.equal(await second, `[${replies.join(',')}]`)
  t.strictSame(log.slice(4), ['b0', 'b1', 'b2', 'b3'])
})
