import { readFileSync } from 'node:fs'
import t from 'tap'
import { defaults } from '../../src/rpc/options.js'
import { METHODS } from '../../src/rpc/registry.js'
import { CONTROL_TABLES } from '../../src/access/store/control-store.js'
import { TABLES } from '../../src/access/store/tables.js'
import { METRICS } from '../../src/shared/metrics.js'
import { formatErrors } from '../fixtures/docs/errors-page.js'
import { formatMethods } from '../fixtures/docs/methods-table.js'
import { repositoryPath } from '../fixtures/repository.js'
import { parseExact } from '../fixtures/rpc/exact-json.js'
import { applyAccounts, openStore, type AccountDump } from '../fixtures/rpc/store.js'
import { ask, openDispatch, readVectors, VECTOR_SLOT } from '../fixtures/rpc/vectors.js'

const read = (name: string): string => readFileSync(repositoryPath(`docs/${name}`), 'utf8')

t.test('errors.md is the table', async t => {
  t.equal(read('errors.md'), formatErrors())
})

t.test('methods.md has the table, and a section for each method in its order', async t => {
  const text = read('methods.md')
  t.ok(text.includes(formatMethods()), `the table is:\n${formatMethods()}`)
  const sections = Array.from(text.matchAll(/^## ([\w.]+)$/gm), match => match[1])
  t.strictSame(sections, [...METHODS.keys()])
})

/** 40 bytes that end with the Unix time 1,700,000,000. */
const CLOCK: AccountDump = {
  pubkey: 'SysvarC1ock11111111111111111111111111111111',
  account: {
    lamports: 1_169_280,
    data: [Buffer.from('00f1536500000000'.padStart(80, '0'), 'hex').toString('base64'), 'base64'],
    owner: 'Sysvar1111111111111111111111111111111111111',
    executable: false,
    rentEpoch: '18446744073709551615n',
  },
}

t.test('the examples of methods.md are those of the methods, and have these replies', async t => {
  const native = readVectors('getAccountInfo').find(({ name }) => name === 'parsed-native')
  const mint = readVectors('getTokenSupply').find(({ name }) => name === 'mint')
  const { indexer, reader } = openStore(t)
  const accounts = [CLOCK, ...(native?.accounts ?? []), ...(mint?.accounts ?? [])]
  const keys = ['9BfqjzPM2VBpEgKSTJTET8gtQhM4TuYy3ki2dxafdsmh']
  const tip = { keys: ['HDQyTpmXofMPGWT9HscU1HBKoeus2n9EJYVfwKWPizDs'], writable: [] }
  const paid = [
    { keys, price: 5_000, writable: [0] },
    { ...tip, gains: [[0, 1_000_000] as const] },
  ]
  applyAccounts(indexer, accounts, VECTOR_SLOT, undefined, paid)
  const dispatch = openDispatch(reader.reads(defaults))
  const examples = [...read('methods.md').matchAll(/^```json\n(.*)\n(.*)\n```$/gm)]
  // All but rpc.discover, whose reply is a separate document.
  t.equal(examples.length, METHODS.size - 1)
  const declared = [...METHODS.values()].filter(({ example }) => example !== undefined)
  t.equal(declared.length, METHODS.size - 1)
  for (const [index, { name, example }] of declared.entries()) {
    const [, request = '', reply = ''] = examples[index] ?? []
    const { params = [], result } = example ?? {}
    const call = { jsonrpc: '2.0', id: 1, method: name, ...(params.length > 0 && { params }) }
    t.equal(request, JSON.stringify(call))
    t.strictSame(await ask(dispatch, request), parseExact(reply), request)
    const exact = JSON.stringify(result, (_name, value: unknown) =>
      typeof value === 'bigint' ? `${value}n` : value,
    ).replaceAll(/"(\d+)n"/g, '$1')
    t.strictSame(parseExact(exact), (parseExact(reply) as { result: unknown }).result, name)
  }
})

t.test('architecture.md has the tables of all stores', async t => {
  const page = read('architecture.md')
  const source = repositoryPath('native/store/src/tables.rs')
  // A backslash at the end of a line joins a string of Rust with the next line.
  const nativeErrors = readFileSync(source, 'utf8').replace(/\\\n\s*/g, '')
  const declared = [...nativeErrors.matchAll(/^    (\w+): "(.+)"\s*=>\s*"(.+)",\s*"(.+)";$/gm)]
  t.ok(declared.length >= 12, 'the declarations are found')
  for (const [, name = '', key, value, meaning] of declared)
    t.ok(page.includes(`| \`${name}\` | ${key} | ${value} | ${meaning} |`), name)
  const rows = [...Object.values(TABLES), ...Object.values(CONTROL_TABLES)]
  for (const { name, meaning } of rows) t.ok(page.includes(`| \`${name}\` | ${meaning} |`), name)
})

t.test('operations/metrics.md has a row for each metric', async t => {
  const page = read('operations/metrics.md')
  const rows = [...page.matchAll(/^\| `(slotline_\w+)`/gm)].map(([, name]) => name)
  t.strictSame(
    rows,
    Object.values(METRICS).map(({ name }) => name),
  )
})
