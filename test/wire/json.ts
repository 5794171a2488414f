import { isUtf8 } from 'node:buffer'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { SHARED_ABSENT, sharedPath } from '../fixtures/shared.js'
import { applyAccounts, openStore } from '../fixtures/rpc/store.js'
import { VECTOR_SLOT } from '../fixtures/rpc/vectors.js'
import { openWire } from '../fixtures/rpc/wire.js'

const wire = await openWire(t)
const PARSE_ERROR = '{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}'
/** Far more than any reply needs. */
const REPLY_MAX_MS = 5_000
/** Greatest nesting depth of a message. */
const NESTING_MAX = 127

const isJson = (bytes: Buffer): boolean => {
  try {
    if (!isUtf8(bytes)) return false
    JSON.parse(bytes.toString())
    return true
  } catch {
    return false
  }
}

const replyTo = async (body: Buffer): Promise<string> => {
  const answer = await Promise.race([
    wire.send(body),
    sleep(REPLY_MAX_MS, undefined, { ref: false }),
  ])
  if (answer === undefined) throw new Error('no reply in time')
  if (answer.status !== 200) throw new Error(`HTTP ${answer.status}`)
  return answer.body.toString()
}

const dir = sharedPath('json/test_parsing')
t.test(
  'bodies of a JSON parser test suite are answered',
  { skip: dir === undefined && SHARED_ABSENT },
  async t => {
    const { indexer, reader } = openStore(t)
    applyAccounts(indexer, [], VECTOR_SLOT)
    const files = readdirSync(dir ?? '')
    t.equal(files.length, 318)
    for (const fastLane of [true, false]) {
      wire.serve(reader, { fastLane })
      for (const file of files) {
        const body = readFileSync(join(dir ?? '', file))
        const text = await replyTo(body)
        type Failed = { jsonrpc: string; error: { code: number } }
        // No body is a valid call: valid JSON is an invalid request, alone or in its place of a
        // batch, and the rest a parse error.
        for (const { jsonrpc, error } of [JSON.parse(text) as Failed | Failed[]].flat())
          t.strictSame([jsonrpc, [-32700, -32600].includes(error.code)], ['2.0', true], file)
        if (file.startsWith('n_')) t.equal(text, PARSE_ERROR, file)

        const call = '{"jsonrpc":"2.0","id":7,"method":"getLatestBlockhash","params":['
        const around = Buffer.concat([Buffer.from(call), body, Buffer.from(']}')])
        const inside = await replyTo(around)
        const isTooDeep = body.filter(byte => byte === 0x5b || byte === 0x7b).length > NESTING_MAX
        if (isJson(around) && !isTooDeep) t.match(inside, /"id":7}$/, `${file} as a parameter`)
        else t.equal(inside, PARSE_ERROR, `${file} as a parameter`)
      }
    }
  },
)
