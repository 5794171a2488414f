import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parse, stringify } from 'smol-toml'
import t from 'tap'
import { startServe } from '../fixtures/processes/deployment.js'
import { prepareServe } from '../fixtures/processes/serve.js'
import { repositoryPath } from '../fixtures/repository.js'
import { withSecrets } from '../fixtures/secret-config.js'
import { until } from '../fixtures/until.js'

const RECORDER = pathToFileURL(repositoryPath('test/fixtures/processes/record-start.mjs')).href
/** An edge, the sender, control, the process of gRPC, and the indexers of two networks. */
const CHILDREN = 6

type Received = {
  readonly role: string
  readonly network: string | undefined
  readonly text: string
  /** Environment and arguments as the kernel shows them to others. */
  readonly shown: string
}

const toReceived = (folder: string, file: string): Received => {
  const [role = '', pid = ''] = file.replace('.json', '').split('-')
  const text = readFileSync(join(folder, file), 'utf8')
  const { message } = JSON.parse(text) as { message: { assignment: { network?: string } } }
  const shown = ['environ', 'cmdline'].map(name => readFileSync(`/proc/${pid}/${name}`, 'latin1'))
  return { role, network: message.assignment.network, text, shown: shown.join('\0') }
}

/** Moves the credential of the first lander into the environment of the service. */
const moveToEnvironment = (sections: Readonly<Record<string, unknown>>): void => {
  const [network] = sections['networks'] as { lander: { upstream: { credential: string } } }[]
  const { upstream } = network?.lander ?? { upstream: { credential: '' } }
  process.env['LANDER_CREDENTIAL'] = upstream.credential
  upstream.credential = '$LANDER_CREDENTIAL'
}

/** Adds options to the tables of a configuration file. */
const addSections = (file: string, sections: Readonly<Record<string, unknown>>): void => {
  const config = parse(readFileSync(file, 'utf8'))
  const dashboard = { ...(config['dashboard'] as object), ...(sections['dashboard'] as object) }
  writeFileSync(file, stringify({ ...config, ...sections, dashboard }))
}

t.test('what a child receives contains no secret of another', async t => {
  const { sections, secrets } = withSecrets(['one', 'two'])
  const feed = { endpoint: 'http://127.0.0.1:1' }
  const prepared = await prepareServe(
    t,
    { one: feed, two: feed },
    { processes: { edgeCount: 1 } },
    { hasGrpc: true },
  )
  moveToEnvironment(sections)
  addSections(prepared.configFile, sections)
  const folder = join(dirname(prepared.configFile), 'received')
  mkdirSync(folder)
  process.env['RECORD_DIR'] = folder
  await startServe(t, prepared.configFile, { nodeOptions: `--import=${RECORDER}` })
  await until('all have started', () => readdirSync(folder).length === CHILDREN)
  const children = readdirSync(folder).map(file => toReceived(folder, file))
  t.strictSame(children.map(({ role }) => role).toSorted(), [
    'control',
    'edge',
    'geyser',
    'indexer',
    'indexer',
    'sender',
  ])
  for (const { role, network, text, shown } of children)
    for (const secret of secrets) {
      const name = `${role} ${network ?? ''}: ${secret.network} ${secret.keys.join('.')}`
      const isOwn = secret.owners.some(owner => owner === role)
      const isForIt = isOwn && (network === undefined || network === secret.network)
      t.equal(text.includes(secret.text), isForIt, name)
      t.notOk(shown.includes(secret.text), `${name}: environment and arguments`)
    }
})
