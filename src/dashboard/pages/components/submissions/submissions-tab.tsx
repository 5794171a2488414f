import { useServices } from '../../hooks/context.js'
import { CopyId } from '../shared/copy-id.js'
import { Failure } from '../shared/failure.js'
import { MissingNote } from '../shared/missing-note.js'
import { formatMoment, formatPlural } from '../../lib/format.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import type { Access, Submission } from '../../lib/wire.js'

/** How often submissions are loaded again. */
const REFRESH_MS = 5_000

/** Badge and name of each outcome. */
const OUTCOMES: Readonly<Record<string, readonly [tone: string, name: string]>> = {
  pending: ['is-none', 'Pending'],
  accepted: ['is-active', 'Accepted'],
  invalid: ['is-ended', 'Failed our checks'],
  refused: ['is-ended', 'Refused by the engine'],
  full: ['is-upcoming', 'No capacity'],
  unreachable: ['is-ended', 'Not sent'],
  unknown: ['is-upcoming', 'Outcome unknown'],
}

/** The message of an upstream error, or its JSON if it has none. */
const toWords = (error: string): string => {
  try {
    const parsed: unknown = JSON.parse(error)
    if (typeof parsed === 'object' && parsed !== null && 'message' in parsed)
      return String(parsed.message)
  } catch {
    // Not JSON: shown as it is.
  }
  return error
}

const Row = ({ submission }: { readonly submission: Submission }) => {
  const [tone, name] = OUTCOMES[submission.outcome] ?? ['is-none', submission.outcome]
  const { answeredAtMs, receivedAtMs, checks, bundleId, signatures, error } = submission
  return (
    <tr>
      <td>{formatMoment(receivedAtMs)}</td>
      <td class="is-wrapping">
        <span class={`badge ${tone}`}>{name}</span>
        <span class="sub">
          {answeredAtMs === null ? '' : `after ${answeredAtMs - receivedAtMs} ms`}
        </span>
        {error !== null && <span class="sub">{toWords(error)}</span>}
      </td>
      <td>
        <code>{submission.route}</code>
        <span class="sub">{submission.location}</span>
      </td>
      <td>
        <CopyId name="submission id" id={submission.submissionId} />
      </td>
      <td>
        {bundleId === null ? '–' : <CopyId name="bundle id" id={bundleId} />}
        {signatures.length > 0 && (
          <span class="sub">{formatPlural(signatures.length, 'transaction')}</span>
        )}
      </td>
      <td class="is-wrapping">{checks === 'passed' ? 'Passed' : checks}</td>
    </tr>
  )
}

/** The most recent bundles of an access, with their checks and outcomes. */
export const SubmissionsTab = ({ access }: { readonly access: Access }) => {
  const { api } = useServices()
  const { value, failure, reload } = useLoaded(
    access.accessId,
    () => api.submissions(access.accessId),
    REFRESH_MS,
  )
  const list = value?.submissions
  return (
    <section class="card" aria-labelledby="submissions-heading">
      <div class="card-head">
        <h2 id="submissions-heading">Recent submissions</h2>
        <p class="muted">All locations of {access.accessId}</p>
      </div>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      <MissingNote missing={value?.missing} />
      {list === undefined && failure === undefined && (
        <div class="skeleton" role="status" aria-busy="true" aria-label="Loading" />
      )}
      {list !== undefined && list.length === 0 && (
        <p class="muted">
          No submissions yet. Bundles sent to <code>/relay</code> or <code>/relay-bundle</code>{' '}
          under one of your RPC URLs are listed here.
        </p>
      )}
      {list !== undefined && list.length > 0 && (
        <div class="scroll" role="region" aria-label="Recent submissions" tabIndex={0}>
          <table class="data">
            <thead>
              <tr>
                <th scope="col">Received</th>
                <th scope="col">Outcome</th>
                <th scope="col">Route</th>
                <th scope="col">Submission</th>
                <th scope="col">Bundle</th>
                <th scope="col">Checks</th>
              </tr>
            </thead>
            <tbody>
              {list.map(submission => (
                <Row key={submission.submissionId} submission={submission} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}
