import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import { formatCount, formatMoment, formatPlural } from '../../lib/format.js'
import { HEALTHS } from '../../lib/healths.js'
import {
  formatOperatorAccess,
  OPERATOR_VIEWS,
  useOperatorRoute,
  useOperatorView,
  useQuery,
  type OperatorView,
} from '../../lib/route.js'
import type { FoundAccess, OperatorAudit } from '../../lib/wire.js'
import { IncidentList } from '../incidents/incident-list.js'
import { Failure } from '../shared/failure.js'
import { MissingNote } from '../shared/missing-note.js'
import { Segments } from '../shared/segments.js'
import { Lanes } from './lanes.js'
import { OperatorAccess } from './operator-access.js'
import { Paged } from './paged.js'
import { ServiceUsageView } from './service-usage.js'

/** How often the states of nodes are loaded again. */
const NODES_MS = 5_000

const Badge = ({ state }: { readonly state: string }) => {
  const [tone, name] = HEALTHS[state] ?? ['is-none', 'Unknown']
  return <span class={`badge ${tone}`}>{name}</span>
}

const Row = ({
  title,
  children,
}: {
  readonly title: ComponentChildren
  readonly children: ComponentChildren
}) => (
  <li>
    <span class="incident-title">{title}</span>
    <span class="muted">{children}</span>
  </li>
)

const Search = ({
  label,
  searched,
  onSearch,
}: {
  readonly label: string
  readonly searched: string
  readonly onSearch: (text: string) => void
}) => {
  const [text, setText] = useState(searched)
  useEffect(() => setText(searched), [searched])
  return (
    <form
      class="field-row"
      role="search"
      onSubmit={event => {
        event.preventDefault()
        onSearch(text.trim())
      }}
    >
      <input
        type="search"
        class="field"
        maxLength={255}
        aria-label={label}
        placeholder={label}
        value={text}
        onInput={event => setText(event.currentTarget.value)}
      />
      <button class="button">Search</button>
    </form>
  )
}

/** What a list is searched for, and where its page begins, in the URL. */
const useSearch = () => {
  const [query, setQuery] = useQuery()
  const { find = '', from = '' } = query
  const set = (next: Readonly<Record<'find' | 'from', string>>): void =>
    setQuery(Object.fromEntries(Object.entries(next).filter(([, value]) => value !== '')))
  return {
    find,
    setFind: (text: string) => set({ find: text, from: '' }),
    at: [from, (start: string) => set({ find, from: start })],
  } as const
}

/** Addresses of an access that a row shows: that of its holder, and those that were searched. */
const addressesOf = ({ email, members = [] }: FoundAccess, find: string): readonly string[] => [
  ...(email === null ? [] : [email]),
  ...members
    .map(member => `member ${member.email}`)
    .filter(text => find !== '' && text.includes(find.toLowerCase())),
]

const Accesses = () => {
  const { api } = useServices()
  const { find, setFind, at } = useSearch()
  return (
    <>
      <Search label="Id, subject, product, name or e-mail" searched={find} onSearch={setFind} />
      <Paged
        key={find}
        name={find}
        at={at}
        empty={find === '' ? 'No accesses.' : 'No access matches.'}
        load={async after => {
          const { accesses, next } = await api.operatorAccesses(find, after)
          return { items: accesses, next }
        }}
      >
        {accesses => (
          <ul class="incidents">
            {accesses.map(access => (
              <Row
                key={access.accessId}
                title={
                  <>
                    <a href={formatOperatorAccess(access.accessId)}>
                      <strong>
                        <bdi>{access.label === '' ? access.product : access.label}</bdi>
                      </strong>{' '}
                      <code>{access.accessId}</code>
                    </a>
                    <span class={`badge is-${access.state}`}>{access.state}</span>
                  </>
                }
              >
                {access.kind} of <bdi>{access.subject}</bdi> · {access.product} ·{' '}
                {access.networks.join(', ')} at {access.locations.join(', ')} ·{' '}
                {formatPlural(access.tokens.length, 'token')}
                {addressesOf(access, find).map(address => (
                  <>
                    {' '}
                    · <bdi>{address}</bdi>
                  </>
                ))}
              </Row>
            ))}
          </ul>
        )}
      </Paged>
    </>
  )
}

const Nodes = () => {
  const { api } = useServices()
  const { value, failure, reload } = useLoaded('operator-nodes', api.operatorNodes, NODES_MS)
  const slotsOf = (slots: readonly { network: string; slot: number; lag: number | null }[]) =>
    slots
      .map(({ network, slot, lag }) => {
        const behind = lag === null || lag === 0 ? '' : `, ${formatPlural(lag, 'slot')} behind`
        return `${network} at slot ${formatCount(slot)}${behind}`
      })
      .join(' · ')
  return (
    <>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      <h2>Locations</h2>
      <ul class="incidents">
        {value?.locations.map(({ id, state, slots, url }) => (
          <Row
            key={id}
            title={
              <>
                <strong>{id}</strong>
                <Badge state={state} />
              </>
            }
          >
            {slotsOf(slots)} {url === null ? '' : `· ${url}`}
          </Row>
        ))}
      </ul>
      {value?.machines !== undefined && value.machines !== null && (
        <>
          <h2>Machines</h2>
          <ul class="incidents">
            {value.machines.map(({ id, location, state, slots, version, revision }) => (
              <Row
                key={id}
                title={
                  <>
                    <strong>{id}</strong>
                    <span>{location}</span>
                    <Badge state={state} />
                  </>
                }
              >
                {slotsOf(slots)} · version {version ?? 'unknown'} · revision{' '}
                {revision === null ? 'unknown' : formatCount(revision)}
              </Row>
            ))}
          </ul>
        </>
      )}
    </>
  )
}

const Incidents = () => {
  const { api } = useServices()
  return (
    <Paged
      name="incidents"
      empty="No incidents in the last 90 days: every location has served, and no process has ended."
      load={async before => {
        const { incidents, next } = await api.operatorIncidents(before)
        return { items: incidents, next }
      }}
    >
      {incidents => (
        <IncidentList incidents={incidents} nameOf={({ location }) => location ?? 'No location'} />
      )}
    </Paged>
  )
}

const AuditEntries = ({
  entries,
  missing,
  isSearch,
}: OperatorAudit & { readonly isSearch: boolean }) => (
  <>
    <MissingNote missing={missing} />
    {entries.length === 0 ? (
      <p class="muted">{isSearch ? 'No entry matches.' : 'No entries.'}</p>
    ) : (
      <ul class="incidents">
        {entries.map(entry => (
          <Row
            key={`${entry.atMs} ${entry.machine}`}
            title={
              <>
                <strong>{entry.action}</strong>
                <span>
                  by <bdi>{entry.by ?? `the admin token ${entry.admin ?? ''}`}</bdi>
                </span>
                {entry.machine !== undefined && <span>on {entry.machine}</span>}
              </>
            }
          >
            {formatMoment(entry.atMs)} · from {entry.from}
            {entry.accessId !== undefined && ` · ${entry.accessId}`}
            {entry.network !== undefined && ` · ${entry.network} at ${entry.location}`}
          </Row>
        ))}
      </ul>
    )}
  </>
)

const AuditLog = () => {
  const { api } = useServices()
  const { find: subject, setFind, at } = useSearch()
  return (
    <>
      <Search label="Subject who did it" searched={subject} onSearch={setFind} />
      <Paged
        key={subject}
        name={subject}
        at={at}
        empty=""
        load={async before => {
          const found = await api.operatorAudit(subject, before)
          return { items: [found], next: found.next === null ? null : String(found.next) }
        }}
      >
        {pages =>
          pages.map(page => <AuditEntries key={subject} {...page} isSearch={subject !== ''} />)
        }
      </Paged>
    </>
  )
}

const VIEWS = {
  accesses: { name: 'Accesses', View: Accesses },
  usage: { name: 'Usage', View: ServiceUsageView },
  lanes: { name: 'Lanes', View: Lanes },
  nodes: { name: 'Nodes', View: Nodes },
  incidents: { name: 'Incidents', View: Incidents },
  audit: { name: 'Audit', View: AuditLog },
} as const satisfies Record<OperatorView, { readonly name: string; readonly View: () => unknown }>

const Service = () => {
  const [chosen, choose] = useOperatorView()
  const heading = useRef<HTMLHeadingElement>(null)
  const { name, View } = VIEWS[chosen]
  useEffect(() => heading.current?.focus(), [])
  useEffect(() => void (document.title = `${name} · Operator · Slotline`), [name])
  return (
    <section class="stack page" aria-labelledby="operator-heading">
      <div>
        <h1 id="operator-heading" ref={heading} tabIndex={-1}>
          Operator
        </h1>
        <p class="muted">
          The whole service, read-only. Changes are made with <code>slotline access</code> or the
          admin API.
        </p>
      </div>
      <div class="operator-views">
        <Segments
          legend="View"
          options={OPERATOR_VIEWS.map(id => ({ id, name: VIEWS[id].name }))}
          chosen={chosen}
          onChoose={id => choose(OPERATOR_VIEWS.find(one => one === id) ?? 'accesses')}
        />
      </div>
      <section
        class={chosen === 'usage' ? 'operator-view' : 'card operator-view'}
        aria-label={name}
      >
        <View />
      </section>
    </section>
  )
}

/** What operators see of the whole service, and of each access. It changes nothing. */
export const OperatorPage = () => {
  const [route, back] = useOperatorRoute()
  return route === undefined ? (
    <Service />
  ) : (
    <OperatorAccess key={route.accessId} requested={route} back={back} />
  )
}
