import { isUtf8 } from 'node:buffer'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SHARED_ABSENT, sharedPath } from '../fixtures/shared.js'
import { openSocket } from '../fixtures/server/socket.js'
import { applyAccounts, openStore } from '../fixtures/rpc/store.js'
import { VECTOR_SLOT } from '../fixtures/rpc/vectors.js'
import { openWire } from '../fixtures/rpc/wire.js'

const wire = await openWire(t)
const path = `/${wire.token}`
const dir = sharedPath('json/test_parsing')

t.test(
  'messages of a JSON parser test suite',
  { skip: dir === undefined && SHARED_ABSENT },
  async t => {
    const { indexer, reader } = openStore(t)
    applyAccounts(indexer, [], VECTOR_SLOT)
    wire.serve(reader)
    const files = readdirSync(dir ?? '')
    t.equal(files.length, 318)
    let client = await openSocket(wire.port, { path })
    const call = '{"jsonrpc":"2.0","id":7,"method":"getLatestBlockhash","params":['
    for (const file of files) {
      const alone = readFileSync(join(dir ?? '', file))
      const inside = Buffer.concat([Buffer.from(call), alone, Buffer.from(']}')])
      for (const body of [alone, inside]) {
        const expected = (await wire.send(body)).body.toString()
        client.send(body, { opcode: 2 })
        t.equal(await client.next(), expected, `${file} as bytes`)
        client.send(body)
        if (isUtf8(body)) {
          t.equal(await client.next(), expected, `${file} as text`)
          continue
        }
        // Text that is no UTF-8 fails the connection, by the protocol.
        t.match(await client.closed, { code: 1006 }, `${file} as text`)
        client = await openSocket(wire.port, { path })
      }
    }
    client.destroy()
  },
)
