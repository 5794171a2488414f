import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { commandLine, startDeployment } from '../fixtures/processes/deployment.js'
import { blocksOf, readPage } from '../fixtures/docs/markdown.js'
import { ownDir } from '../fixtures/own-dir.js'

t.test('every command of docs/access.md does what it says', async t => {
  const dir = ownDir(t)
  const dataDir = join(dir, '.slotline')
  const { port } = await startDeployment(t, { dataDir, args: ['--edges', '1'] })
  const blocks = blocksOf(readPage('docs/access.md')).filter(({ language }) => language === 'sh')
  t.equal(blocks.length, 4)
  const script = blocks
    .map(({ text }) => text.replaceAll('127.0.0.1:8903', `127.0.0.1:${port + 4}`))
    .join('\n')
  const [command, args] = commandLine()
  const own = `set -e\nslotline() { ${[command, ...args].join(' ')} "$@"; }\n`
  const { stdout } = await promisify(execFile)('sh', ['-c', own + script], {
    cwd: dir,
    timeout: 90_000,
  })
  t.match(stdout, /"address": "8\.8\.8\.8"[^]*"address": null/)
  t.match(stdout, /"state": "ended"[^]*"state": "active"/)
  t.match(stdout, /"accesses":\[.*"subject":"ada"/, 'by curl')
})
