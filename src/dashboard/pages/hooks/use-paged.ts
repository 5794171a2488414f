import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** A list in pages, of which one is shown. */
export type Paged<T> = {
  /** The page that is shown: the one before until the chosen one is loaded. */
  readonly page: T | undefined
  readonly isFirst: boolean
  /** Another page than the one that is shown is being loaded. */
  readonly isLoading: boolean
  /** Belongs to the element around the page. It gets the focus with each other page. */
  readonly top: RefObject<HTMLDivElement | null>
}

/**
 * Shows a page of a list until the next one is loaded: neither the rows nor the focus are lost in
 * between. Pages of another list, such as one with other filters, replace nothing.
 */
export const usePaged = <T>(list: string, from: string, loaded: T | undefined): Paged<T> => {
  const kept = useRef<{ list: string; from: string; page: T } | undefined>(undefined)
  const top = useRef<HTMLDivElement>(null)
  if (loaded !== undefined) kept.current = { list, from, page: loaded }
  const shown = kept.current?.list === list ? kept.current : undefined

  const last = useRef({ list, from })
  useEffect(() => {
    if (shown === undefined) return
    // The button that was pressed may be on no other page.
    if (last.current.list === list && last.current.from !== shown.from) top.current?.focus()
    last.current = { list, from: shown.from }
  }, [list, shown?.from])
  return {
    page: shown?.page,
    isFirst: (shown?.from ?? from) === '',
    isLoading: shown !== undefined && shown.from !== from,
    top,
  }
}
