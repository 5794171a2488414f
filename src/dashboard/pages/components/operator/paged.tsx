import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useLoaded } from '../../hooks/use-loaded.js'
import { Failure } from '../shared/failure.js'

/** A page of a list, and where the next one begins; null: no more. */
export type PageOf<T> = { readonly items: readonly T[]; readonly next: string | null }

/** A list in pages: it has buttons to the next page and back to the first. */
export const Paged = <T,>({
  name,
  load,
  children,
}: {
  /** Another name begins at the first page. */
  readonly name: string
  readonly load: (from: string) => Promise<PageOf<T>>
  readonly children: (items: readonly T[]) => ComponentChildren
}) => {
  const [from, setFrom] = useState('')
  const { value, failure, reload } = useLoaded(`${name} ${from}`, () => load(from))
  const next = value?.next ?? null
  return (
    <>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      {value === undefined && failure === undefined && (
        <div class="skeleton" role="status" aria-busy="true" aria-label="Loading" />
      )}
      {value !== undefined && value.items.length === 0 && <p class="muted">None.</p>}
      {value !== undefined && value.items.length > 0 && children(value.items)}
      {(from !== '' || next !== null) && (
        <div class="dialog-actions">
          {from !== '' && (
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
