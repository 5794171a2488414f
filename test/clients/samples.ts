import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import {
  SAMPLE_CALLS,
  SAMPLE_LANGUAGES,
  type SampleCall,
} from '../../src/dashboard/pages/lib/sample-text.js'
import { checkSample, payerFile, samplesOf } from '../fixtures/docs/samples.js'
import { sharedBusySandbox } from '../fixtures/processes/shared-sandbox.js'
import type { Deployment } from '../fixtures/processes/deployment.js'
import { repositoryPath } from '../fixtures/repository.js'
import { pythonWith } from '../fixtures/sandbox/python.js'
import { skipAbsent } from '../fixtures/skip-absent.js'
import { isSoak } from '../fixtures/soak.js'

const LANGUAGES = SAMPLE_LANGUAGES.filter(({ id }) => id !== 'rust')

/** Variables of the shell with signed transactions: the samples for curl take `$TRANSACTION`. */
const signedFor = async (
  call: SampleCall,
  { dataDir }: Deployment,
): Promise<Readonly<Record<string, string>>> => {
  const script = repositoryPath('scripts/sign-samples.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [script, dataDir])
  const name = call === 'relay' ? 'BUNDLE_MEMBER' : 'TRANSACTION'
  return { TRANSACTION: new RegExp(`^${name}='(.*)'$`, 'm').exec(stdout)?.[1] ?? '' }
}

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
    KEYPAIR: payerFile(dir, deployment),
    PATH: `${repositoryPath('node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
  }
  const all = SAMPLE_CALLS.flatMap(({ id: call }, nth) =>
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
        writeFileSync(path, sample(call, file))
        const signed = language === 'curl' ? await signedFor(call, deployment) : {}
        await checkSample(t, deployment, call, [command, path], { ...environment, ...signed })
      })
})
