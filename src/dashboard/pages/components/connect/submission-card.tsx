import { EndpointRow, EndpointRows } from './endpoint-table.js'
import { SecretField } from './secret-field.js'
import { CopyId } from '../shared/copy-id.js'
import { formatCount, formatPlural } from '../../lib/format.js'
import type { SecretView } from '../../hooks/use-secret.js'
import type { ActivePanel, SubmissionRoute } from '../../lib/wire.js'

/** What each route takes. */
const TAKES: Readonly<Record<SubmissionRoute['path'], string>> = {
  '/lander': 'sendTransaction: 1 transaction',
  '/lander-submit-bundle': 'sendBundle: 1 to 4 transactions',
  '/lander-submit-batch': '1 to 16 binary records',
  '/send': '1 transaction, as bytes or text',
  '/race': '1 transaction, as bytes or text, to every lane whose tip it pays',
  '/relay': 'sendBundle: 1 to 4 transactions',
  '/relay-bundle': 'sendBundle: 1 to 5 transactions',
}

const PAYEES = {
  lander: 'Lander tip',
  lane: 'Lane tip',
  service: 'Service tip',
  engine: 'Engine tip',
} as const

/** Routes with the same tips, in the order of the routes. */
const groupByTips = (routes: readonly SubmissionRoute[]) => {
  const groups = new Map<string, { paths: string[]; tips: SubmissionRoute['tips'] }>()
  for (const { path, tips } of routes) {
    const key = JSON.stringify(tips)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { paths: [path], tips })
    else group.paths.push(path)
  }
  return [...groups.values()]
}

/** The tips that submissions by some routes pay, and to whom. */
const Tips = ({
  paths,
  tips,
}: {
  readonly paths: readonly string[]
  readonly tips: SubmissionRoute['tips']
}) => (
  <section class="tips">
    <h3>
      Tips for{' '}
      {paths.map((path, index) => (
        <>
          {index > 0 && ', '}
          <code>{path}</code>
        </>
      ))}
    </h3>
    {tips.map(({ payee, lamportsMin, accounts }) => (
      <details key={accounts.join()}>
        <summary>
          {PAYEES[payee]}: at least <strong>{formatCount(lamportsMin)} lamports</strong> to one of{' '}
          {formatPlural(accounts.length, 'account')}
        </summary>
        <ul class="tip-accounts">
          {accounts.map(account => (
            <li key={account}>
              <CopyId name={`${payee} tip account`} id={account} />
            </li>
          ))}
        </ul>
      </details>
    ))}
  </section>
)

/** The submission routes of the network: their URLs, and the tips that each of them takes. */
export const SubmissionCard = ({
  panel,
  secret,
}: {
  readonly panel: ActivePanel
  readonly secret: SecretView
}) => {
  const routes = panel.submissionRoutes
  if (routes.length === 0) return null
  return (
    <section class="card" aria-labelledby="submission-heading">
      <h2 id="submission-heading">Submission</h2>
      <p class="muted">
        Send signed transactions to one of these URLs. Tips are System transfers at the top level of
        the transaction; several to one payee are added up.
      </p>
      <EndpointRows heads={['Route', 'URL']}>
        {routes.map(({ path }) => (
          <EndpointRow key={path} name={<code>{path}</code>} detail={TAKES[path]}>
            <SecretField
              name={`${path} URL`}
              masked={`${panel.rpcUrl}${path}`}
              toText={({ rpcUrl }) => `${rpcUrl}${path}`}
              secret={secret}
            />
          </EndpointRow>
        ))}
      </EndpointRows>
      {groupByTips(routes).map(group => (
        <Tips key={group.paths.join()} {...group} />
      ))}
    </section>
  )
}
