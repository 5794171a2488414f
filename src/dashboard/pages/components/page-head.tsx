import type { Ref } from 'preact'
import { useServices } from '../hooks/context.js'
import { titleOf } from '../lib/overview.js'
import type { Access } from '../lib/wire.js'

type Named = { readonly id: string; readonly name: string }

const STATUS = {
  ended: ['is-ended', 'Access ended'],
  upcoming: ['is-upcoming', 'Access not yet valid'],
} as const

/** Tone and text of the state of an access, or of the token of one of its locations. */
const badgeOf = (
  { state, tokens }: Access,
  network: Named | undefined,
  location: Named | undefined,
): readonly [tone: string, text: string] => {
  if (state !== 'active') return STATUS[state]
  if (location === undefined) return ['is-active', 'Active']
  const hasToken = tokens.some(at => at.network === network?.id && at.location === location.id)
  return hasToken ? ['is-active', 'Active token'] : ['is-none', 'No token']
}

/** The heading of the page, before what is chosen on it: a location, an access, or the overview. */
export const PageHead = ({
  access,
  network,
  location,
  heading,
}: {
  /** That is shown; undefined: the overview. */
  readonly access: Access | undefined
  readonly network: Named | undefined
  readonly location: Named | undefined
  readonly heading: Ref<HTMLHeadingElement>
}) => {
  const { accessHref } = useServices()
  const [tone, state] = access === undefined ? [] : badgeOf(access, network, location)
  return (
    <div class="page-head">
      <div>
        {access !== undefined && (
          <p class="eyebrow">
            {location === undefined ? (
              <>
                {access.product.name} · <code>{access.accessId}</code>
              </>
            ) : (
              <>
                <a href={accessHref(access.accessId)}>
                  <bdi>{titleOf(access)}</bdi>
                </a>{' '}
                · {network?.name}
              </>
            )}
          </p>
        )}
        <h1 id="page-heading" ref={heading} tabIndex={-1}>
          <bdi>{access === undefined ? 'Overview' : (location?.name ?? titleOf(access))}</bdi>
        </h1>
      </div>
      {state !== undefined && <span class={`badge is-large ${tone}`}>{state}</span>}
    </div>
  )
}
