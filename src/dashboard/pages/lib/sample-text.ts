import type { ActivePanel, SubmissionRoute } from './wire.js'

/** What a sample does, in display order. */
export const SAMPLE_CALLS = [
  { id: 'read', name: 'Read' },
  { id: 'pages', name: 'Pages' },
  { id: 'subscribe', name: 'Subscribe' },
  { id: 'resume', name: 'Reconnect' },
  { id: 'lander', name: 'Lander' },
  { id: 'relay', name: 'Relay' },
  { id: 'bundle', name: 'Bundle' },
] as const
export type SampleCall = (typeof SAMPLE_CALLS)[number]['id']

/** What samples are written for, and the names of their files. */
export const SAMPLE_LANGUAGES = [
  { id: 'curl', name: 'curl', file: 'curl.sh' },
  { id: 'web3', name: 'web3.js', file: 'web3.mjs' },
  { id: 'kit', name: 'Kit', file: 'kit.mjs' },
  { id: 'python', name: 'Python', file: 'python.py' },
  { id: 'rust', name: 'Rust', file: 'rust.rs' },
] as const

/** The route that a sample of a submission uses. */
const PATHS: ReadonlyMap<SampleCall, string> = new Map([
  ['lander', '/lander'],
  ['relay', '/relay-bundle'],
  ['bundle', '/relay-bundle'],
])

const routeOf = (
  routes: readonly SubmissionRoute[],
  call: SampleCall,
): SubmissionRoute | undefined => routes.find(({ path }) => path === PATHS.get(call))

/** The samples that work for a network with these routes. */
export const sampleCallsFor = (routes: readonly SubmissionRoute[]) =>
  SAMPLE_CALLS.filter(({ id }) => !PATHS.has(id) || routeOf(routes, id) !== undefined)

/**
 * Fills the placeholders of a sample: `SLOTLINE_RPC_URL`, `SLOTLINE_WS_URL`, and account and
 * lamports of each tip of its route, such as `SLOTLINE_LANDER_TIP_ACCOUNT`.
 */
export const fillSample = (
  text: string,
  { rpcUrl, wsUrl }: { readonly rpcUrl: string; readonly wsUrl: string },
  call: SampleCall,
  { submissionRoutes }: Pick<ActivePanel, 'submissionRoutes'>,
  /** From 0 up to but not including 1: which of the tip accounts is named. */
  share = 0,
): string => {
  const tips = routeOf(submissionRoutes, call)?.tips
  const values = new Map([
    ['RPC_URL', rpcUrl],
    ['WS_URL', wsUrl],
  ])
  for (const { payee, lamportsMin, accounts } of tips ?? []) {
    values.set(
      `${payee.toUpperCase()}_TIP_ACCOUNT`,
      accounts[Math.floor(share * accounts.length)] ?? '',
    )
    values.set(`${payee.toUpperCase()}_TIP_LAMPORTS`, String(lamportsMin))
  }
  return text.replace(/SLOTLINE_([A-Z_]+)/g, (found, name: string) => values.get(name) ?? found)
}
