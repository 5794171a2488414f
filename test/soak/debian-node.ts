import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { repositoryPath } from '../fixtures/repository.js'
import { ownDir } from '../fixtures/own-dir.js'
import { soakTest } from '../fixtures/soak.js'

/**
 * Debian's own Node, unpacked with what it needs. A list of its own and an empty status make apt
 * download all of it, on any machine with apt; APT_CONFIG names these lines:
 *
 *     Dir::Etc::sourcelist "<dir>/sources.list";  main of Debian 13 at any mirror
 *     Dir::Etc::sourceparts "/dev/null";
 *     Dir::State "<dir>/state";                   with lists/partial
 *     Dir::State::status "<dir>/state/status";    an empty file
 *     Dir::Cache "<dir>/cache";                   with archives/partial
 *
 *     apt-get update
 *     apt-get install --download-only --no-install-recommends -y nodejs libnode-dev zlib1g-dev
 *     for package in <dir>/cache/archives/*.deb; do dpkg -x $package $SLOTLINE_DEBIAN_ROOT; done
 */
const debian = process.env['SLOTLINE_DEBIAN_ROOT'] ?? ''

const skip =
  debian === ''
    ? 'SLOTLINE_DEBIAN_ROOT names no folder with the packages of Debian'
    : process.getuid?.() === 0
      ? false
      : 'only root can change the root folder'

const run = (command: string, args: readonly string[], env = process.env): string => {
  const ended = spawnSync(command, args, { encoding: 'utf8', env, maxBuffer: 64 * 1024 ** 2 })
  if (ended.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${ended.stderr}`)
  return ended.stdout
}

/** A server with TLS in the process of Debian's Node, and a request to it. */
const PROGRAM = `
import { openServer } from '/slotline/dist/test/src/server/server.js'
import { createLog } from '/slotline/dist/test/src/shared/log.js'
const files = { certFile: '/slotline/cert.pem', keyFile: '/slotline/key.pem' }
const route = {
  method: 'POST', pattern: '/:token', bodyBytesMax: 1000, open: request => request.path,
  handle: (_, body) => ({ status: 200, contentType: 'text/plain', body: String(body.byteLength) }),
}
const server = openServer({
  routes: [route],
  listeners: [{ host: '127.0.0.1', port: 0, tls: files }],
  log: createLog('test', line => process.stderr.write(line)),
  now: () => performance.now(),
})
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
const url = 'https://127.0.0.1:' + server.ports[0] + '/t'
const { request } = await import('node:https')
const reply = await new Promise((resolve, reject) => {
  const sent = request(url, { method: 'POST' }, answer => {
    answer.setEncoding('utf8').on('data', resolve)
  })
  sent.on('error', reject).end('x'.repeat(777))
})
process.stdout.write(reply)
process.exit(0)
`

soakTest(
  'the server is compiled with the headers of Debian, and serves its Node',
  { skip },
  async t => {
    const dir = ownDir(t)
    // Without those of the C library, which must be that of the compiler.
    const include = join(dir, 'include')
    mkdirSync(join(include, 'multiarch'), { recursive: true })
    const found = join(debian, 'usr', 'include')
    for (const name of ['uv.h', 'uv', 'zlib.h', 'zconf.h', 'openssl'])
      symlinkSync(join(found, name), join(include, name))
    symlinkSync(join(found, 'x86_64-linux-gnu/openssl'), join(include, 'multiarch/openssl'))
    const headers = [join(found, 'node'), include, join(include, 'multiarch')].join(':')
    const target = run('rustc', ['--print=host-tuple']).trim()
    const manifest = repositoryPath('native/Cargo.toml')
    const targetDir = process.env['CARGO_TARGET_DIR'] ?? repositoryPath('native/target')
    run(
      'cargo',
      ['build', '--release', '--package=addon', '--target', target, '--manifest-path', manifest],
      { ...process.env, CARGO_TARGET_DIR: targetDir, SLOTLINE_NODE_HEADERS: headers },
    )

    const inside = join(debian, 'slotline')
    const remove = () => rmSync(inside, { recursive: true, force: true })
    remove()
    t.teardown(remove)
    mkdirSync(join(inside, 'native/addon'), { recursive: true })
    const addon = `slotline.${process.platform}-${process.arch}-gnu.node`
    copyFileSync(
      join(targetDir, target, 'release/libaddon.so'),
      join(inside, 'native/addon', addon),
    )
    for (const name of ['native/addon/index.js', 'package.json'])
      copyFileSync(repositoryPath(name), join(inside, name))
    const sources = 'dist/test/src'
    cpSync(repositoryPath(sources), join(inside, sources), { recursive: true })
    cpSync(repositoryPath('node_modules'), join(inside, 'node_modules'), {
      recursive: true,
      filter: path => !/node_modules\/\.|\/(litesvm|typescript|@esbuild)/.test(path),
    })
    const names = ['-keyout', join(inside, 'key.pem'), '-out', join(inside, 'cert.pem')]
    run('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
      ...['-subj', '/CN=localhost', '-days', '2', ...names],
    ])
    writeFileSync(join(inside, 'serve.mjs'), PROGRAM)
    for (const name of ['lib', 'lib64', 'bin'])
      if (!existsSync(join(debian, name))) symlinkSync(join('usr', name), join(debian, name))
    const output = run('env', [
      '-i',
      'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
      'chroot',
      debian,
      '/usr/bin/node',
      '/slotline/serve.mjs',
    ])
    t.equal(output, '777')
  },
)
