import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import {
  SAMPLE_CALLS,
  SAMPLE_LANGUAGES,
  type SampleCall,
} from '../../src/dashboard/pages/lib/sample-text.js'
import {
  checkSample,
  checkTips,
  sampleEnvironment,
  samplesOf,
  withSmallPages,
} from '../fixtures/docs/samples.js'
import { sharedBusySandbox } from '../fixtures/processes/shared-sandbox.js'
import type { Deployment } from '../fixtures/processes/deployment.js'
import { repositoryPath } from '../fixtures/repository.js'
import { pythonWith } from '../fixtures/sandbox/python.js'
import { skipAbsent } from '../fixtures/skip-absent.js'
import { isSoak } from '../fixtures/soak.js'

const LANGUAGES = SAMPLE_LANGUAGES.filter(({ id }) => id !== 'rust')

/** Samples that `resume.ts` runs, over a break. */
const ELSEWHERE: readonly SampleCall[] = ['resume']

/** Variables of the shell with signed transactions, which the samples for curl take. */
const signedFor = async (
  call: SampleCall,
  { dataDir }: Deployment,
): Promise<Readonly<Record<string, string>>> => {
  const script = repositoryPath('scripts/sign-samples.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [script, dataDir])
  const valueOf = (name: string): string =>
    new RegExp(`^${name}='(.*)'$`, 'm').exec(stdout)?.[1] ?? ''
  if (call === 'bundle') return { FIRST: valueOf('FIRST'), LAST: valueOf('BUNDLE_MEMBER') }
  return { TRANSACTION: valueOf(call === 'relay' ? 'BUNDLE_MEMBER' : 'TRANSACTION') }
}

t.test('samples for Rust name the crates they use, as the tests build them', async t => {
  const lock = readFileSync(repositoryPath('test/clients/rust/Cargo.lock'), 'utf8')
  for (const { id: call } of SAMPLE_CALLS) {
    const text = readFileSync(repositoryPath(`docs/samples/${call}/rust.rs`), 'utf8')
    const named = [...text.matchAll(/ ([a-z][\w-]*)@=([\d.]+)/g)]
    for (const [, name, version] of named)
      t.ok(lock.includes(`name = "${name}"\nversion = "${version}"\n`), `${name} ${version}`)
    const crates = new Set(named.map(([, name = '']) => name.replaceAll('-', '_')))
    for (const [, root = ''] of text.matchAll(/^use (\w+)/gm))
      t.ok(root === 'std' || crates.has(root), `${call} adds ${root}`)
  }
})

t.test('every sample of the dashboard does what it says', async t => {
  t.setTimeout(240_000)
  const python = pythonWith('solana', '0.41.0')
  const commands: Readonly<Record<string, string | undefined>> = {
    curl: 'sh',
    web3: process.execPath,
    kit: process.execPath,
    python: 'python' in python ? python.python : undefined,
  }
  const deployment = await sharedBusySandbox()
  const sample = await samplesOf(deployment)
  const dir = join(deployment.dataDir, 'samples')
  mkdirSync(dir)
  // Where the samples find their packages.
  symlinkSync(repositoryPath('node_modules'), join(dir, 'node_modules'))
  const environment = {
    ...sampleEnvironment(dir, deployment),
    PATH: `${repositoryPath('node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
  }
  const calls = SAMPLE_CALLS.filter(({ id }) => !ELSEWHERE.includes(id))
  const all = calls.flatMap(({ id: call }, nth) =>
    LANGUAGES.map((language, other) => ({ call, language, isOften: (nth + other) % 2 === 0 })),
  )
  // Every call, and every language with half of them; a soak runs the others too.
  for (const {
    call,
    language: { id: language, file },
    isOften,
  } of all)
    if (isOften || isSoak)
      await t.test(`${call} with ${language}`, async t => {
        const command = commands[language]
        if (command === undefined) return skipAbsent(t, 'absent' in python ? python.absent : '')
        const path = join(dir, `${call}.${file}`)
        writeFileSync(path, withSmallPages(sample(call, file)))
        const isSigned = language === 'curl' && call !== 'read' && call !== 'pages'
        const signed = isSigned ? await signedFor(call, deployment) : {}
        await checkSample(t, deployment, call, [command, path], { ...environment, ...signed })
        // What curl sends is signed elsewhere.
        if (call === 'bundle' && language !== 'curl' && isSoak)
          await checkTips(t, deployment, [command, path], environment)
      })
})
