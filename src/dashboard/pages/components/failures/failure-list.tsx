import { useState } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import { useCopied } from '../../hooks/use-copied.js'
import { copyText } from '../../lib/copy-text.js'
import { ORIGINS, toCurl } from '../../lib/usage/failure-text.js'
import { formatCount, formatDuration, formatExactTime, formatShortDay } from '../../lib/format.js'
import { locationName } from '../../lib/submission-text.js'
import type { Access, FailedRequest } from '../../lib/wire.js'
import { CopyId } from '../shared/copy-id.js'
import { Icon } from '../shared/icon.js'

const CopyCurl = ({ command }: { readonly command: string }) => {
  const { announce } = useServices()
  const [isCopied, markCopied] = useCopied()
  const copy = async (): Promise<void> => {
    try {
      await copyText(Promise.resolve(command))
      markCopied()
      announce('The command is copied. Set SLOTLINE_RPC_URL to your RPC URL before you run it.')
    } catch {
      announce('Your browser does not allow copying here.')
    }
  }
  return (
    <button type="button" class="button" onClick={() => void copy()}>
      <Icon name={isCopied ? 'check' : 'copy'} />
      Copy as curl
    </button>
  )
}

type Props = { readonly failure: FailedRequest; readonly locations: Access['locations'] }

/** All that is known of a failed request. */
const Details = ({ failure, locations }: Props) => {
  const { address, bytes, elapsedMs, location, network, origin, params, request, slot } = failure
  const facts: readonly (readonly [string, string])[] = [
    ['Refused by', ORIGINS[origin]],
    ['Location', locationName(location, locations)],
    ['Network', network],
    ['From address', address === '' ? 'unknown' : address],
    ['Size', bytes === null ? 'not read' : `${formatCount(bytes)} bytes`],
    ['Duration', elapsedMs === null ? 'did not run' : formatDuration(elapsedMs)],
    ['Slot', slot === null ? '–' : formatCount(slot)],
  ]
  const command = toCurl(failure)
  return (
    <div class="failure-details">
      <dl class="submission-facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        {request !== '' && (
          <div>
            <dt>Request</dt>
            <dd>
              <CopyId name="request id" id={request} isWhole />
            </dd>
          </div>
        )}
      </dl>
      {params !== '' && (
        <pre class="failure-params" aria-label="Parameters" tabIndex={0}>
          {params}
        </pre>
      )}
      {command !== undefined && <CopyCurl command={command} />}
    </div>
  )
}

const Item = ({ failure, locations }: Props) => {
  const [isOpen, setOpen] = useState(false)
  const { address, atMs, code, method, text } = failure
  return (
    <li>
      <button
        type="button"
        class="failure-row"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <time dateTime={new Date(atMs).toISOString()}>
          {formatShortDay(atMs)} {formatExactTime(atMs)}
        </time>
        <code>{method}</code>
        <span class="failure-code">{code}</span>
        <span class="failure-text">{text}</span>
        <span class="failure-address">{address}</span>
        <Icon name={isOpen ? 'up' : 'down'} />
      </button>
      {isOpen && <Details failure={failure} locations={locations} />}
    </li>
  )
}

/** What tells failed requests apart: an edge lists some of one millisecond. */
const keyOf = (failure: FailedRequest, index: number): string =>
  `${failure.atMs} ${failure.request} ${index}`

/** Failed requests, one line each, that open to all that is known. */
export const FailureList = ({
  failures,
  locations,
}: {
  readonly failures: readonly FailedRequest[]
  readonly locations: Access['locations']
}) => {
  // Counted from the oldest: new ones must not open or close others.
  const keys = failures.map((failure, index) => keyOf(failure, failures.length - index))
  return (
    <ul class="failures" aria-label="Failed requests">
      {failures.map((failure, index) => (
        <Item key={keys[index]} failure={failure} locations={locations} />
      ))}
    </ul>
  )
}
