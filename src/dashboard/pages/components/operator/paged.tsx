import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useLoaded } from '../../hooks/use-loaded.js'
import { usePaged } from '../../hooks/use-paged.js'
import { Failure } from '../shared/failure.js'

/** A page of a list, and where the next one begins; null: no more. */
export type PageOf<T> = { readonly items: readonly T[]; readonly next: string | null }

/** A list in pages: it has buttons to the next page and back to the first. */
export const Paged = <T,>({
  name,
  at,
  load,
  empty,
  children,
}: {
  /** Another name begins at the first page. */
  readonly name: string
  /** Where the page begins, and a function that changes it; absent: the list keeps it itself. */
  readonly at?: readonly [from: string, setFrom: (from: string) => void]
  readonly load: (from: string) => Promise<PageOf<T>>
  /** What is said of a page without items. */
  readonly empty: string
  readonly children: (items: readonly T[]) => ComponentChildren
}) => {
  const own = useState('')
  const [from, setFrom] = at ?? own
  const { value, failure, reload } = useLoaded(`${name} ${from}`, () => load(from))
  const { page, isFirst, isLoading, top } = usePaged(name, from, value)
  const next = page?.next ?? null
  return (
    <>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      {page === undefined && failure === undefined && (
        <div class="skeleton" role="status" aria-busy="true" aria-label="Loading" />
      )}
      {page !== undefined && (
        <div
          class="page-of-list"
          ref={top}
          role="group"
          aria-label={isFirst ? 'First page' : 'Next page'}
          aria-busy={isLoading}
          tabIndex={-1}
        >
          {page.items.length === 0 ? <p class="muted">{empty}</p> : children(page.items)}
        </div>
      )}
      {(!isFirst || next !== null) && (
        <div class="dialog-actions">
          {!isFirst && (
            <button type="button" class="button" onClick={() => setFrom('')}>
              First page
            </button>
          )}
          {next !== null && (
            <button type="button" class="button" onClick={() => setFrom(next)}>
              Next page
            </button>
          )}
        </div>
      )}
    </>
  )
}
