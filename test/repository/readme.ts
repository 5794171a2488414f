import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { METHODS } from '../../src/rpc/registry.js'
import { startDeployment } from '../fixtures/processes/deployment.js'
import { parseExact } from '../fixtures/rpc/exact-json.js'
import { blocksOf, readPage } from '../fixtures/docs/markdown.js'
import { ownDir } from '../fixtures/own-dir.js'

const run = promisify(execFile)
const readme = readPage('README.md')
const blocks = blocksOf(readme)
const commands = blocks
  .filter(block => block.language === 'sh')
  .flatMap(block => block.text.split('\n'))
const [answer = '', dump = '', ownAnswer = ''] = blocks
  .filter(block => block.language === 'json')
  .map(block => block.text)

/**
 * What moves with the chain is taken out: the slot, and amounts while the sandbox makes transfers.
 */
const settle = (reply: string): unknown =>
  parseExact(
    reply
      .replace(/"slot":\d+/, '"slot":0')
      .replace(/("(?:uiAmount|amount|uiAmountString)":)("?)[\d.]+"?/g, '$1$20$2'),
  )

t.test('the README names every method', async t => {
  for (const name of METHODS.keys()) t.match(readme, `\`${name}\``)
})

t.test('npm commands of the README are scripts', async t => {
  const { scripts } = JSON.parse(readPage('package.json')) as {
    readonly scripts: Readonly<Record<string, string>>
  }
  const named = commands.flatMap(command => /^npm (?:run )?([\w:]+)/.exec(command)?.[1] ?? [])
  t.strictSame(named, ['start', 'start', 'test', 'bench', 'ready'])
  for (const name of named) t.type(scripts[name], 'string', name)
})

t.test('the README shows the real output', async t => {
  const dataDir = ownDir(t)
  const accountDir = join(dataDir, 'accounts-to-load')
  mkdirSync(accountDir)
  writeFileSync(join(accountDir, 'own.json'), dump)
  const deployment = await startDeployment(t, {
    dataDir: join(dataDir, 'data'),
    args: ['--account-dir', accountDir],
  })
  const curls = commands.filter(command => command.startsWith('curl '))
  t.equal(curls.length, 2)
  const ask = async (command = ''): Promise<string> =>
    (await run('sh', ['-c', command.replace('$URL', deployment.url)])).stdout
  t.strictSame(settle(await ask(curls[0])), settle(answer))
  t.strictSame(settle(await ask(curls[1])), settle(ownAnswer))

  const printed = (curls[0] ?? '').replace('$URL', deployment.url)
  t.ok(deployment.output().includes(printed), 'the README has the printed command')

  // The printed lines; a placeholder for a token matches one.
  const welcome = blocks.find(block => block.language === 'text')?.text ?? ''
  const fra = deployment.port
  const toPattern = (line: string): RegExp =>
    new RegExp(
      line
        .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
        .replace(/:(8899|8901|8903|8904)/g, (_, port) => `:${Number(port) - 8899 + fra}`)
        .replace('<38 characters>', '[0-9A-Za-z]{38}')
        .replace('…', '[0-9A-Za-z]{38} '),
      'm',
    )
  for (const line of welcome.split('\n')) t.match(deployment.output(), toPattern(line), line)
  const health = await fetch(`http://127.0.0.1:${fra}/health`)
  t.strictSame([health.status, await health.text()], [200, 'ok'])
  const ping = await fetch(`http://127.0.0.1:${fra}/ping`)
  t.strictSame([ping.status, await ping.text()], [200, 'pong'])
  t.equal(await deployment.stop(), 0)
})
