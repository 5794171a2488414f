import { useRef, useState } from 'preact/hooks'
import { ApiFailure, type TokenScope } from '../lib/api.js'
import type { Confirmation } from '../components/connect/confirm-dialog.js'
import { confirmRestrict } from '../components/connect/confirmations.js'
import { useServices } from './context.js'
import { toEffectText } from '../lib/effect-text.js'
import { toMessage } from './use-loaded.js'

type Outcome = { readonly isGood: boolean; readonly text: string }

export type RestrictionOptions = {
  readonly scope: TokenScope
  readonly address: string | null
  readonly onChanged: () => Promise<void>
  readonly onOutdated: () => void
}

const explainOwn = (address: string): string =>
  `This browser reaches the dashboard from ${address}, which is no public IPv4 address. Enter the address from which your services call.`

/** Changes the restriction of a token, and asks first where that refuses addresses in use. */
export const useRestriction = ({ scope, address, onChanged, onOutdated }: RestrictionOptions) => {
  const { api, announce } = useServices()
  const [typed, setTyped] = useState<string>()
  const [outcome, setOutcome] = useState<Outcome>()
  const [isSaving, setSaving] = useState(false)
  const [confirmation, setConfirmation] = useState<Confirmation>()
  const field = useRef<HTMLInputElement>(null)
  const value = typed ?? address ?? ''
  const isWrong = outcome !== undefined && !outcome.isGood

  const fail = (error: unknown): void => {
    if (error instanceof ApiFailure && (error.status === 404 || error.status === 409)) onOutdated()
    setOutcome({ isGood: false, text: toMessage(error) })
    field.current?.focus()
  }
  const apply = async (wanted: string): Promise<void> => {
    const effect = toEffectText(await api.restrict(scope, wanted))
    await onChanged()
    setTyped(undefined)
    const others = effect === '' ? '' : ` Other addresses: ${effect}.`
    const text =
      wanted === ''
        ? 'Restriction removed: any address may use this token.'
        : `Saved: only ${wanted} may use this token. WebSockets from other addresses are closed.${others}`
    setOutcome({ isGood: true, text })
    announce(text)
  }
  /** Restricts at once where no other address uses the token; asks otherwise. */
  const restrict = async (wanted: string): Promise<void> => {
    const { clients } = await api.clients(scope, wanted)
    const refused = clients.filter(({ isRefused }) => isRefused)
    if (refused.length === 0) return apply(wanted)
    const details = confirmRestrict(wanted, refused, Date.now())
    setConfirmation({ ...details, run: () => apply(wanted) })
  }
  const attempt = async (action: () => Promise<void>): Promise<void> => {
    if (isSaving) return
    setSaving(true)
    setOutcome(undefined)
    await action().catch(fail)
    setSaving(false)
  }
  const edit = (text: string): void => {
    setTyped(text)
    setOutcome(undefined)
  }
  const useOwn = async (): Promise<void> => {
    const own = await api.ownAddress()
    field.current?.focus()
    if (own.isRestrictable) edit(own.address)
    else setOutcome({ isGood: false, text: explainOwn(own.address) })
  }
  return {
    value,
    outcome,
    isWrong,
    isSaving,
    field,
    edit,
    save: (wanted: string) => attempt(() => (wanted === '' ? apply('') : restrict(wanted))),
    useOwn: () => attempt(useOwn),
    confirmation,
    closeConfirmation: () => setConfirmation(undefined),
  }
}

export type Restriction = ReturnType<typeof useRestriction>
