import { useEffect, useRef, useState } from 'preact/hooks'
import type { TokenScope } from '../lib/api.js'
import { useServices } from './context.js'
import type { TokenSecret } from '../lib/wire.js'

/** How long a revealed secret is shown. */
const SHOWN_MS = 60_000

/** The secret of an active token. It is requested when needed, and kept only while it is shown. */
export type SecretView = {
  /** What this page has in memory, because a field shows it. */
  readonly known: TokenSecret | undefined
  /** Rejects with the error of the service. */
  readonly get: () => Promise<TokenSecret>
  /** What a field of this name shows of it; undefined while the field is masked. */
  readonly shown: (field: string) => TokenSecret | undefined
  readonly toggle: (field: string) => Promise<void>
}

export const useSecret = (scope: TokenScope, onFailure: (error: unknown) => void): SecretView => {
  const { api } = useServices()
  const [secret, setSecret] = useState<TokenSecret>()
  const [fields, setFields] = useState<readonly string[]>([])
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)

  const hide = (): void => {
    setSecret(undefined)
    setFields([])
  }
  useEffect(() => () => clearTimeout(timer.current), [])

  const get = async (): Promise<TokenSecret> => {
    try {
      return secret ?? (await api.reveal(scope))
    } catch (error) {
      onFailure(error)
      throw error
    }
  }
  const toggle = async (field: string): Promise<void> => {
    if (fields.includes(field)) {
      const left = fields.filter(other => other !== field)
      if (left.length === 0) hide()
      else setFields(left)
      return
    }
    setSecret(await get())
    setFields(old => [...old, field])
    clearTimeout(timer.current)
    timer.current = setTimeout(hide, SHOWN_MS)
  }
  const shown = (field: string): TokenSecret | undefined =>
    fields.includes(field) ? secret : undefined
  return { known: secret, get, shown, toggle }
}
