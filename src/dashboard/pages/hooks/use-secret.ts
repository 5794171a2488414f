import { useEffect, useRef, useState } from 'preact/hooks'
import type { TokenScope } from '../lib/api.js'
import { useServices } from './context.js'
import type { TokenSecret } from '../lib/wire.js'

/** How long a revealed secret is shown. */
const SHOWN_MS = 60_000

/** The token, or one of the URLs that contain it. */
export type SecretPart = keyof TokenSecret

/** The secret of an active token. It is requested when needed, and kept only while it is shown. */
export type SecretView = {
  /** Rejects with the error of the service. */
  readonly get: () => Promise<TokenSecret>
  /** The value while it is shown. */
  readonly shown: (part: SecretPart) => string | undefined
  readonly toggle: (part: SecretPart) => Promise<void>
}

export const useSecret = (scope: TokenScope, onFailure: (error: unknown) => void): SecretView => {
  const { api } = useServices()
  const [secret, setSecret] = useState<TokenSecret>()
  const [parts, setParts] = useState<readonly SecretPart[]>([])
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)

  const hide = (): void => {
    setSecret(undefined)
    setParts([])
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
  const toggle = async (part: SecretPart): Promise<void> => {
    if (parts.includes(part)) {
      const left = parts.filter(other => other !== part)
      if (left.length === 0) hide()
      else setParts(left)
      return
    }
    setSecret(await get())
    setParts(old => [...old, part])
    clearTimeout(timer.current)
    timer.current = setTimeout(hide, SHOWN_MS)
  }
  const shown = (part: SecretPart): string | undefined =>
    parts.includes(part) ? secret?.[part] : undefined
  return { get, shown, toggle }
}
