import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import {
  fillSample,
  SAMPLE_CALLS,
  SAMPLE_LANGUAGES,
} from '../../../../src/dashboard/pages/lib/sample-text.js'
import type { SubmissionRoute } from '../../../../src/dashboard/pages/lib/wire.js'
import { repositoryPath } from '../../../fixtures/repository.js'

const URLS = { rpcUrl: 'https://rpc.example/slt', wsUrl: 'wss://rpc.example/slt' }

const COUNTS = { lander: 15, service: 5, engine: 8 } as const
type Payee = keyof typeof COUNTS
const accountsOf = (payee: Payee): readonly string[] =>
  Array.from({ length: COUNTS[payee] }, (_, nth) => `${payee}-account-${nth};`)

const routeOf = (path: string, payees: readonly Payee[]): SubmissionRoute =>
  ({
    path,
    tips: payees.map(payee => ({ payee, lamportsMin: 1_000, accounts: accountsOf(payee) })),
  }) as unknown as SubmissionRoute

const PANEL = {
  submissionRoutes: [
    routeOf('/lander', ['lander']),
    routeOf('/relay-bundle', ['service', 'engine']),
  ],
}

/** Samples that name accounts when they are shown. Those of bundles choose when they run. */
const named = SAMPLE_CALLS.flatMap(({ id: call }) =>
  SAMPLE_LANGUAGES.flatMap(({ file }) => {
    const text = readFileSync(repositoryPath(`docs/samples/${call}/${file}`), 'utf8')
    const payees = (Object.keys(COUNTS) as Payee[]).filter(payee =>
      text.includes(`SLOTLINE_${payee.toUpperCase()}_TIP_ACCOUNT`),
    )
    return payees.length === 0 ? [] : [{ call, file, text, payees }]
  }),
)

t.test('each sample of a submission names tip accounts, or asks for them', t => {
  t.strictSame(
    named.map(({ call, file, payees }) => `${call} ${file} ${payees.join(' ')}`),
    ['web3.mjs', 'kit.mjs', 'python.py', 'rust.rs']
      .map(file => `lander ${file} lander`)
      .concat(
        ['web3.mjs', 'kit.mjs', 'python.py', 'rust.rs'].map(file => `relay ${file} service engine`),
      ),
  )
  t.end()
})

for (const { call, file, text, payees } of named)
  t.test(`${call} ${file} names each account for an equal part of random numbers`, t => {
    const accountIn = (payee: Payee, share: number): readonly string[] => {
      const filled = fillSample(text, URLS, call, PANEL, share)
      return accountsOf(payee).filter(account => filled.includes(account))
    }
    for (const payee of payees) {
      const accounts = accountsOf(payee)
      fc.assert(
        fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), share => {
          const expected = accounts[Math.floor(share * accounts.length)]
          return accountIn(payee, share).join() === expected
        }),
      )
      const steps = Array.from({ length: accounts.length * 10 }, (_, nth) => nth)
      const counts = new Map<string, number>()
      for (const nth of steps)
        for (const account of accountIn(payee, (nth + 0.5) / steps.length))
          counts.set(account, (counts.get(account) ?? 0) + 1)
      t.strictSame(
        [...counts],
        accounts.map(account => [account, 10]),
        payee,
      )
    }
    t.end()
  })
