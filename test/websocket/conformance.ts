import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import type { SocketRoute } from '../../src/shared/socket.js'
import { pythonWith } from '../fixtures/sandbox/python.js'
import { openTestServer } from '../fixtures/server/server.js'
import { skipAbsent } from '../fixtures/skip-absent.js'

const IS_FULL = process.env['SLOTLINE_SOAK'] === 'full'
/** Of packed messages: nothing to try where they are not offered, and minutes where they are. */
const PACKED = ['12.*', '13.*']
/** Large messages: minutes too. */
const LARGE = ['9.*']
const MESSAGE_BYTES_MAX = 64 * 1024 ** 2

type Ran = { readonly code: number | null; readonly output: string }

const run = (python: string, args: readonly string[]): Promise<Ran> =>
  new Promise((resolve, reject) => {
    const child = spawn(python, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', data => (output += String(data)))
    child.stderr.on('data', data => (output += String(data)))
    child.once('error', reject)
    child.once('close', code => resolve({ code, output }))
  })

const ECHO: SocketRoute = {
  pattern: '/*',
  frameBytesMax: MESSAGE_BYTES_MAX,
  open: () => ({}),
  onOpen() {},
  onMessage: (_, socket, body, isBinary) => void socket.send(body, isBinary),
  onClose() {},
}

const behaviours = (folder: string): Map<string, string[]> => {
  const found = new Map<string, string[]>()
  for (const name of readdirSync(folder)) {
    if (!/_case_.*\.json$/.test(name)) continue
    const { id, behavior }: { id: string; behavior: string } = JSON.parse(
      readFileSync(join(folder, name), 'utf8'),
    )
    found.set(behavior, [...(found.get(behavior) ?? []), id])
  }
  return found
}

t.test('the Autobahn cases', async t => {
  t.setTimeout(IS_FULL ? 1_800_000 : 110_000)
  // The runner of the cases, in Python.
  const found = pythonWith('kosoku', '0.1.0')
  if ('absent' in found) return skipAbsent(t, found.absent)
  const kosoku = join(dirname(found.python), 'kosoku')
  for (const socketCompression of ['none', 'shared']) {
    const { port } = await openTestServer(t, [], {
      sockets: [ECHO],
      options: {
        socketCompression,
        socketReadBytesMax: MESSAGE_BYTES_MAX,
        socketQueueBytesMax: 4 * MESSAGE_BYTES_MAX,
        socketStallMs: 60_000,
      },
    })
    const folder = t.testdir()
    const slow = IS_FULL ? [] : [...LARGE, ...PACKED]
    const left = socketCompression === 'none' ? [...slow, ...PACKED] : slow
    const skipped = [...new Set(left)].flatMap(cases => ['-x', cases])
    const ran = await run(found.python, [
      kosoku,
      ...skipped,
      '-p',
      '2',
      '-o',
      folder,
      `127.0.0.1:${port}`,
    ])
    t.equal(ran.code, 0, `${socketCompression}: ${ran.output.trim().slice(-300)}`)
    const seen = behaviours(folder)
    t.comment([...seen].map(([behaviour, ids]) => `${ids.length} ${behaviour}`).join(', '))
    t.strictSame(seen.get('FAILED') ?? [], [])
    t.strictSame(seen.get('WRONG CODE') ?? [], [])
    t.ok((seen.get('OK') ?? []).length > 200)
  }
})
