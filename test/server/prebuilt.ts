import { spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import t from 'tap'
import { loadCompiled } from '../../src/server/compiled/library.js'
import { loadPrebuilt, PrebuiltUnavailable } from '../../src/server/prebuilt.js'
import { runToEnd } from '../fixtures/processes/deployment.js'
import { prepareServe } from '../fixtures/processes/serve.js'
import { repositoryPath } from '../fixtures/repository.js'
import {
  connect,
  exchange,
  isPrebuilt,
  openTestServer,
  post,
  proxyHeader,
  replyCount,
  statusOf,
  text,
} from '../fixtures/server/server.js'

const LINE = 'the prebuilt package uWebSockets.js serves'

/** Why the prebuilt package cannot serve here through no fault of ours; else undefined. */
const findObstacle = async (): Promise<string | undefined> => {
  try {
    await loadPrebuilt()
    return undefined
  } catch (error) {
    const isObstacle =
      error instanceof PrebuiltUnavailable && ['no-binary', 'c-library'].includes(error.reason)
    return isObstacle ? error.message : undefined
  }
}

const skip = (await findObstacle()) ?? false

t.test('the prebuilt package answers, and a line says that it serves', { skip }, async t => {
  const { port, lines } = await openTestServer(t, [{}], { options: { library: 'prebuilt' } })
  t.equal(statusOf(await exchange(port, post('/t', 'hi'))), '200')
  t.match(lines.join(''), LINE)
})

t.test('the compiled server says nothing', { skip: isPrebuilt && 'not compiled' }, async t => {
  const { lines } = await openTestServer(t, [{}])
  t.notMatch(lines.join(''), LINE)
})

/** Makes each process look for the binary of another Node. */
const asNodeWith = (modules: string): string =>
  `--import=data:text/javascript,Object.defineProperty(process,'versions',` +
  `{value:{...process.versions,modules:'${modules}'}})`

const NODE_24 = '137'
const report = process.report.getReport() as {
  readonly header: { readonly glibcVersionRuntime?: string }
}
const isOldLibrary = Number(report.header.glibcVersionRuntime?.split('.')[1]) < 38

const obstacles: [name: string, modules: string, why: RegExp, skip: string | false][] = [
  ['an absent binary', '999', new RegExp(`no binary for Node ${process.version} on `), false],
  ['an old C library', NODE_24, /needs GLIBC_2\.\d+, /, !isOldLibrary && 'it is new here'],
]

for (const [name, modules, why, skip] of obstacles)
  t.test(`a start fails with one line about ${name}`, { skip }, async t => {
    const feeds = { one: { endpoint: 'http://127.0.0.1:1' } }
    const prepared = await prepareServe(t, feeds, {
      processes: { edgeCount: 1 },
      server: { library: 'prebuilt' },
      log: { level: 'fatal' },
    })
    const args = ['serve', '--config', prepared.configFile]
    const { code, output } = await runToEnd(t, args, { nodeOptions: asNodeWith(modules) })
    t.equal(code, 1)
    t.equal(output.split('\n').length, 2, output)
    t.match(output, /^slotline: the prebuilt server cannot be loaded: /)
    t.match(output, why)
    t.match(output, `uws_${process.platform}_${process.arch}_${modules}.node`)
    const isCompiled = loadCompiled() !== undefined
    t.match(output, isCompiled ? '; remove server.library, ' : '; compile the server: ')
  })

t.test('it consumes a PROXY header, and its address is never believed', { skip }, async t => {
  const seen: string[] = []
  const { port } = await openTestServer(
    t,
    [{ open: request => void seen.push(request.address), handle: () => text('handled') }],
    { options: { library: 'prebuilt', trustedProxies: ['127.0.0.9'] } },
  )
  const requests = [
    proxyHeader('9.9.9.9') + post('/t', 'x'),
    proxyHeader('8.8.8.8') + post('/t', 'x', ['X-Forwarded-For: 7.7.7.7']),
    proxyHeader('6.6.6.6') + post('/t', 'x'),
  ]
  const connection = await connect(port, { localAddress: '127.0.0.9' })
  for (const [index, request] of requests.entries()) {
    connection.socket.write(request, 'latin1')
    await connection.until(now => replyCount(now) > index)
  }
  connection.socket.destroy()
  t.strictSame(seen, ['127.0.0.9', '7.7.7.7', '127.0.0.9'])
})

t.test('a binary with another checksum is not loaded', { skip }, async t => {
  const dir = t.testdir()
  const installed = dirname(createRequire(import.meta.url).resolve('uWebSockets.js'))
  const copied = join(dir, 'node_modules', 'uWebSockets.js')
  const binary = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`
  mkdirSync(copied, { recursive: true })
  for (const name of ['package.json', 'ESM_wrapper.mjs', 'uws.js', binary])
    copyFileSync(join(installed, name), join(copied, name))
  cpSync(repositoryPath('dist'), join(dir, 'dist'), {
    recursive: true,
    filter: path => !path.startsWith(repositoryPath('dist/test')),
  })
  copyFileSync(repositoryPath('package.json'), join(dir, 'package.json'))
  symlinkSync(repositoryPath('native'), join(dir, 'native'))
  const load = () => {
    const code = "import('./dist/server/prebuilt.js').then(({ loadPrebuilt }) => loadPrebuilt())"
    return spawnSync(process.execPath, ['--eval', code], { cwd: dir, encoding: 'utf8' })
  }
  const recorded = load()
  t.equal(recorded.status, 0, `the recorded one is loaded: ${recorded.stderr}`)
  const bytes = readFileSync(join(copied, binary))
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1)
  writeFileSync(join(copied, binary), bytes)
  const { status, stderr } = load()
  t.not(status, 0)
  t.match(stderr, /cannot be loaded: the SHA-256 of \S+ is [0-9a-f]{64}, not [0-9a-f]{64};/)
})
