import { serviceNow } from '../../lib/clock.js'
import { useState } from 'preact/hooks'
import { formatCount, formatPlural } from '../../lib/format.js'
import { HEALTHS } from '../../lib/healths.js'
import {
  isScopeFound,
  marksOfAccess,
  marksOfScope,
  titleOf,
  type Mark,
} from '../../lib/overview.js'
import { formatAccess, formatRoute } from '../../lib/route.js'
import type { Access, Overview as OverviewValue, OverviewScope } from '../../lib/wire.js'
import type { Loaded } from '../../hooks/use-loaded.js'
import { Failure } from '../shared/failure.js'
import { Icon } from '../shared/icon.js'
import { MissingNote } from '../shared/missing-note.js'
import { Checklist, isComplete } from './checklist.js'
import { GenerateButton } from './generate-button.js'
import { LabelDialog } from './label-dialog.js'
import { Sparkline } from './sparkline.js'

const Marks = ({ marks }: { readonly marks: readonly Mark[] }) => (
  <>
    {marks.map(({ tone, text, href }) => (
      <a key={text} class={`badge ${tone}`} href={href}>
        {text}
      </a>
    ))}
  </>
)

const Count = ({ name, value }: { readonly name: string; readonly value: number }) => (
  <span class="overview-count">
    <strong>{formatCount(value)}</strong> {name}
  </span>
)

const nameIn = (names: readonly { id: string; name: string }[], id: string): string =>
  names.find(one => one.id === id)?.name ?? id

/** A scope as a row that leads to it. */
const ScopeRow = ({
  access,
  scope,
  state,
  onGenerated,
}: {
  readonly access: Access
  readonly scope: OverviewScope
  readonly state: string | undefined
  readonly onGenerated: () => Promise<void>
}) => {
  const { accessId, network, location, tail, hour, day, hours } = scope
  const [tone, health] = HEALTHS[state ?? ''] ?? ['is-none', 'Unknown']
  const marks = marksOfScope(scope, state)
  return (
    <li class={marks.length > 0 ? 'overview-scope is-marked' : 'overview-scope'}>
      <a href={formatRoute({ accessId, network, location, tab: 'connect' })}>
        {nameIn(access.locations, location)}
        <span class="muted"> · {nameIn(access.networks, network)}</span>
      </a>
      <span class="overview-state">
        {tail === null && access.state === 'active' && access.role !== 'view' && (
          <GenerateButton
            scope={scope}
            name={`${nameIn(access.locations, location)}, ${titleOf(access)}`}
            onGenerated={onGenerated}
          />
        )}
        {tail === null ? (
          <span class="muted">No token</span>
        ) : (
          <span class="muted">
            Token <code>…{tail}</code>
          </span>
        )}
        {marks.every(({ text }) => text !== health) && (
          <span class={`badge ${tone}`}>{health}</span>
        )}
        <Marks marks={marks} />
      </span>
      <span class="overview-traffic">
        <Sparkline hours={hours} />
        <Count name="in the last hour" value={hour.requests} />
        <Count name="in 24 hours" value={day.requests} />
      </span>
    </li>
  )
}

type Options = {
  readonly accesses: readonly Access[]
  readonly loaded: Loaded<OverviewValue>
  readonly query: string
  readonly onLabelled: () => Promise<void>
}

const AccessGroup = ({
  access,
  scopes,
  stateOf,
  onLabelled,
}: Pick<Options, 'onLabelled'> & {
  readonly access: Access
  readonly scopes: readonly OverviewScope[]
  readonly stateOf: (location: string) => string | undefined
}) => {
  const [isNaming, setNaming] = useState(false)
  const title = titleOf(access)
  return (
    <section class="card overview-access" aria-label={`${title}, ${access.accessId}`}>
      <div class="card-head">
        <div class="overview-title">
          <h2>
            <a href={formatAccess(access.accessId)}>
              <bdi>{title}</bdi>
            </a>
          </h2>
          <Marks marks={marksOfAccess(access, serviceNow())} />
          <span class="muted">
            {access.role !== 'owner' && `Shared with you to ${access.role} · `}
            {access.label !== '' && `${access.product.name} · `}
            <code>{access.accessId}</code>
          </span>
        </div>
        {access.role !== 'view' && (
          <button type="button" class="button is-quiet" onClick={() => setNaming(true)}>
            {access.label === '' ? 'Name' : 'Rename'}
            <span class="unseen">
              {' '}
              {title}, {access.accessId}
            </span>
          </button>
        )}
      </div>
      <ul>
        {scopes.map(scope => (
          <ScopeRow
            key={`${scope.network}/${scope.location}`}
            access={access}
            scope={scope}
            state={stateOf(scope.location)}
            onGenerated={onLabelled}
          />
        ))}
      </ul>
      {isNaming && (
        <LabelDialog access={access} onSaved={onLabelled} onClose={() => setNaming(false)} />
      )}
    </section>
  )
}

/** All accesses and scopes with their state and traffic; those with marks come first. */
export const Overview = ({ accesses, loaded, query, onLabelled }: Options) => {
  const { value, failure, reload } = loaded
  const states = new Map(value?.locations.map(({ id, state }) => [id, state]))
  const stateOf = (location: string): string | undefined => states.get(location)
  const isMarked = (scope: OverviewScope): boolean =>
    marksOfScope(scope, stateOf(scope.location)).length > 0
  const groups = accesses
    .map(access => ({
      access,
      scopes: (value?.scopes ?? []).filter(
        scope => scope.accessId === access.accessId && isScopeFound(query, access, scope),
      ),
    }))
    .filter(({ scopes }) => scopes.length > 0)
    .toSorted(
      (one, other) => Number(other.scopes.some(isMarked)) - Number(one.scopes.some(isMarked)),
    )
  const shown = groups.flatMap(({ scopes }) => scopes)
  const marked = shown.filter(isMarked)
  // Where the first steps lead to: a token if there is one.
  const active = (value?.scopes ?? []).filter(({ accessId }) =>
    accesses.some(
      access => access.accessId === accessId && access.state === 'active' && access.role !== 'view',
    ),
  )
  const first = active.find(({ tail }) => tail !== null) ?? active[0]
  return (
    <section class="stack overview" aria-labelledby="page-heading">
      <p class="muted">
        {value === undefined
          ? 'Loading'
          : `${formatPlural(groups.length, 'access', 'accesses')}, ${formatPlural(shown.length, 'location')}, ${formatPlural(shown.filter(({ tail }) => tail !== null).length, 'token')}`}
      </p>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      <MissingNote missing={value?.missing} />
      {value !== undefined && first !== undefined && !isComplete(value) && (
        <Checklist steps={value.steps} scope={first} />
      )}
      {value !== undefined && (marked.length > 0 || isComplete(value)) && (
        <div class={`notice ${marked.length === 0 ? 'is-good' : 'is-warning'}`}>
          <Icon name={marked.length === 0 ? 'check' : 'warning'} />
          <p>
            {marked.length === 0
              ? 'Nothing needs your attention.'
              : `${formatPlural(marked.length, 'location')} may need your attention.`}
          </p>
        </div>
      )}
      {value === undefined && failure === undefined && (
        <div class="skeleton is-tall" role="status" aria-busy="true" aria-label="Loading" />
      )}
      {value !== undefined && groups.length === 0 && (
        <p class="muted">Nothing matches “{query}”.</p>
      )}
      {groups.map(({ access, scopes }) => (
        <AccessGroup
          key={access.accessId}
          access={access}
          scopes={scopes}
          stateOf={stateOf}
          onLabelled={onLabelled}
        />
      ))}
    </section>
  )
}
