import bs58 from 'bs58'
import t from 'tap'
import { readSendAnswer } from '../../../src/submission/lander/send-answer.js'

const SIGNATURE = bs58.encode(Buffer.alloc(64, 7))
const OTHER = bs58.encode(Buffer.alloc(64, 8))
const result = (of: unknown): string => JSON.stringify({ jsonrpc: '2.0', id: 1, result: of })
const error = (code: number, message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code, message } })

type Row = [
  sender: string,
  kind: 'json' | 'status',
  status: number,
  body: string,
  outcome: 'accepted' | 'refused' | 'full' | 'unknown',
]

/**
 * What the senders of the field answer, and what it means: a signature and a status accept, 419 and
 * 429 are a rate, and a status of success beside an error is a refusal.
 */
const ROWS: readonly Row[] = [
  ['Lunar Lander', 'json', 200, result(SIGNATURE), 'accepted'],
  ['Lunar Lander /send-bin', 'status', 200, SIGNATURE, 'accepted'],
  ['Lunar Lander /send-bin', 'status', 200, '', 'accepted'],
  ['Lunar Lander', 'json', 429, 'rate limit exceeded', 'full'],
  ['Helius', 'json', 200, result(SIGNATURE), 'accepted'],
  ['Helius without a tip', 'json', 400, error(-32_602, 'a tip is missing'), 'refused'],
  ['Helius over its rate', 'json', 429, error(-32_429, 'too many requests'), 'full'],
  ['Jito', 'json', 200, result(SIGNATURE), 'accepted'],
  ['Jito over its rate', 'json', 429, error(-32_097, 'retry in 250 ms'), 'full'],
  ['Jito, blocked', 'json', 400, error(-32_602, 'blocked'), 'refused'],
  ['Nozomi text', 'status', 200, '', 'accepted'],
  ['Nozomi batch', 'status', 200, '  \r\n', 'accepted'],
  ['Nozomi under its tip', 'status', 400, 'Insufficient tip', 'refused'],
  ['Nozomi, key', 'status', 401, 'unauthorized', 'refused'],
  ['Nozomi over its rate', 'status', 429, 'slow down', 'full'],
  ['Nozomi, a fault', 'status', 500, 'internal error', 'unknown'],
  ['Astralane /iris', 'json', 200, result(SIGNATURE), 'accepted'],
  ['Astralane /iris2', 'status', 200, JSON.stringify({ result: SIGNATURE }), 'accepted'],
  ['Astralane /irisb', 'status', 200, JSON.stringify({ result: [SIGNATURE] }), 'accepted'],
  ['Astralane', 'status', 400, error(-32_600, 'no tip'), 'refused'],
  ['bloXroute', 'status', 200, JSON.stringify({ signature: SIGNATURE }), 'accepted'],
  ['NextBlock', 'status', 200, JSON.stringify({ signature: SIGNATURE, uuid: 'u' }), 'accepted'],
  ['NextBlock', 'status', 200, JSON.stringify({ code: 13, message: 'low tip' }), 'refused'],
  ['NextBlock', 'status', 200, JSON.stringify({ reason: 'low tip' }), 'refused'],
  ['NextBlock', 'status', 400, JSON.stringify({ code: 3, message: 'no tip' }), 'refused'],
  ['0slot', 'status', 200, 'ok', 'accepted'],
  ['0slot', 'status', 200, result(SIGNATURE), 'accepted'],
  ['0slot, key', 'status', 403, 'null', 'refused'],
  ['0slot over its rate', 'status', 419, 'ok', 'full'],
  ['0slot failed', 'status', 500, 'ok', 'unknown'],
  ['BlockRazor', 'status', 200, JSON.stringify({ signature: SIGNATURE, error: '' }), 'accepted'],
  ['BlockRazor', 'status', 200, JSON.stringify({ signature: '', error: 'tip' }), 'refused'],
  ['FlashBlock', 'status', 200, JSON.stringify({ success: true, signatures: [] }), 'accepted'],
  ['FlashBlock', 'status', 200, JSON.stringify({ success: false }), 'refused'],
  ['Glaive', 'status', 200, JSON.stringify({ result: SIGNATURE }), 'accepted'],
  [
    'Glaive',
    'status',
    200,
    JSON.stringify({ error: { code: -32_000, message: 'tip' } }),
    'refused',
  ],
  ['Glaive', 'status', 200, JSON.stringify({ error: 'tip' }), 'refused'],
  ['Glaive over its rate', 'status', 429, JSON.stringify({ error: 'rate' }), 'full'],
  ['Syncro over its rate', 'json', 429, error(-32_005, 'rate'), 'full'],
  ['Syncro without a tip', 'json', 200, error(-32_602, 'tip'), 'refused'],
  ['a node', 'json', 200, error(-32_002, 'simulation failed'), 'refused'],
  // What lies.
  ['of another transaction', 'json', 200, result(OTHER), 'unknown'],
  ['of another transaction', 'status', 200, OTHER, 'unknown'],
  ['of another transaction', 'status', 200, JSON.stringify({ result: [OTHER] }), 'unknown'],
  ['of another transaction', 'status', 200, JSON.stringify({ signature: OTHER }), 'unknown'],
  ['no JSON-RPC', 'json', 200, '<html>', 'unknown'],
  ['nothing', 'json', 200, '', 'unknown'],
  ['no result', 'json', 200, result(null), 'unknown'],
  ['17 KB', 'status', 200, 'a'.repeat(17 * 1024), 'accepted'],
]

t.test('each answer of the field is of the class that its sender means', t => {
  for (const [sender, kind, status, body, outcome] of ROWS) {
    const reply = { status, contentType: '', headers: undefined, body: Buffer.from(body) }
    const read = readSendAnswer(reply, { isBinary: kind === 'status', signature: SIGNATURE })
    t.equal(read.outcome, outcome, `${sender}: ${status} ${body.slice(0, 60)}`)
  }
  t.end()
})
